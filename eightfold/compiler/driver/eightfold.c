/* SPDX-License-Identifier: Apache-2.0 */
/* Eightfold: the driver. See eightfold.h. */
#include "eightfold.h"

#define WEAK __attribute__((weak))
#define STATUS(name) EIGHTFOLD_REG_STATUS_##name##_MASK

WEAK uint32_t eightfold_read(struct eightfold_device *device, uint32_t offset)
{
    return device->registers[offset / 4];
}

WEAK void eightfold_write(struct eightfold_device *device, uint32_t offset, uint32_t value)
{
    device->registers[offset / 4] = value;
}

WEAK int eightfold_address(struct eightfold_device *device, const void *memory, uint32_t *address)
{
    (void)device;
    *address = (uint32_t)(uintptr_t)memory;
    return *address == (uintptr_t)memory;
}

WEAK void eightfold_clean(struct eightfold_device *device, const void *memory, uint32_t bytes)
{
    (void)device, (void)memory, (void)bytes;
}

WEAK void eightfold_invalidate(struct eightfold_device *device, void *memory, uint32_t bytes)
{
    (void)device, (void)memory, (void)bytes;
}

WEAK void eightfold_barrier(struct eightfold_device *device)
{
    (void)device;
    __sync_synchronize();
}

WEAK uint32_t eightfold_ticks(struct eightfold_device *device)
{
    return device->polls++;
}

WEAK void eightfold_sleep(struct eightfold_device *device)
{
    (void)device;
}

WEAK void eightfold_lock(struct eightfold_device *device)
{
    (void)device;
}

WEAK void eightfold_unlock(struct eightfold_device *device)
{
    (void)device;
}

#define CASE(name, value) \
    case value: \
        return #name;

const char *eightfold_name(eightfold_result result)
{
    if (result == EIGHTFOLD_OK)
        return "OK";
    switch (result) {
        EIGHTFOLD_EACH_ERROR(CASE)
        EIGHTFOLD_EACH_RESULT(CASE)
    default:
        return "UNKNOWN";
    }
}

static int expired(struct eightfold_device *device)
{
    return device->patience != 0 && eightfold_ticks(device) - device->began >= device->patience;
}

/* A soft reset lets open bursts finish: STATUS.busy falls when the bus is quiet. */
static eightfold_result soft_reset(struct eightfold_device *device)
{
    device->began = eightfold_ticks(device);
    eightfold_write(device, EIGHTFOLD_REG_CONTROL, EIGHTFOLD_REG_CONTROL_SOFT_RESET_MASK);
    do
        device->stuck = (eightfold_read(device, EIGHTFOLD_REG_STATUS) & STATUS(BUSY)) != 0;
    while (device->stuck && !expired(device));
    return device->stuck ? EIGHTFOLD_STUCK : EIGHTFOLD_OK;
}

/* What the accelerator has left: memory is the CPU's again. */
static void finish(struct eightfold_device *device, eightfold_result result)
{
    struct eightfold_instance *instance = device->running;

    device->running = 0;
    instance->result = result;
    instance->cycles = eightfold_read(device, EIGHTFOLD_REG_CYCLES);
    instance->lost = result != EIGHTFOLD_OK && instance->network->state_bytes != 0;
    eightfold_barrier(device);
    eightfold_invalidate(device, instance->arena, instance->network->arena_bytes);
}

static void poll(struct eightfold_device *device)
{
    uint32_t status;
    eightfold_result result, quiet = EIGHTFOLD_OK;

    if (!device->running)
        return;
    status = eightfold_read(device, EIGHTFOLD_REG_STATUS);
    if (status & STATUS(ERROR)) {
        const uint32_t error = eightfold_read(device, EIGHTFOLD_REG_ERROR);

        device->running->error = error;
        result = (error & EIGHTFOLD_REG_ERROR_CODE_MASK) >> EIGHTFOLD_REG_ERROR_CODE_SHIFT;
        quiet = soft_reset(device);
    } else if (status & STATUS(DONE)) {
        result = EIGHTFOLD_OK;
    } else if (!(status & STATUS(BUSY))) {
        result = EIGHTFOLD_ENDED;
    } else if (expired(device)) {
        result = EIGHTFOLD_EXPIRED;
        quiet = soft_reset(device);
    } else {
        return;
    }
    finish(device, quiet == EIGHTFOLD_OK ? result : quiet);
}

