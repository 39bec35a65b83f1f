/* A simulated accelerator: its own address space and memory limit, its own queues, the cpu device's
 * mathematics underneath. Code that works here without a host pointer, and waits where it must,
 * works on a real accelerator.
 *
 * Its SPEC is described in sim_options.h. */
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/cpu/device/cpu_device.h"
#include "kernels/sim/sim_internal.h"

extern const DeviceClass sim_device_class;

static const double KERNEL_BYTES_PER_S = 10e9; /* bytes of operands in a second at speed=1 */
enum { US_NS = 1000 };

static void close_device(Device *base) {
    SimDevice *device = sim_device(base);
    sim_engine_release(device->engine);
    sim_memory_release(device->memory);
    device_close(device->cpu);
    memory_free(device);
}

static Error *open_device(const char *kind, uint32_t index, const char *options, Device **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(SimDevice), &block));
    SimDevice *device = block;
    OWN(Device, owned) = &device->base;
    device->base.class_ = &sim_device_class;
    device->base.index = index;
    (void)snprintf(device->base.name, sizeof device->base.name, "%s:%u", kind, index);
    TRY(sim_options_read(options, &device->options));
    sim_faults_init(&device->faults, &device->options);
    sim_pace_init(&device->link, (double)device->options.bandwidth);
    sim_pace_init(&device->kernels, device->options.speed * KERNEL_BYTES_PER_S);
    TRY(cpu_device_open(&device->cpu));
    TRY(sim_memory_create(device->cpu, index, device->options.memory_bytes, &device->memory));
    TRY(sim_engine_create(device->options.lag_us * US_NS, &device->engine));
    *out = TAKE(owned);
    return NULL;
}

Error *sim_device_check(Device *device, SimCall call) {
    return sim_faults_check(&sim_device(device)->faults, call, device->name);
}

Error *sim_device_resolve(Device *device, uint64_t address, uint64_t size, uint64_t *out_host) {
    *out_host = 0;
    if (size == 0) return NULL;
    TRY_WRAP(sim_memory_resolve(sim_device(device)->memory, address, size, out_host), "%s",
        device->name);
    return NULL;
}

Error *sim_device_queue(DeviceStream *stream, SimCommand *owned_command) {
    if (stream) return sim_stream_push(sim_stream(stream), owned_command);
    Error *error = owned_command->run(owned_command);
    owned_command->release(owned_command);
    return error;
}

Error *sim_device_settle(DeviceStream *stream) {
    return stream ? sim_stream_synchronize(sim_stream(stream)) : NULL;
}

static Error *memory_info(Device *device, DeviceMemory *out) {
    TRY(sim_device_check(device, SIM_CALL_OTHER));
    *out = sim_memory_info(sim_device(device)->memory);
    return NULL;
}

/* ---- queues ---- */

static Error *stream_create(Device *device, DeviceStream **out) {
    SimStream *stream;
    TRY(sim_device_check(device, SIM_CALL_OTHER));
    TRY(sim_stream_create(sim_device(device)->engine, &stream));
    *out = (DeviceStream *)stream;
    return NULL;
}

static void stream_destroy(Device *device, DeviceStream *stream) {
    (void)device;
    sim_stream_destroy(sim_stream(stream));
}

static Error *stream_synchronize(Device *device, DeviceStream *stream) {
    TRY(sim_device_settle(stream));
    return sim_device_check(device, SIM_CALL_OTHER);
}

static Error *event_create(Device *device, DeviceEvent **out) {
    SimEvent *event;
    TRY(sim_device_check(device, SIM_CALL_OTHER));
    TRY(sim_event_create(sim_device(device)->engine, &event));
    *out = (DeviceEvent *)event;
    return NULL;
}

static void event_destroy(Device *device, DeviceEvent *event) {
    (void)device;
    sim_event_destroy((SimEvent *)event);
}

static Error *event_record(Device *device, DeviceEvent *event, DeviceStream *stream) {
    TRY(sim_device_check(device, SIM_CALL_OTHER));
    return sim_event_record((SimEvent *)event, sim_stream(stream));
}

static Error *event_wait(Device *device, DeviceEvent *event, DeviceStream *stream) {
    TRY(sim_device_check(device, SIM_CALL_OTHER));
    return sim_event_wait((SimEvent *)event, sim_stream(stream));
}

static Error *event_synchronize(Device *device, DeviceEvent *event) {
    sim_event_synchronize((SimEvent *)event);
    return sim_device_check(device, SIM_CALL_OTHER);
}

