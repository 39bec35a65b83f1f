#pragma once
/* A device: a table of functions over its own memory. Included by the devices, which fill the
 * table, and by device.h, which has the functions for all devices.
 *
 * The executor touches a device only through this table. Addresses are the device's: on cpu they
 * are pointers, elsewhere handles that the host cannot dereference; base + offset arithmetic inside
 * one allocation is allowed.
 *
 * A stream is a queue of the device: work on one stream runs in its order, work on two streams at
 * the same time, unless an event orders it. Calls that take a stream return when their work is
 * queued, or after earlier work of the stream that must be done first; calls that read into host
 * memory return when their work is done. Stream NULL: the work is done when the call returns, and
 * orders no other work.
 *
 * A call that reaches the device may fail with DEVICE_LOST: the device is gone with its memory, and
 * every further call but free, destroy and close fails the same way. Any other error is of that
 * call alone; an error of queued work is returned by the next call that waits for its stream.
 *
 * Threads: any; the caller orders the calls on one stream. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct Plan;
struct PlanRequest;
struct PackRequest;

/* Raised with every change of the interface between a plugin and its host: this table, plans, the
 * numbers of operators and element types, attributes, errors; also if only the meaning changes,
 * which no fingerprint (device_layout.h) shows. */
enum { DEVICE_ABI_VERSION = 6, DEVICE_NAME_MAX = 32, DEVICE_ALIGNMENT = 64 };

typedef struct Device Device;
typedef struct DeviceStream DeviceStream;
typedef struct DeviceEvent DeviceEvent; /* a point in the work of a stream */

typedef struct DeviceMemory {
    uint64_t total_bytes;
    uint64_t free_bytes;
} DeviceMemory;

typedef struct DeviceClass {
    /* These two members never move. */
    uint32_t abi_version; /* DEVICE_ABI_VERSION */
    uint32_t layout;      /* for a plugin: DEVICE_LAYOUT (device_layout.h) */
    const char *kind;     /* "cpu", "sim", "cuda" */
    /* How many devices this machine has; 0 also if the number is not known. NULL function: one. */
    uint32_t (*count)(void);
    /* options: the text after the index in a device SPEC, e.g. "memory=1GiB"; "" for none. */
    Error *(*open)(const char *kind, uint32_t index, const char *options, Device **out);
    void (*close)(Device *device);
    Error *(*memory)(Device *device, DeviceMemory *out);
    /* All or none of the next nine. NULL: a device without queues, whose calls return when their
     * work is done; its streams are NULL. */
    Error *(*stream_create)(Device *device, DeviceStream **out);
    void (*stream_destroy)(Device *device, DeviceStream *stream); /* waits for queued work */
    /* Waits for queued work. Errors: the first error of the work since the last wait. */
    Error *(*stream_synchronize)(Device *device, DeviceStream *stream);
    Error *(*event_create)(Device *device, DeviceEvent **out);
    void (*event_destroy)(Device *device, DeviceEvent *event);
    /* Makes the event reached when the work queued so far is done. Recording it again forgets the
     * first. */
    Error *(*event_record)(Device *device, DeviceEvent *event, DeviceStream *stream);
    /* Work that is queued on the stream from here on runs after the event, as recorded now. */
    Error *(*event_wait)(Device *device, DeviceEvent *event, DeviceStream *stream);
    /* Returns when the event is reached. */
    Error *(*event_synchronize)(Device *device, DeviceEvent *event);
    /* Device time between two recorded events; waits for both. */
    Error *(*event_elapsed)(Device *device, DeviceEvent *from, DeviceEvent *to, uint64_t *out_ns);
    /* Allocates memory aligned to DEVICE_ALIGNMENT, zeroed for work that is queued after the call.
     * Errors: EXHAUSTED not enough free memory now. */
    Error *(*alloc)(Device *device, DeviceStream *stream, uint64_t size, uint64_t *out_address);
    /* Frees after the queued work. */
    void (*free)(Device *device, DeviceStream *stream, uint64_t address, uint64_t size);
    /* The host's bytes may be reused when the call returns. */
    Error *(*copy_from_host)(
        Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size);
    /* Waits for the stream: the bytes are there when the call returns. */
    Error *(*copy_to_host)(
        Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size);
    /* Copies inside the device. */
    Error *(*copy)(Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size);
    /* Chooses a kernel and prepares it: a pure function of the request and the device's determinism
     * class. NULL function: a device that holds memory and runs no kernels. Errors: UNSUPPORTED no
     * kernel takes this operator with these element types; INVALID the shapes do not fit. */
    Error *(*plan)(Device *device, const struct PlanRequest *request, struct Plan **out);
    /* Packed weights (see kernels/operator/plan.h). out_layout 0: the constant stays plain. NULL
     * function: this device packs nothing. */
    Error *(*pack_rule)(Device *device, const struct PackRequest *request, uint32_t *out_layout,
        uint64_t *out_bytes);
    /* Reads the plain constant from host memory, writes the packed form to an address of the
     * device. */
    Error *(*pack)(Device *device, DeviceStream *stream, const struct PackRequest *request,
        uint32_t layout, const void *plain, uint64_t to);
    /* The kernel tables in the order of the search, NULL-terminated, for listings. NULL function:
     * none. */
    const struct Kernel *const *(*kernels)(Device *device);
    /* Work queued on the device's streams checks the stop of the scope that queued it. */
    bool stops_kernels;
    /* Addresses are pointers of this process, so that copies may be memcpy. */
    bool host_memory;
    /* Appends the determinism class: device model, effective instruction set, kernel table and
     * library versions. */
    void (*determinism_class)(Device *device, TextBuilder *out);
} DeviceClass;

/* Implementations embed this as their first member. */
struct Device {
    const DeviceClass *class_;
    uint32_t index;
    char name[DEVICE_NAME_MAX]; /* "cpu", "sim:0" */
    /* The size of its memory, after the first query, which is slow on some devices. 0: not yet. */
    _Atomic uint64_t total_bytes;
};