eightfold_result eightfold_init(struct eightfold_device *device)
{
    eightfold_result result;

    device->running = 0;
    device->stuck = device->began = device->polls = 0;
    if (eightfold_read(device, EIGHTFOLD_REG_ID) != EIGHTFOLD_ID)
        return EIGHTFOLD_NO_DEVICE;
    if (eightfold_read(device, EIGHTFOLD_REG_VERSION) != EIGHTFOLD_VERSION)
        return EIGHTFOLD_OTHER_VERSION;
    eightfold_lock(device);
    result = soft_reset(device);
    eightfold_write(device, EIGHTFOLD_REG_INTERRUPT_CLEAR, 1);
    eightfold_unlock(device);
    return result;
}

/* Where the accelerator sees a region; 0 if not all of it lies there in a row. */
static int reach(struct eightfold_device *device, const void *memory, uint32_t bytes,
                 uint32_t *address)
{
    const uint32_t rest = bytes ? bytes - 1 : 0;
    uint32_t last;

    return eightfold_address(device, memory, address) &&
           eightfold_address(device, (const uint8_t *)memory + rest, &last) &&
           last >= *address && last - *address == rest;
}

eightfold_result eightfold_load(struct eightfold_instance *instance,
                                struct eightfold_device *device,
                                const struct eightfold_network *network, uint8_t *arena)
{
    const uint32_t *begin = network->commands;
    const uint32_t sizes = eightfold_read(device, EIGHTFOLD_REG_CONFIGURATION_0);
    const uint32_t port = (sizes & EIGHTFOLD_REG_CONFIGURATION_0_PORT_MASK) >>
                          EIGHTFOLD_REG_CONFIGURATION_0_PORT_SHIFT;

    if (network->command_bytes < 4 * EIGHTFOLD_BEGIN_WORDS ||
        EIGHTFOLD_GET(begin, HEADER_OPCODE) != EIGHTFOLD_OPCODE_BEGIN)
        return EIGHTFOLD_BAD_NETWORK;
    if (EIGHTFOLD_GET(begin, BEGIN_VERSION) != eightfold_read(device, EIGHTFOLD_REG_VERSION))
        return EIGHTFOLD_OTHER_VERSION;
    if (EIGHTFOLD_GET(begin, BEGIN_CONFIGURATION) != sizes ||
        EIGHTFOLD_GET(begin, BEGIN_MEMORIES) !=
            eightfold_read(device, EIGHTFOLD_REG_CONFIGURATION_1))
        return EIGHTFOLD_OTHER_CONFIGURATION;
    if (!reach(device, network->commands, network->command_bytes, &instance->command_address) ||
        !reach(device, network->model, network->model_bytes, &instance->model_address) ||
        !reach(device, arena, network->arena_bytes, &instance->arena_address))
        return EIGHTFOLD_UNREACHABLE;
    if ((instance->command_address | instance->model_address | instance->arena_address) &
        (port - 1))
        return EIGHTFOLD_MISALIGNED;
    instance->device = device;
    instance->network = network;
    instance->arena = arena;
    instance->result = EIGHTFOLD_IDLE;
    instance->error = instance->cycles = 0;
    eightfold_clean(device, network->commands, network->command_bytes);
    eightfold_clean(device, network->model, network->model_bytes);
    return eightfold_clear(instance);
}

