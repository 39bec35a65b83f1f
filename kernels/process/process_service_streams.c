#include "kernels/process/process_service_internal.h"

/* ---- streams ---- */

Error *process_serve_stream_create(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    (void)in, (void)out;
    /* errors of the channel's previous borrower are dropped */
    error_free(process_service_tell(service));
    return device_stream_create(device, &service->stream);
}

Error *process_serve_stream_destroy(ProcessService *service, ByteReader *in, ByteWriter *out) {
    (void)in, (void)out;
    device_stream_destroy(service->work->device, service->stream);
    service->stream = NULL;
    error_free(process_service_tell(service));
    return NULL;
}

Error *process_serve_synchronize(ProcessService *service, ByteReader *in, ByteWriter *out) {
    (void)in, (void)out;
    Error *error = device_stream_synchronize(service->work->device, service->stream);
    Error *first = process_service_tell(service);
    if (first) error_free(error);
    return first ? first : error;
}

/* ---- events ---- */

Error *process_serve_event_create(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    DeviceEvent *event;
    uint64_t id;
    (void)in;
    if (!device->class_->event_create) FAIL(UNSUPPORTED, "%s has no events", device->name);
    TRY(device->class_->event_create(device, &event));
    TRY(process_handles_add_event(service->work->handles, event, &id));
    byte_write_u64(out, id);
    return NULL;
}

Error *process_serve_event_destroy(ProcessService *service, ByteReader *in, ByteWriter *out) {
    uint64_t id, uses;
    (void)out;
    TRY(byte_read_u64(in, &id));
    TRY(byte_read_u64(in, &uses));
    process_handles_drop(service->work->handles, id, uses);
    return NULL;
}

/* The recording is counted even after a failure, so that no waiter waits forever. */
Error *process_serve_event_record(ProcessService *service, ByteReader *in, ByteWriter *out) {
    ProcessWork *work = service->work;
    uint64_t id, number;
    DeviceEvent *event;
    (void)out;
    TRY(byte_read_u64(in, &id));
    TRY(byte_read_u64(in, &number));
    TRY(process_handles_get_event(work->handles, id, &event));
    Error *error = NULL;
    if (service->stream)
        error = work->device->class_->event_record(work->device, event, service->stream);
    process_handles_set_recorded(work->handles, id, number);
    process_handles_count_use(work->handles, id);
    return error;
}

/* Waits for the recording that the caller named, whose command may still be on another channel. */
static Error *read_event(ProcessService *service, ByteReader *in, uint64_t *out_id,
    uint64_t *out_number, DeviceEvent **out) {
    TRY(byte_read_u64(in, out_id));
    TRY(byte_read_u64(in, out_number));
    TRY(process_handles_get_event(service->work->handles, *out_id, out));
    process_handles_wait_recorded(service->work->handles, *out_id, *out_number);
    return NULL;
}

Error *process_serve_event_wait(ProcessService *service, ByteReader *in, ByteWriter *out) {
    ProcessWork *work = service->work;
    uint64_t id, number;
    DeviceEvent *event;
    (void)out;
    TRY(read_event(service, in, &id, &number, &event));
    Error *error = NULL;
    if (service->stream && number > 0)
        error = work->device->class_->event_wait(work->device, event, service->stream);
    process_handles_count_use(work->handles, id);
    return error;
}

Error *process_serve_event_synchronize(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    uint64_t id, number;
    DeviceEvent *event;
    (void)out;
    TRY(read_event(service, in, &id, &number, &event));
    return number > 0 ? device->class_->event_synchronize(device, event) : NULL;
}

Error *process_serve_event_elapsed(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    uint64_t id, from_number, to_number, ns;
    DeviceEvent *from, *to;
    TRY(read_event(service, in, &id, &from_number, &from));
    TRY(read_event(service, in, &id, &to_number, &to));
    if (from_number == 0 || to_number == 0) FAIL(INVALID, "an event that was not recorded");
    TRY(device->class_->event_elapsed(device, from, to, &ns));
    byte_write_u64(out, ns);
    return NULL;
}

/* ---- memory ---- */

Error *process_serve_memory(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    DeviceMemory memory;
    (void)in;
    TRY(device->class_->memory(device, &memory));
    byte_write_u64(out, memory.total_bytes);
    byte_write_u64(out, memory.free_bytes);
    return NULL;
}

/* Frees that the parent posted before this allocation may still be on other channels. */
static void wait_for_frees(ProcessWork *work, uint64_t frees) {
    (void)pthread_mutex_lock(&work->mutex);
    while (work->frees < frees && !atomic_load(&work->ending))
        (void)pthread_cond_wait(&work->freed, &work->mutex);
    (void)pthread_mutex_unlock(&work->mutex);
}

Error *process_serve_alloc(ProcessService *service, ByteReader *in, ByteWriter *out) {
    ProcessWork *work = service->work;
    uint64_t size, frees, address;
    TRY(byte_read_u64(in, &size));
    TRY(byte_read_u64(in, &frees));
    Error *error = work->device->class_->alloc(work->device, service->stream, size, &address);
    if (error_code(error) == ERROR_EXHAUSTED) {
        error_free(error);
        wait_for_frees(work, frees);
        error = work->device->class_->alloc(work->device, service->stream, size, &address);
    }
    TRY(error);
    byte_write_u64(out, address);
    return NULL;
}

Error *process_serve_free(ProcessService *service, ByteReader *in, ByteWriter *out) {
    ProcessWork *work = service->work;
    uint64_t address, size;
    (void)out;
    TRY(byte_read_u64(in, &address));
    TRY(byte_read_u64(in, &size));
    work->device->class_->free(work->device, service->stream, address, size);
    (void)pthread_mutex_lock(&work->mutex);
    work->frees++;
    (void)pthread_cond_broadcast(&work->freed);
    (void)pthread_mutex_unlock(&work->mutex);
    return NULL;
}

/* ---- copies ---- */

/* Copies out of the ring. The parent may overwrite the bytes after the device has taken them. */
Error *process_serve_copy_from_host(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    uint64_t to;
    (void)out;
    TRY(byte_read_u64(in, &to));
    if (service->error) return NULL;
    return device->class_->copy_from_host(
        device, service->stream, to, in->data + in->position, byte_reader_left(in));
}

/* Copies into the ring while the parent reads the piece before. The last piece is the answer that
 * every call gets. */
Error *process_serve_copy_to_host(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    uint64_t from, left;
    TRY(byte_read_u64(in, &from));
    TRY(byte_read_u64(in, &left));
    TRY(process_service_tell(service));
    for (uint64_t part; left > 0; left -= part, from += part) {
        void *room;
        part = left < RING_PAYLOAD_MAX ? left : RING_PAYLOAD_MAX;
        RingState state = ring_begin(&service->answers, (uint32_t)part, &room);
        if (state != RING_READY) return process_service_check(state);
        TRY(device->class_->copy_to_host(device, service->stream, room, from, part));
        ring_end(&service->answers, PROCESS_ANSWER_MORE, (uint32_t)part);
    }
    (void)out;
    return NULL;
}

Error *process_serve_copy(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    uint64_t to, from, size;
    (void)out;
    TRY(byte_read_u64(in, &to));
    TRY(byte_read_u64(in, &from));
    TRY(byte_read_u64(in, &size));
    if (service->error) return NULL;
    return device->class_->copy(device, service->stream, to, from, size);
}
