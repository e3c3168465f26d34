/* bench.h without the RTL: registers that take some time, and leave memory as it is. */
#include "bench.h"

#include <string.h>

#include "digits/layout.h"

#define REG(name) registers[EIGHTFOLD_REG_##name / 4]
#define RUN_CYCLES 12900u

static uint32_t now, registers[64], status, error, left, idle;
static int hangs, resets, interrupt;
static uintptr_t fault_read, fault_write;

static void end(uint32_t bits, uint32_t code)
{
    status = bits;
    error = code;
    left = 0;
    interrupt = REG(INTERRUPT_ENABLE) != 0;
}

static int inside(uintptr_t fault, uint32_t base, uint32_t size)
{
    return fault >= base && fault < (uintptr_t)base + size;
}

static void step(void)
{
    now++;
    if (resets && !hangs)
        resets = interrupt = 0, status = error = 0;
    if (left == 0)
        return;
    idle = hangs ? idle + 1 : 0;
    REG(CYCLES)++;
    if (hangs && idle < REG(TIMEOUT))
        return;
    if (hangs)
        end(EIGHTFOLD_REG_STATUS_ERROR_MASK, EIGHTFOLD_ERROR_TIMEOUT);
    else if (inside(fault_read, REG(MODEL_BASE), REG(MODEL_SIZE)))
        end(EIGHTFOLD_REG_STATUS_ERROR_MASK, EIGHTFOLD_ERROR_AXI_READ);
    else if (inside(fault_write, REG(ARENA_BASE), REG(ARENA_SIZE)))
        end(EIGHTFOLD_REG_STATUS_ERROR_MASK, EIGHTFOLD_ERROR_AXI_WRITE);
    else if (--left == 0)
        end(EIGHTFOLD_REG_STATUS_DONE_MASK, EIGHTFOLD_ERROR_NONE);
}

void bench_run(uint32_t cycles)
{
    while (cycles--)
        step();
}

void bench_reset(void)
{
    memset(registers, 0, sizeof registers);
    status = left = 0;
    interrupt = 0;
    bench_run(8);
}

uint32_t bench_cycles(void)
{
    return now;
}

int bench_interrupt(void)
{
    return interrupt;
}

void bench_hang(int on)
{
    hangs = on;
}

void bench_fault(const void *memory, uint32_t bytes, int writes)
{
    fault_read = bytes && !writes ? (uintptr_t)memory : 0;
    fault_write = bytes && writes ? (uintptr_t)memory : 0;
}

uint32_t bench_read(uint32_t offset)
{
    const uint32_t busy = (left || resets) ? EIGHTFOLD_REG_STATUS_BUSY_MASK : 0;

    bench_run(4);
    switch (offset) {
    case EIGHTFOLD_REG_ID:
        return EIGHTFOLD_ID;
    case EIGHTFOLD_REG_VERSION:
        return EIGHTFOLD_VERSION;
    case EIGHTFOLD_REG_CONFIGURATION_0:
        return EIGHTFOLD_GET(digits.commands, BEGIN_CONFIGURATION);
    case EIGHTFOLD_REG_CONFIGURATION_1:
        return EIGHTFOLD_GET(digits.commands, BEGIN_MEMORIES);
    case EIGHTFOLD_REG_STATUS:
        return status | busy | (interrupt ? EIGHTFOLD_REG_STATUS_INTERRUPT_MASK : 0);
    case EIGHTFOLD_REG_ERROR:
        return error;
    default:
        return registers[offset / 4];
    }
}

void bench_write(uint32_t offset, uint32_t value)
{
    bench_run(4);
    if (offset == EIGHTFOLD_REG_INTERRUPT_CLEAR) {
        interrupt = 0;
    } else if (offset != EIGHTFOLD_REG_CONTROL) {
        registers[offset / 4] = value;
    } else if (value & EIGHTFOLD_REG_CONTROL_SOFT_RESET_MASK) {
        left = 0;
        resets = 1;
    } else if (left == 0 && !(status & EIGHTFOLD_REG_STATUS_ERROR_MASK)) {
        status = idle = REG(CYCLES) = 0;
        left = RUN_CYCLES;
    }
}
