/* SPDX-License-Identifier: Apache-2.0 */
/* Firmware without a library: runs digits on each of its images, and prints codes and cycles. */
#include "digits/layout.h"
#include "eightfold.h"
#include "generated/csr.h"
#include "generated/mem.h"
#include "images.h"

#define CSR(address) (*(volatile uint32_t *)(address))

extern uint32_t network_start, network_end, network_load, bss_start, bss_end;

/* VexRiscv writes through: only what the accelerator has written must be forgotten, all at once. */
void eightfold_invalidate(struct eightfold_device *device, void *memory, uint32_t bytes)
{
    (void)device, (void)memory, (void)bytes;
    __asm__ volatile(".word 0x500f" ::: "memory");
}

static void put(char letter)
{
    while (CSR(CSR_UART_TXFULL_ADDR))
        ;
    CSR(CSR_UART_RXTX_ADDR) = (uint32_t)letter;
}

static void put_text(const char *text)
{
    while (*text)
        put(*text++);
}

static void put_number(int32_t number)
{
    if (number < 0) {
        put('-');
        number = -number;
    }
    if (number > 9)
        put_number(number / 10);
    put((char)('0' + number % 10));
}

static eightfold_result run(void)
{
    static struct eightfold_device npu = {.registers = (volatile uint32_t *)EIGHTFOLD_BASE,
                                          .watchdog = 100000};
    static struct eightfold_instance digit;
    const struct eightfold_tensor *x = &digits.inputs[0], *y = &digits.outputs[0];
    eightfold_result result = eightfold_init(&npu);

    if (result == EIGHTFOLD_OK)
        result = eightfold_load(&digit, &npu, &digits, digits_arena);
    for (uint32_t image = 0; image < IMAGES && result == EIGHTFOLD_OK; image++) {
        for (uint32_t i = 0; i < x->bytes; i++)
            eightfold_data(&digit, x)[i] = (uint8_t)images[image][i];
        result = eightfold_invoke(&digit);
        put_text("digits");
        for (uint32_t i = 0; i < y->elements; i++) {
            put(' ');
            put_number((int8_t)eightfold_data(&digit, y)[i]);
        }
        put_text(" cycles ");
        put_number((int32_t)digit.cycles);
        put('\n');
    }
    return result;
}

void boot(void)
{
#ifdef CSR_SDRAM_DFII_CONTROL_ADDR
    CSR(CSR_SDRAM_DFII_CONTROL_ADDR) = 1; /* the controller has the chips; simulated ones need no more */
#endif
    for (uint32_t *to = &network_start, *from = &network_load; to < &network_end;)
        *to++ = *from++;
    for (uint32_t *to = &bss_start; to < &bss_end;)
        *to++ = 0;
    put_text(eightfold_name(run()));
    put('\n');
    for (;;)
        ;
}

__asm__(".section .start, \"ax\"\n"
        ".globl _start\n"
        "_start: la sp, stack\n"
        "j boot\n");