static Error *event_elapsed(Device *device, DeviceEvent *from, DeviceEvent *to, uint64_t *out_ns) {
    TRY(sim_device_check(device, SIM_CALL_OTHER));
    uint64_t from_ns = sim_event_time_ns((SimEvent *)from);
    uint64_t to_ns = sim_event_time_ns((SimEvent *)to);
    *out_ns = to_ns > from_ns ? to_ns - from_ns : 0;
    return NULL;
}

/* ---- memory ---- */

typedef struct Freeing {
    SimCommand base;
    SimMemory *memory;
    uint64_t address, size;
} Freeing;

static Error *run_freeing(SimCommand *command) {
    const Freeing *self = (const Freeing *)command;
    sim_memory_free(self->memory, self->address, self->size);
    return NULL;
}

static void release_freeing(SimCommand *command) { memory_free(command); }

static Error *queue_freeing(
    SimDevice *device, DeviceStream *stream, uint64_t address, uint64_t size) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Freeing), &memory));
    Freeing *freeing = memory;
    *freeing =
        (Freeing){{run_freeing, release_freeing, .always = true}, device->memory, address, size};
    return sim_device_queue(stream, &freeing->base);
}

static void free_memory(Device *base, DeviceStream *stream, uint64_t address, uint64_t size) {
    SimDevice *device = sim_device(base);
    if (!address) return;
    bool idle = !stream || sim_stream_is_idle(sim_stream(stream));
    Error *error = idle ? NULL : queue_freeing(device, stream, address, size);
    if (error) { /* the freeing could not be queued, so queued work is awaited here */
        error_free(error);
        sim_stream_wait(sim_stream(stream));
        idle = true;
    }
    if (idle) sim_memory_free(device->memory, address, size);
}

static Error *alloc(Device *base, DeviceStream *stream, uint64_t size, uint64_t *out_address) {
    SimMemory *memory = sim_device(base)->memory;
    TRY(sim_device_check(base, SIM_CALL_ALLOC));
    Error *error = sim_memory_alloc(memory, size, out_address);
    if (stream && error_code(error) == ERROR_EXHAUSTED) {
        error_free(error); /* queued work may free memory */
        TRY(sim_device_settle(stream));
        error = sim_memory_alloc(memory, size, out_address);
    }
    return error_wrap(error, "%s", base->name);
}

/* ---- the rest is the cpu's ---- */

static Error *pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes) {
    Device *cpu = sim_device(device)->cpu;
    TRY(sim_device_check(device, SIM_CALL_OTHER));
    if (sim_lacks(sim_device(device), request->operator_info)) {
        *out_layout = 0; /* neither expansions nor the host's kernels take packed operands */
        *out_bytes = 0;
        return NULL;
    }
    return cpu->class_->pack_rule(cpu, request, out_layout, out_bytes);
}

static Error *pack(Device *device, DeviceStream *stream, const PackRequest *request,
    uint32_t layout, const void *plain, uint64_t to) {
    Device *cpu = sim_device(device)->cpu;
    uint32_t ruled;
    uint64_t bytes, host;
    SimPace *link = &sim_device(device)->link;
    /* counts as a copy, since the packed form goes over the link */
    TRY(sim_device_check(device, SIM_CALL_COPY));
    TRY(sim_device_settle(stream));
    uint64_t start_ns = sim_pace_begin(link);
    TRY(cpu->class_->pack_rule(cpu, request, &ruled, &bytes));
    TRY(sim_device_resolve(device, to, bytes, &host));
    TRY(cpu->class_->pack(cpu, NULL, request, layout, plain, host));
    sim_pace_end(link, start_ns, bytes);
    return NULL;
}

static const struct Kernel *const *kernels(Device *device) {
    Device *cpu = sim_device(device)->cpu;
    return cpu->class_->kernels(cpu);
}

/* The cpu's class. Lacking kernels are named, since the plain operators of an expansion round more
 * often than a fused kernel. */
static void determinism_class(Device *device, TextBuilder *out) {
    Device *cpu = sim_device(device)->cpu;
    const char *lacks = sim_device(device)->options.lacks; /* "+Conv+Softmax+" */
    cpu->class_->determinism_class(cpu, out);
    if (lacks[0]) text_appendf(out, " without %.*s", (int)strlen(lacks) - 2, lacks + 1);
}

const DeviceClass sim_device_class = {
    .abi_version = DEVICE_ABI_VERSION,
    .kind = "sim",
    .open = open_device,
    .close = close_device,
    .memory = memory_info,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .alloc = alloc,
    .free = free_memory,
    .copy_from_host = sim_copy_from_host,
    .copy_to_host = sim_copy_to_host,
    .copy = sim_copy,
    .stops_kernels = true,
    .plan = sim_plan,
    .pack_rule = pack_rule,
    .pack = pack,
    .kernels = kernels,
    .host_memory = false,
    .determinism_class = determinism_class,
};
