/* The driver on the RTL: each line of output is a name and a result, or the codes of an output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "digits/layout.h"
#include "inputs.h"
#include "wake/layout.h"

static struct eightfold_device device;
static struct eightfold_instance digit, word;
static int serve, raised, locks;
static uint32_t cleaned, invalidated;

uint32_t eightfold_read(struct eightfold_device *d, uint32_t offset)
{
    (void)d;
    return bench_read(offset);
}

void eightfold_write(struct eightfold_device *d, uint32_t offset, uint32_t value)
{
    (void)d;
    bench_write(offset, value);
}

uint32_t eightfold_ticks(struct eightfold_device *d)
{
    (void)d;
    return bench_cycles();
}

void eightfold_clean(struct eightfold_device *d, const void *memory, uint32_t bytes)
{
    (void)d;
    if (memory == digits_arena)
        cleaned += bytes;
}

void eightfold_invalidate(struct eightfold_device *d, void *memory, uint32_t bytes)
{
    (void)d;
    if (memory == digits_arena)
        invalidated += bytes;
}

void eightfold_sleep(struct eightfold_device *d)
{
    bench_run(50);
    if (!serve)
        return;
    while (!bench_interrupt())
        bench_run(1);
    raised += eightfold_interrupt(d);
}

void eightfold_lock(struct eightfold_device *d)
{
    (void)d;
    if (locks++)
        exit(3); /* it is no recursive mutex */
}

void eightfold_unlock(struct eightfold_device *d)
{
    (void)d;
    locks--;
}

static void say(const char *what, eightfold_result result)
{
    printf("%s %s\n", what, eightfold_name(result));
}

static void show(const char *what, const struct eightfold_instance *instance)
{
    const struct eightfold_tensor *output = &instance->network->outputs[0];
    uint32_t i;

    printf("%s", what);
    for (i = 0; i < output->bytes; i++)
        printf(" %d", (int8_t)eightfold_data(instance, output)[i]);
    printf("\n");
}

static void put(const struct eightfold_instance *instance, const int8_t *codes)
{
    const struct eightfold_tensor *input = &instance->network->inputs[0];

    memcpy(eightfold_data(instance, input), codes, input->bytes);
}

static void image(int number)
{
    put(&digit, images[number]);
    say("digits", eightfold_invoke(&digit));
    show("digits", &digit);
}

static void frame(int number)
{
    put(&word, frames[number]);
    say("wake", eightfold_invoke(&word));
    show("wake", &word);
}

static eightfold_result begun(struct eightfold_instance *instance)
{
    put(instance, instance == &digit ? images[0] : frames[0]);
    return eightfold_start(instance);
}

static void refusals(void)
{
    static uint32_t commands[EIGHTFOLD_BEGIN_WORDS] EIGHTFOLD_ALIGNED;
    struct eightfold_network network = digits;
    struct eightfold_instance other;

    say("misaligned", eightfold_load(&other, &device, &digits, digits_arena + 1));
#if UINTPTR_MAX > UINT32_MAX
    say("far", eightfold_load(&other, &device, &digits, (uint8_t *)((uintptr_t)1 << 32)));
    say("end", eightfold_load(&other, &device, &digits, (uint8_t *)(uintptr_t)0xFFFFFFF8));
#endif
    network.commands = commands;
    say("zero", eightfold_load(&other, &device, &network, digits_arena));
    memcpy(commands, digits.commands, sizeof commands);
    EIGHTFOLD_PUT(commands, BEGIN_VERSION, EIGHTFOLD_VERSION + 1);
    say("version", eightfold_load(&other, &device, &network, digits_arena));
    memcpy(commands, digits.commands, sizeof commands);
    EIGHTFOLD_PUT(commands, BEGIN_MEMORIES, 0);
    say("sizes", eightfold_load(&other, &device, &network, digits_arena));
    network.command_bytes = 0;
    say("short", eightfold_load(&other, &device, &network, digits_arena));
}

int main(void)
{
    bench_reset();
    device.patience = 1000000;
    device.watchdog = 2000;
    say("init", eightfold_init(&device));
    refusals();
    say("load", eightfold_load(&digit, &device, &digits, digits_arena));
    say("idle", eightfold_poll(&digit));
    say("load", eightfold_load(&word, &device, &wake, wake_arena));
    image(0);
    say("poll", eightfold_poll(&digit));
    printf("cache %d\n", cleaned == digits.arena_bytes && invalidated == digits.arena_bytes);
    printf("cycles %d\n", digit.cycles > 10000 && digit.cycles < 30000);
    frame(0); /* a second network, in turns, with state */
    image(1);
    frame(1);
    say("clear", eightfold_clear(&word));
    frame(0);

    serve = 1;
    device.interrupts = 1;
    image(2);
    serve = 0;
    device.interrupts = 0;
    printf("interrupts %d %d\n", raised, eightfold_interrupt(&device));

    say("start", begun(&digit));
    say("again", begun(&word));
    say("poll", eightfold_poll(&digit));
    say("wait", eightfold_wait(&digit));
    show("digits", &digit);

    bench_fault(digits.model + digits.model_bytes / 2, 1, 0);
    say("read", begun(&digit));
    bench_run(30000);
    frame(1); /* the start of another takes notice of the end, and leaves its result */
    say("read", eightfold_wait(&digit));
    printf("code %u\n", (unsigned)(digit.error & EIGHTFOLD_REG_ERROR_CODE_MASK));
    bench_fault(0, 0, 0);
    image(1);
    bench_fault(eightfold_data(&word, &wake.outputs[0]), 1, 1);
    say("write", begun(&word));
    say("write", eightfold_wait(&word));
    bench_fault(0, 0, 0);
    say("lost", eightfold_invoke(&word));
    say("clear", eightfold_clear(&word));
    frame(0);
    frame(1);

    say("start", begun(&digit));
    bench_run(3000);
    say("reset", eightfold_reset(&device));
    say("reset", eightfold_wait(&digit));
    image(0);
    say("start", begun(&digit));
    bench_run(3000);
    bench_reset();
    say("pin", eightfold_wait(&digit));
    image(1);

    device.patience = 2000;
    say("start", begun(&digit));
    say("patience", eightfold_wait(&digit));
    device.patience = 1000000;
    image(2);

    say("start", begun(&digit));
    bench_run(3000);
    bench_hang(1);
    device.patience = 10000;
    say("hang", eightfold_wait(&digit));
    printf("code %u\n", (unsigned)(digit.error & EIGHTFOLD_REG_ERROR_CODE_MASK));
    say("stuck", eightfold_invoke(&digit));
    say("clear", eightfold_clear(&word));
    bench_hang(0);
    say("reset", eightfold_reset(&device));
    device.patience = 1000000;
    image(0);
    return 0;
}