eightfold_result eightfold_clear(struct eightfold_instance *instance)
{
    const struct eightfold_network *network = instance->network;
    eightfold_result result = EIGHTFOLD_OK;
    uint32_t i;

    eightfold_lock(instance->device);
    if (instance->device->running == instance) {
        result = EIGHTFOLD_BUSY;
    } else if (instance->device->stuck) {
        result = EIGHTFOLD_STUCK; /* the accelerator may still write to the arena */
    } else {
        for (i = 0; i < network->state_bytes; i++)
            instance->arena[network->state_offset + i] = network->state[i];
        instance->lost = 0;
    }
    eightfold_unlock(instance->device);
    return result;
}

static void doorbell(struct eightfold_instance *instance)
{
    struct eightfold_device *device = instance->device;
    const struct eightfold_network *network = instance->network;

    eightfold_clean(device, instance->arena, network->arena_bytes);
    eightfold_write(device, EIGHTFOLD_REG_COMMAND_ADDRESS, instance->command_address);
    eightfold_write(device, EIGHTFOLD_REG_COMMAND_LENGTH, network->command_bytes);
    eightfold_write(device, EIGHTFOLD_REG_MODEL_BASE, instance->model_address);
    eightfold_write(device, EIGHTFOLD_REG_MODEL_SIZE, network->model_bytes);
    eightfold_write(device, EIGHTFOLD_REG_ARENA_BASE, instance->arena_address);
    eightfold_write(device, EIGHTFOLD_REG_ARENA_SIZE, network->arena_bytes);
    eightfold_write(device, EIGHTFOLD_REG_TIMEOUT, device->watchdog);
    eightfold_write(device, EIGHTFOLD_REG_INTERRUPT_CLEAR, 1);
    eightfold_write(device, EIGHTFOLD_REG_INTERRUPT_ENABLE, device->interrupts != 0);
    device->running = instance;
    instance->result = EIGHTFOLD_BUSY;
    instance->error = 0;
    device->began = eightfold_ticks(device);
    eightfold_barrier(device);
    eightfold_write(device, EIGHTFOLD_REG_CONTROL, EIGHTFOLD_REG_CONTROL_START_MASK);
}

eightfold_result eightfold_start(struct eightfold_instance *instance)
{
    struct eightfold_device *device = instance->device;
    eightfold_result result = EIGHTFOLD_OK;

    eightfold_lock(device);
    poll(device);
    if (device->running)
        result = EIGHTFOLD_BUSY;
    else if (device->stuck)
        result = EIGHTFOLD_STUCK;
    else if (instance->lost)
        result = EIGHTFOLD_STATE_LOST;
    else
        doorbell(instance);
    eightfold_unlock(device);
    return result;
}

eightfold_result eightfold_poll(struct eightfold_instance *instance)
{
    eightfold_result result;

    eightfold_lock(instance->device);
    if (instance->device->running == instance)
        poll(instance->device);
    result = instance->result;
    eightfold_unlock(instance->device);
    return result;
}

eightfold_result eightfold_wait(struct eightfold_instance *instance)
{
    eightfold_result result;

    while ((result = eightfold_poll(instance)) == EIGHTFOLD_BUSY)
        eightfold_sleep(instance->device);
    return result;
}

eightfold_result eightfold_invoke(struct eightfold_instance *instance)
{
    const eightfold_result result = eightfold_start(instance);

    return result == EIGHTFOLD_OK ? eightfold_wait(instance) : result;
}

eightfold_result eightfold_reset(struct eightfold_device *device)
{
    eightfold_result result;

    eightfold_lock(device);
    result = soft_reset(device);
    if (device->running)
        finish(device, result == EIGHTFOLD_OK ? EIGHTFOLD_ENDED : result);
    eightfold_unlock(device);
    return result;
}

int eightfold_interrupt(struct eightfold_device *device)
{
    if (!(eightfold_read(device, EIGHTFOLD_REG_STATUS) & STATUS(INTERRUPT)))
        return 0;
    eightfold_write(device, EIGHTFOLD_REG_INTERRUPT_CLEAR, 1);
    return 1;
}
