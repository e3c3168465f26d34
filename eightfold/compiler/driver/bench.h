/* SPDX-License-Identifier: Apache-2.0 */
/* The accelerator's Verilog in Verilator, with its registers and memory, for the driver in C.
 *
 * Memory is the program's own: link it with -no-pie, so that its addresses have 32 bits.
 */
#ifndef EIGHTFOLD_BENCH_H
#define EIGHTFOLD_BENCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void bench_reset(void);            /* the pin rst; once before everything else */
void bench_run(uint32_t cycles);   /* lets clock cycles pass */
uint32_t bench_cycles(void);       /* how many have passed */
int bench_interrupt(void);         /* the pin interrupt */
void bench_hang(int on);           /* memory takes requests, and answers none */
/* Reads, or writes, in a range of memory are answered with SLVERR; 0 bytes: none are. */
void bench_fault(const void *memory, uint32_t bytes, int writes);
/* Registers over AXI4-Lite, as the hooks eightfold_read and eightfold_write need them. */
uint32_t bench_read(uint32_t offset);
void bench_write(uint32_t offset, uint32_t value);

#ifdef __cplusplus
}
#endif

#endif /* EIGHTFOLD_BENCH_H */
