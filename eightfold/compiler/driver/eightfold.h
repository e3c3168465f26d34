/* SPDX-License-Identifier: Apache-2.0 */
/* Eightfold: the driver. Freestanding C99, also C++; no allocation, no library. See docs/driver.md. */
#ifndef EIGHTFOLD_DRIVER_H
#define EIGHTFOLD_DRIVER_H

#include "eightfold_convert.h"
#include "eightfold_isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment of what lies in memory: a multiple of a cache line and of the widest memory port. */
#ifndef EIGHTFOLD_ALIGNMENT
#define EIGHTFOLD_ALIGNMENT 64
#endif
#define EIGHTFOLD_ALIGNED __attribute__((aligned(EIGHTFOLD_ALIGNMENT)))

/* What a call returns: 0, an error of the accelerator (enum eightfold_error), or one of these. */
typedef uint32_t eightfold_result;

#define EIGHTFOLD_OK 0u
#define EIGHTFOLD_EACH_RESULT(apply) \
    apply(BUSY, 256)                /* a run is not at its end */ \
    apply(IDLE, 257)                /* nothing was started */ \
    apply(NO_DEVICE, 258)           /* register ID is another */ \
    apply(OTHER_VERSION, 259)       /* of the instruction set: of this driver, or of a network */ \
    apply(OTHER_CONFIGURATION, 260) /* the network was compiled for other sizes */ \
    apply(BAD_NETWORK, 261)         /* commands do not begin with BEGIN */ \
    apply(MISALIGNED, 262)          /* a region is no multiple of the memory port */ \
    apply(UNREACHABLE, 263)         /* a region has no addresses of 32 bits in a row on the bus */ \
    apply(STATE_LOST, 264)          /* a run has failed; eightfold_clear first */ \
    apply(EXPIRED, 265)             /* the driver's time is over; the run was ended */ \
    apply(STUCK, 266)               /* a soft reset does not end: the bus does not answer */ \
    apply(ENDED, 267)               /* a reset has ended the run */
#define EIGHTFOLD_RESULT_VALUE(name, value) EIGHTFOLD_##name = value,
enum { EIGHTFOLD_EACH_RESULT(EIGHTFOLD_RESULT_VALUE) EIGHTFOLD_RESULT_END = 268 };

enum eightfold_type {
    EIGHTFOLD_BOOL,
    EIGHTFOLD_INT8,
    EIGHTFOLD_UINT8,
    EIGHTFOLD_INT16,
    EIGHTFOLD_INT32,
    EIGHTFOLD_INT64
};

/* An input or an output: where it lies in the arena, and what its codes mean. */
struct eightfold_tensor {
    const char *name;
    enum eightfold_type type;
    uint32_t offset, bytes, elements, rank;
    uint32_t scale_count; /* 0: it has no scale */
    const uint32_t *shape;
    const float *scales;
    const int32_t *zero_points;
};

/* A compiled network: constants. eightfold compile --c-array writes it. */
struct eightfold_network {
    const uint32_t *commands;
    const uint8_t *model, *state; /* state: what its bytes of the arena are at first */
    uint32_t command_bytes, model_bytes, arena_bytes, state_offset, state_bytes;
    uint32_t input_count;
    const struct eightfold_tensor *inputs;
    uint32_t output_count;
    const struct eightfold_tensor *outputs;
};

/* An accelerator. Set `registers`, and what of the rest of the first group is wanted, to 0 else;
 * call eightfold_init. */
struct eightfold_device {
    volatile uint32_t *registers; /* where its registers are mapped */
    void *context;                /* for the hooks */
    uint32_t patience;            /* ticks of eightfold_ticks until EXPIRED or STUCK; 0: no limit */
    uint32_t watchdog;            /* register TIMEOUT: clock cycles without progress; 0: no limit */
    uint32_t interrupts;          /* 1: it raises its interrupt at the end of a run */

    uint32_t stuck; /* 1: a soft reset has not ended */
    uint32_t began, polls;
    struct eightfold_instance *running;
};

/* A network with an arena of its own. Any number of them take turns on one device. */
struct eightfold_instance {
    struct eightfold_device *device;
    const struct eightfold_network *network;
    uint8_t *arena; /* EIGHTFOLD_ALIGNED, whole cache lines */
    uint32_t command_address, model_address, arena_address;
    eightfold_result result; /* of its last run */
    uint32_t error;          /* register ERROR of it: code, engine, number of the command */
    uint32_t cycles;         /* clock cycles that it took */
    uint32_t lost;           /* 1: a run has failed, and with it the state */
};

/* Checks ID and version, and resets the accelerator. */
eightfold_result eightfold_init(struct eightfold_device *device);

/* Checks that a network fits the accelerator, and makes its state that of the beginning.
 * Not for an instance in a run. */
eightfold_result eightfold_load(struct eightfold_instance *instance,
                                struct eightfold_device *device,
                                const struct eightfold_network *network, uint8_t *arena);

/* Makes the state that of the beginning. BUSY in a run of the instance, STUCK after one. */
eightfold_result eightfold_clear(struct eightfold_instance *instance);

/* Rings the doorbell; BUSY if something runs. Until the run's end nobody may touch the arena. */
eightfold_result eightfold_start(struct eightfold_instance *instance);

/* BUSY, or the result of its last run; never waits, but for a soft reset after an error. */
eightfold_result eightfold_poll(struct eightfold_instance *instance);

/* Polls to the run's end; between polls it calls eightfold_sleep. */
eightfold_result eightfold_wait(struct eightfold_instance *instance);

/* Start and wait. BUSY if another runs. */
eightfold_result eightfold_invoke(struct eightfold_instance *instance);

/* Ends what runs, which gets the result ENDED. */
eightfold_result eightfold_reset(struct eightfold_device *device);

/* For the interrupt's handler: 1 if it was this device, whose interrupt is then cleared. */
int eightfold_interrupt(struct eightfold_device *device);

/* The name of a result. */
const char *eightfold_name(eightfold_result result);

/* Where a tensor of an instance is. */
static inline uint8_t *eightfold_data(const struct eightfold_instance *instance,
                                      const struct eightfold_tensor *tensor)
{
    return instance->arena + tensor->offset;
}

/* Hooks. Each has a weak default in eightfold.c; define one to have your own. */
uint32_t eightfold_read(struct eightfold_device *device, uint32_t offset);
void eightfold_write(struct eightfold_device *device, uint32_t offset, uint32_t value);
/* Puts where the accelerator sees memory into *address; 0 if it does not. Default: the pointer. */
int eightfold_address(struct eightfold_device *device, const void *memory, uint32_t *address);
/* Cache: write dirty lines back; forget lines. Default: nothing, for memory without cache. */
void eightfold_clean(struct eightfold_device *device, const void *memory, uint32_t bytes);
void eightfold_invalidate(struct eightfold_device *device, void *memory, uint32_t bytes);
/* Orders memory and registers. Default: the compiler's full barrier. */
void eightfold_barrier(struct eightfold_device *device);
/* A clock that wraps at 2^32. Default: counts its calls. */
uint32_t eightfold_ticks(struct eightfold_device *device);
/* Waits for the interrupt, at most for a while. Default: returns at once. */
void eightfold_sleep(struct eightfold_device *device);
/* Mutex around each call that changes the device. Default: nothing, for one thread. */
void eightfold_lock(struct eightfold_device *device);
void eightfold_unlock(struct eightfold_device *device);

#ifdef __cplusplus
}
#endif

#endif /* EIGHTFOLD_DRIVER_H */
