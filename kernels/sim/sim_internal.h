#pragma once
/* The sim device, shared by sim_device.c, sim_copy.c and sim_plan.c. Threads: any, as those of a
 * device. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"
#include "kernels/sim/sim_faults.h"
#include "kernels/sim/sim_memory.h"
#include "kernels/sim/sim_options.h"
#include "kernels/sim/sim_pace.h"
#include "kernels/sim/sim_stream.h"

typedef struct SimDevice {
    Device base;
    Device *cpu; /* private: computes, and holds the bytes */
    SimMemory *memory;
    SimEngine *engine;
    SimOptions options;
    SimFaults faults;
    SimPace link, kernels;
} SimDevice;

static inline SimDevice *sim_device(Device *device) { return (SimDevice *)device; }
static inline SimStream *sim_stream(DeviceStream *stream) { return (SimStream *)stream; }

/* Counts the call and fails it if the SPEC says so. */
MUST_CHECK Error *sim_device_check(Device *device, SimCall call);
/* The host address of size bytes at a device address; 0 for no bytes. */
MUST_CHECK Error *sim_device_resolve(
    Device *device, uint64_t address, uint64_t size, uint64_t *out_host);
/* Queues a command on the stream; without a stream runs it at once. */
MUST_CHECK Error *sim_device_queue(DeviceStream *stream, SimCommand *owned_command);
/* Called for work that runs in the caller's thread: waits for the stream. */
MUST_CHECK Error *sim_device_settle(DeviceStream *stream);

/* ---- sim_copy.c: the table's functions ---- */
MUST_CHECK Error *sim_copy_from_host(
    Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size);
MUST_CHECK Error *sim_copy_to_host(
    Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size);
MUST_CHECK Error *sim_copy(
    Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size);

/* ---- sim_plan.c ---- */
MUST_CHECK Error *sim_plan(Device *device, const PlanRequest *request, Plan **out);
/* Whether the device pretends to have no kernel for the operator. */
bool sim_lacks(const SimDevice *device, const OperatorInfo *info);
