// SPDX-License-Identifier: Apache-2.0
// See bench.h. Verilator: --prefix Veightfold --top-module eightfold_accelerator.
#include "bench.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "Veightfold.h"

extern "C" char __executable_start, _end; // of the linker: the program's own memory

namespace {

constexpr unsigned LATENCY = 20, PATIENCE = 10000;
constexpr unsigned OKAY = 0, SLVERR = 2, DECERR = 3;

struct Request {
    uint32_t address;
    unsigned beats;
    uint64_t due;
};

Veightfold top;
constexpr unsigned PORT = sizeof(top.m_axi_rdata);
uint64_t now = 0;
bool hangs = false;
uintptr_t fault_from = 0, fault_to = 0;
bool fault_writes = false;
std::deque<Request> reads, writes;
std::deque<unsigned> responses;
unsigned write_response = OKAY;
bool aw, w, b, ar, r; // handshakes of the registers in the last cycle
uint32_t data;

unsigned response(uintptr_t address, bool write)
{
    if (address < reinterpret_cast<uintptr_t>(&__executable_start) / PORT * PORT ||
        address >= reinterpret_cast<uintptr_t>(&_end))
        return DECERR;
    const bool faulty = address + PORT > fault_from && address < fault_to;
    return faulty && write == fault_writes ? SLVERR : OKAY;
}

void drive_memory()
{
    top.m_axi_arready = reads.size() < 64;
    top.m_axi_awready = writes.size() < 16;
    top.m_axi_wready = !writes.empty() && !hangs;
    top.m_axi_bvalid = !responses.empty() && !hangs;
    top.m_axi_bresp = responses.empty() ? OKAY : responses.front();
    top.m_axi_rvalid = !reads.empty() && reads.front().due <= now && !hangs;
    if (top.m_axi_rvalid) {
        const uintptr_t address = reads.front().address;
        top.m_axi_rresp = response(address, false);
        top.m_axi_rlast = reads.front().beats == 1;
        if (top.m_axi_rresp == DECERR)
            std::memset(&top.m_axi_rdata, 0, PORT);
        else
            std::memcpy(&top.m_axi_rdata, reinterpret_cast<const void *>(address), PORT);
    }
}

void write_beat()
{
    Request &request = writes.front();
    const unsigned found = response(request.address, true);
    unsigned char bytes[PORT];
    std::memcpy(bytes, &top.m_axi_wdata, PORT);
    if (found == OKAY)
        for (unsigned i = 0; i < PORT; i++)
            if (top.m_axi_wstrb >> i & 1)
                reinterpret_cast<unsigned char *>(uintptr_t{request.address})[i] = bytes[i];
    if (found != OKAY)
        write_response = found;
    request.address += PORT;
    if (--request.beats == 0) {
        writes.pop_front();
        responses.push_back(write_response);
        write_response = OKAY;
    }
}

Request request(uint32_t address, unsigned length)
{
    return {address / PORT * PORT, length + 1, now + LATENCY};
}

void cycle()
{
    drive_memory();
    top.clk = 0;
    top.eval();
    aw = top.s_axi_awvalid && top.s_axi_awready;
    w = top.s_axi_wvalid && top.s_axi_wready;
    b = top.s_axi_bvalid && top.s_axi_bready;
    ar = top.s_axi_arvalid && top.s_axi_arready;
    r = top.s_axi_rvalid && top.s_axi_rready;
    data = top.s_axi_rdata;
    if (!top.rst) {
        if (top.m_axi_rvalid && top.m_axi_rready) {
            reads.front().address += PORT;
            if (--reads.front().beats == 0)
                reads.pop_front();
        }
        if (top.m_axi_bvalid && top.m_axi_bready)
            responses.pop_front();
        if (top.m_axi_wvalid && top.m_axi_wready)
            write_beat();
        if (top.m_axi_arvalid && top.m_axi_arready)
            reads.push_back(request(top.m_axi_araddr, top.m_axi_arlen));
        if (top.m_axi_awvalid && top.m_axi_awready)
            writes.push_back(request(top.m_axi_awaddr, top.m_axi_awlen));
    }
    top.clk = 1;
    top.eval();
    now++;
}

void patient(unsigned waited)
{
    if (waited < PATIENCE)
        return;
    std::fprintf(stderr, "bench: the registers do not answer\n");
    std::exit(1);
}

} // namespace

void bench_reset(void)
{
    reads.clear();
    writes.clear();
    responses.clear();
    write_response = OKAY;
    top.s_axi_awvalid = top.s_axi_wvalid = top.s_axi_arvalid = 0;
    top.s_axi_bready = top.s_axi_rready = 1;
    top.rst = 1;
    bench_run(4);
    top.rst = 0;
    bench_run(4);
}

void bench_run(uint32_t cycles)
{
    while (cycles--)
        cycle();
}

uint32_t bench_cycles(void)
{
    return static_cast<uint32_t>(now);
}

int bench_interrupt(void)
{
    return top.__SYM__interrupt;
}

void bench_hang(int on)
{
    hangs = on;
}

void bench_fault(const void *memory, uint32_t bytes, int writes)
{
    fault_writes = writes != 0;
    fault_from = reinterpret_cast<uintptr_t>(memory);
    fault_to = bytes ? fault_from + bytes : 0;
}

uint32_t bench_read(uint32_t offset)
{
    top.s_axi_araddr = offset;
    top.s_axi_arvalid = 1;
    for (unsigned waited = 0;; patient(++waited)) {
        cycle();
        if (ar)
            top.s_axi_arvalid = 0;
        if (r)
            return data;
    }
}

void bench_write(uint32_t offset, uint32_t value)
{
    top.s_axi_awaddr = offset;
    top.s_axi_wdata = value;
    top.s_axi_wstrb = 15;
    top.s_axi_awvalid = top.s_axi_wvalid = 1;
    for (unsigned waited = 0;; patient(++waited)) {
        cycle();
        if (aw)
            top.s_axi_awvalid = 0;
        if (w)
            top.s_axi_wvalid = 0;
        if (b)
            return;
    }
}
