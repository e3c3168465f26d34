/* SPDX-License-Identifier: Apache-2.0 */
/* A network on the Verilog under the driver: 0 if all outputs are those of check.h. */
#include "check.h"

#include <stdio.h>

#include "bench.h"

uint32_t eightfold_read(struct eightfold_device *device, uint32_t offset)
{
    (void)device;
    return bench_read(offset);
}

void eightfold_write(struct eightfold_device *device, uint32_t offset, uint32_t value)
{
    (void)device;
    bench_write(offset, value);
}

uint32_t eightfold_ticks(struct eightfold_device *device)
{
    (void)device;
    return bench_cycles();
}

static int fails(const char *what, eightfold_result result)
{
    if (result != EIGHTFOLD_OK)
        printf("FAILED: %s: %s\n", what, eightfold_name(result));
    return result != EIGHTFOLD_OK;
}

int main(void)
{
    static struct eightfold_device device;
    static struct eightfold_instance instance;
    const struct eightfold_tensor *x = &network.inputs[0], *y = &network.outputs[0];
    unsigned run;
    uint32_t i;

    device.patience = 1000000;
    device.watchdog = 10000;
    bench_reset();
    if (fails("init", eightfold_init(&device)) ||
        fails("load", eightfold_load(&instance, &device, &network, network_arena)))
        return 1;
    for (run = 0; run < sizeof inputs / sizeof *inputs; run++) {
        for (i = 0; i < x->bytes; i++)
            eightfold_data(&instance, x)[i] = (uint8_t)inputs[run][i];
        if (fails("run", eightfold_invoke(&instance)))
            return 1;
        for (i = 0; i < y->bytes; i++) {
            const int found = (int8_t)eightfold_data(&instance, y)[i];

            if (found != outputs[run][i]) {
                printf("FAILED: run %u, byte %u: %d, expected %d\n", run, (unsigned)i, found,
                       outputs[run][i]);
                return 1;
            }
        }
        printf("run %u: %u cycles, equal\n", run, (unsigned)instance.cycles);
    }
    printf("PASSED\n");
    return 0;
}
