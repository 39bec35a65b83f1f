#include "vm/execution/run_ahead.h"

/* Begins the next half when the present one is full. */
static Error *next_half(RunAhead *ahead, const MemoryPool *pool) {
    Device *device = memory_pool_get_device(pool);
    const DeviceClass *class_ = device->class_;
    DeviceEvent **end = &ahead->ends[ahead->half];
    if (!*end) TRY(class_->event_create(device, end));
    TRY(class_->event_record(device, *end, memory_pool_get_stream(pool)));
    ahead->half = (ahead->half + 1) % RUN_AHEAD_HALVES;
    ahead->bytes = 0;
    ahead->launches = 0;
    DeviceEvent *before = ahead->ends[ahead->half];
    return before ? class_->event_synchronize(device, before) : NULL;
}

Error *run_ahead_add(RunAhead *ahead, const MemoryPool *pool, uint64_t bytes) {
    ahead->bytes += bytes;
    ahead->launches++;
    if (ahead->bytes < RUN_AHEAD_HALF_BYTES && ahead->launches < RUN_AHEAD_HALF_LAUNCHES)
        return NULL;
    return next_half(ahead, pool);
}

void run_ahead_settle(RunAhead *ahead) {
    ahead->bytes = 0;
    ahead->launches = 0;
}

void run_ahead_deinit(RunAhead *ahead, Device *device) {
    for (uint32_t i = 0; i < RUN_AHEAD_HALVES; i++)
        if (ahead->ends[i]) device->class_->event_destroy(device, ahead->ends[i]);
}
