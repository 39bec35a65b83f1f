#include "kernels/device/device.h"

#include <stdatomic.h>

#include "base/allocator.h"
#include "kernels/device/host_memory.h"

enum { TRANSFER_BYTES = 1 << 20 };

static void host_close(Device *device) { (void)device; }

static const DeviceClass host_class = {
    .abi_version = DEVICE_ABI_VERSION,
    .kind = "host",
    .close = host_close,
    .memory = host_memory_info,
    .alloc = host_memory_alloc,
    .free = host_memory_free,
    .copy_from_host = host_memory_copy_from_host,
    .copy_to_host = host_memory_copy_to_host,
    .copy = host_memory_copy,
    .host_memory = true,
};

Device *device_host(void) {
    static Device host = {
        .class_ = &host_class, .name = "host"}; /* total_bytes is the only member that changes */
    return &host;
}

void device_close(Device *device) {
    if (device) device->class_->close(device);
}

Error *device_total_bytes(Device *device, uint64_t *out_bytes) {
    uint64_t total = atomic_load_explicit(&device->total_bytes, memory_order_relaxed);
    if (total == 0) {
        DeviceMemory memory;
        TRY(device->class_->memory(device, &memory));
        total = memory.total_bytes;
        atomic_store_explicit(&device->total_bytes, total, memory_order_relaxed);
    }
    *out_bytes = total;
    return NULL;
}

bool device_shares_memory(const Device *a, const Device *b) {
    return a == b || (a->class_->host_memory && b->class_->host_memory);
}

Error *device_stream_create(Device *device, DeviceStream **out) {
    *out = NULL;
    return device->class_->stream_create ? device->class_->stream_create(device, out) : NULL;
}

void device_stream_destroy(Device *device, DeviceStream *stream) {
    if (stream) device->class_->stream_destroy(device, stream);
}

Error *device_stream_synchronize(Device *device, DeviceStream *stream) {
    return stream ? device->class_->stream_synchronize(device, stream) : NULL;
}

static Error *copy_in(DevicePlace to, const void *from, uint64_t size) {
    return to.device->class_->copy_from_host(to.device, to.stream, to.address, from, size);
}

static Error *copy_out(void *to, DevicePlace from, uint64_t size) {
    return from.device->class_->copy_to_host(from.device, from.stream, to, from.address, size);
}

static Error *transfer_through_host(DevicePlace to, DevicePlace from, uint64_t size, void *buffer) {
    for (uint64_t left = size, part; left > 0; left -= part) {
        part = left < TRANSFER_BYTES ? left : TRANSFER_BYTES;
        TRY(copy_out(buffer, from, part));
        TRY(copy_in(to, buffer, part));
        to.address += part;
        from.address += part;
    }
    return NULL;
}

/* Between two streams: the copy begins after the source's queued work, and the function returns
 * when the copy is done. */
static Error *copy_inside(DevicePlace to, DevicePlace from, uint64_t size) {
    Device *device = to.device;
    if (from.stream != to.stream) TRY(device_stream_synchronize(device, from.stream));
    TRY(device->class_->copy(device, to.stream, to.address, from.address, size));
    return from.stream != to.stream ? device_stream_synchronize(device, to.stream) : NULL;
}

Error *device_transfer(DevicePlace to, DevicePlace from, uint64_t size) {
    if (size == 0) return NULL;
    if (to.device == from.device) return copy_inside(to, from, size);
    if (from.device->class_->host_memory)
        return copy_in(to, (const void *)(uintptr_t)from.address, size);
    if (to.device->class_->host_memory) return copy_out((void *)(uintptr_t)to.address, from, size);
    void *buffer;
    TRY(memory_alloc(TRANSFER_BYTES, 1, &buffer));
    Error *error = transfer_through_host(to, from, size, buffer);
    memory_free(buffer);
    return error;
}
