#include <string.h>

#include "base/allocator.h"
#include "kernels/sim/sim_internal.h"

/* Larger copies run in the caller's thread: a second copy of the bytes would cost more than the
 * wait. */
enum { STAGED_BYTES_MAX = 64 << 10 };

typedef struct StagedCopy {
    SimCommand base;
    Device *device;
    uint64_t to, size;
    uint8_t bytes[];
} StagedCopy;

typedef struct InnerCopy {
    SimCommand base;
    Device *device;
    uint64_t to, from, size;
} InnerCopy;

static void release(SimCommand *command) { memory_free(command); }

static Error *write_bytes(Device *device, uint64_t to, const void *from, uint64_t size) {
    uint64_t host;
    SimPace *link = &sim_device(device)->link;
    uint64_t start_ns = sim_pace_begin(link);
    TRY(sim_device_resolve(device, to, size, &host));
    if (size) memcpy((void *)(uintptr_t)host, from, size);
    sim_pace_end(link, start_ns, size);
    return NULL;
}

static Error *run_staged(SimCommand *command) {
    const StagedCopy *self = (const StagedCopy *)command;
    return write_bytes(self->device, self->to, self->bytes, self->size);
}

Error *sim_copy_from_host(
    Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size) {
    TRY(sim_device_check(device, SIM_CALL_COPY));
    if (!stream || size > STAGED_BYTES_MAX) {
        TRY(sim_device_settle(stream));
        return write_bytes(device, to, from, size);
    }
    void *memory;
    TRY(memory_alloc(1, sizeof(StagedCopy) + size, &memory));
    StagedCopy *copy = memory;
    *copy = (StagedCopy){{.run = run_staged, .release = release}, device, to, size};
    if (size) memcpy(copy->bytes, from, size);
    return sim_device_queue(stream, &copy->base);
}

Error *sim_copy_to_host(
    Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size) {
    uint64_t host;
    SimPace *link = &sim_device(device)->link;
    TRY(sim_device_check(device, SIM_CALL_COPY));
    TRY(sim_device_settle(stream));
    uint64_t start_ns = sim_pace_begin(link);
    TRY(sim_device_resolve(device, from, size, &host));
    if (size) memcpy(to, (const void *)(uintptr_t)host, size);
    sim_pace_end(link, start_ns, size);
    return NULL;
}

static Error *run_inner(SimCommand *command) {
    const InnerCopy *self = (const InnerCopy *)command;
    uint64_t to, from;
    TRY(sim_device_resolve(self->device, self->to, self->size, &to));
    TRY(sim_device_resolve(self->device, self->from, self->size, &from));
    if (self->size) memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, self->size);
    return NULL;
}

Error *sim_copy(Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size) {
    void *memory;
    TRY(sim_device_check(device, SIM_CALL_COPY));
    TRY(memory_alloc(1, sizeof(InnerCopy), &memory));
    InnerCopy *copy = memory;
    *copy = (InnerCopy){{.run = run_inner, .release = release}, device, to, from, size};
    return sim_device_queue(stream, &copy->base);
}
