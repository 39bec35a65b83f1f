#pragma once
/* The device of a worker process, shared by process_device.c, process_kernels.c, process_plan.c and
 * process_stream.c. Threads: any, as those of a device. */
#include "kernels/device/device.h"
#include "kernels/operator/kernel.h"
#include "kernels/process/process_channel.h"
#include "kernels/process/process_child.h"
#include "kernels/process/process_lending.h"

enum { PROCESS_KIND_MAX = 16 };

/* The texts of kernels, which outlive their plans. */
typedef struct ProcessNames {
    char **items;
    size_t count, capacity;
} ProcessNames;

typedef struct ProcessDevice {
    Device base;
    DeviceClass own_class; /* has the kind of the worker's device */
    char kind[PROCESS_KIND_MAX];
    char *determinism_class;
    ProcessShared *shared;
    ProcessChild *child;
    ProcessLending *lending;
    ProcessPeer peer;
    _Atomic uint64_t frees; /* posted so far */
    pthread_mutex_t mutex;  /* guards the members below */
    char *why;              /* why the device gave up its worker; NULL: the worker is in use */
    bool may_wake;          /* lending may be woken */
    ProcessNames names;
    const Kernel **tables; /* as listed by the worker; NULL: not asked yet */
} ProcessDevice;

static inline ProcessDevice *process_device(Device *device) { return (ProcessDevice *)device; }

/* The channel of a stream, or a borrowed one without a stream. */
typedef struct ProcessPlace {
    ProcessDevice *device;
    ProcessChannel *channel;
    bool borrowed;
} ProcessPlace;

MUST_CHECK Error *process_place_init(Device *device, DeviceStream *stream, ProcessPlace *out);
/* Without a stream the work must be done when a call returns: waits for the work, if there was no
 * error, and returns the channel. */
MUST_CHECK Error *process_place_finish(ProcessPlace *place, Error *owned_error);
/* Only returns the channel. */
void process_place_deinit(ProcessPlace *place);

/* ---- process_stream.c: the table's functions ---- */
MUST_CHECK Error *process_stream_create(Device *device, DeviceStream **out);
void process_stream_destroy(Device *device, DeviceStream *stream);
MUST_CHECK Error *process_stream_synchronize(Device *device, DeviceStream *stream);
MUST_CHECK Error *process_event_create(Device *device, DeviceEvent **out);
void process_event_destroy(Device *device, DeviceEvent *event);
MUST_CHECK Error *process_event_record(Device *device, DeviceEvent *event, DeviceStream *stream);
MUST_CHECK Error *process_event_wait(Device *device, DeviceEvent *event, DeviceStream *stream);
MUST_CHECK Error *process_event_synchronize(Device *device, DeviceEvent *event);
MUST_CHECK Error *process_event_elapsed(
    Device *device, DeviceEvent *from, DeviceEvent *to, uint64_t *out_ns);

/* ---- process_plan.c ---- */
MUST_CHECK Error *process_plan(Device *device, const PlanRequest *request, Plan **out);
MUST_CHECK Error *process_pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
MUST_CHECK Error *process_pack(Device *device, DeviceStream *stream, const PackRequest *request,
    uint32_t layout, const void *plain, uint64_t to);

/* ---- process_kernels.c ---- */
const struct Kernel *const *process_kernels(Device *device);
/* Keeps the text until the device is closed, one copy of equal ones; consumes the text. */
const char *process_names_keep(ProcessDevice *device, char *owned_name);
void process_kernels_deinit(ProcessDevice *device);
