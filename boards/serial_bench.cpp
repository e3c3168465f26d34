// SPDX-License-Identifier: Apache-2.0
// A SoC in Verilator, with the pins of its UART at a pseudo-terminal, whose name is the first line
// of the output. Argument: clock cycles of a bit, which need not be whole. Ends when its input does,
// so with who started it; SIGUSR1 resets the SoC.
// Verilator: --prefix Vsoc; the top module has ports clk, rst, serial_tx and serial_rx.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "Vsoc.h"
#include "verilated.h"

namespace {

// A frame of 8 bits: a start bit 0, the byte from its lowest bit on, a stop bit 1.
struct Sender {
    unsigned frame = 1, left = 0;
    double wait;

    // A receiver finds a start bit by its edge: the line is 1 for a while first, as behind a reset.
    explicit Sender(double period) : wait(20 * period) {}

    int pin(int terminal, double period)
    {
        if (wait < 1 && left == 0) {
            unsigned char byte;
            wait = period;
            if (read(terminal, &byte, 1) == 1) {
                frame = byte << 1 | 0x200;
                left = 10;
            }
        } else if (wait < 1) {
            frame >>= 1;
            wait += period;
            left--;
        }
        wait--;
        return left ? frame & 1 : 1;
    }
};

struct Receiver {
    unsigned frame = 0, taken = 0;
    double wait = 0;

    void pin(int terminal, double period, int level)
    {
        if (taken == 0 && level)
            return;
        if (taken == 0)
            wait = period / 2 + 1, taken = 1, frame = 0;
        if (--wait >= 1)
            return;
        frame |= static_cast<unsigned>(level) << taken;
        wait += period;
        if (++taken < 11)
            return;
        taken = 0;
        const unsigned char byte = frame >> 2 & 255;
        if (!(frame & 2) && frame & 0x400 && write(terminal, &byte, 1) != 1)
            std::exit(1);
    }
};

volatile sig_atomic_t reset_cycles = 0;

void reset(int) { reset_cycles = 16; }

bool input_ended()
{
    char byte;
    pollfd input = {0, POLLIN, 0};
    return poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0;
}

} // namespace

int main(int count, char **arguments)
{
    const double period = count > 1 ? std::atof(arguments[1]) : 0;
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (period < 4 || terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
        std::fprintf(stderr, "serial_bench: cycles of a bit, 4 or more; and a pseudo-terminal\n");
        return 2;
    }
    const int other = open(ptsname(terminal), O_RDWR | O_NOCTTY); // without it, reads would fail
    termios settings;
    tcgetattr(other, &settings);
    cfmakeraw(&settings);
    tcsetattr(other, TCSANOW, &settings);
    signal(SIGUSR1, reset);
    std::printf("%s\n", ptsname(terminal));
    std::fflush(stdout);

    Verilated::commandArgs(count, arguments); // netlists have plusargs
    auto top = std::make_unique<Vsoc>();
    Sender sender(period);
    Receiver receiver;
    for (unsigned long cycle = 0; cycle % 4096 || !input_ended(); cycle++) {
        top->rst = reset_cycles > 0;
        reset_cycles = reset_cycles ? reset_cycles - 1 : 0;
        top->serial_rx = sender.pin(terminal, period);
        top->clk = 0;
        top->eval();
        top->clk = 1;
        top->eval();
        receiver.pin(terminal, period, top->serial_tx);
    }
    return 0;
}
