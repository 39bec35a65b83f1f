
#include <string.h>

#include "base/allocator.h"
#include "kernels/process/process_service_internal.h"

enum { INBOX_KEPT_BYTES = 1 << 20 };

/* ---- answers ---- */

Error *process_service_check(RingState state) {
    if (state == RING_BROKEN) FAIL(CORRUPT, "the parent's cursor makes no sense");
    return NULL; /* the parent has ended, so no answer is sent */
}

static Error *send_record(
    ProcessService *service, ProcessAnswer kind, const void *bytes, size_t size) {
    void *room;
    RingState state = ring_begin(&service->answers, (uint32_t)size, &room);
    if (state != RING_READY) return process_service_check(state);
    if (size) memcpy(room, bytes, size);
    ring_end(&service->answers, kind, (uint32_t)size);
    return NULL;
}

static Error *send_bytes(ProcessService *service, const ByteWriter *bytes) {
    size_t at = 0;
    while (bytes->size - at > RING_PAYLOAD_MAX) {
        TRY(send_record(service, PROCESS_ANSWER_MORE, bytes->data + at, RING_PAYLOAD_MAX));
        at += RING_PAYLOAD_MAX;
    }
    return send_record(
        service, PROCESS_ANSWER_LAST, bytes->data ? bytes->data + at : NULL, bytes->size - at);
}

static Error *send_error(ProcessService *service, Error *owned_error) {
    ByteWriter OWN_BYTES(bytes) = {0};
    process_wire_write_error(&bytes, owned_error);
    error_free(owned_error);
    TRY(byte_writer_check(&bytes));
    return send_record(service, PROCESS_ANSWER_ERROR, bytes.data, bytes.size);
}

/* ---- calls that belong to no stream ---- */

Error *process_serve_ping(ProcessService *service, ByteReader *in, ByteWriter *out) {
    (void)service, (void)in, (void)out;
    return NULL;
}

Error *process_serve_bytes(ProcessService *service, ByteReader *in, ByteWriter *out) {
    (void)out;
    size_t size = byte_reader_left(in), need = service->inbox_size + size;
    if (need > service->inbox_capacity) {
        size_t capacity = service->inbox_capacity * 2 > need ? service->inbox_capacity * 2 : need;
        void *memory = service->inbox;
        TRY(memory_resize(&memory, capacity, 1));
        service->inbox = memory;
        service->inbox_capacity = capacity;
    }
    if (size) memcpy(service->inbox + service->inbox_size, in->data + in->position, size);
    service->inbox_size = need;
    return NULL;
}

/* ---- the loop ---- */

typedef enum CallAnswer { POSTED, ANSWERED } CallAnswer;

static const struct {
    Error *(*serve)(ProcessService *service, ByteReader *in, ByteWriter *out);
    CallAnswer answer;
} calls[PROCESS_CALL_COUNT] = {
#define CALL(number, name, function, answer) [number] = {process_serve_##function, answer},
#include "kernels/process/process_calls.def"
#undef CALL
};

/* Keeps the first error. */
static void note(Error **inout_error, Error *owned_error) {
    if (*inout_error)
        error_free(owned_error);
    else
        *inout_error = owned_error;
}

static void empty_inbox(ProcessService *service) {
    service->inbox_size = 0;
    error_free(TAKE(service->inbox_error));
    if (service->inbox_capacity <= INBOX_KEPT_BYTES) return;
    memory_free(service->inbox);
    service->inbox = NULL;
    service->inbox_capacity = 0;
}

static Error *answer(ProcessService *service, ProcessCall call, ByteReader *in) {
    ByteWriter OWN_BYTES(out) = {0};
    Error *error = TAKE(service->inbox_error);
    if (!error) error = calls[call].serve(service, in, &out);
    if (!error) error = byte_writer_check(&out);
    empty_inbox(service);
    return error ? send_error(service, error) : send_bytes(service, &out);
}

/* Errors: of the channel, not of the call. */
static Error *serve(ProcessService *service, const RingRecord *record) {
    ByteReader in = byte_reader(record->bytes, record->size);
    if (record->kind >= PROCESS_CALL_COUNT || !calls[record->kind].serve)
        FAIL(CORRUPT, "there is no call %u", record->kind);
    ProcessCall call = (ProcessCall)record->kind;
    if (calls[call].answer == ANSWERED) return answer(service, call, &in);
    bool piece = call == PROCESS_CALL_BYTES;
    note(piece ? &service->inbox_error : &service->error, calls[call].serve(service, &in, NULL));
    return NULL;
}

Error *process_service_run(ProcessService *service) {
    for (;;) {
        RingRecord record;
        RingState state = ring_next(&service->commands, &record);
        if (state != RING_READY) return process_service_check(state);
        TRY(serve(service, &record));
        ring_done(&service->commands, &record);
    }
}

void process_service_refuse(ProcessService *service, Error *owned_error) {
    RingRecord record; /* takes the call off the ring, where the next thread would find it */
    if (ring_next(&service->commands, &record) == RING_READY)
        ring_done(&service->commands, &record);
    error_free(send_error(service, owned_error));
}

void process_service_look(ProcessService *service) {
    kernel_stop_follow(&service->stop, service->wanted);
}

/* ---- life ---- */

Error *process_service_create(
    ProcessWork *work, ProcessChannelShared *shared, uint64_t spin_ns, ProcessService **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ProcessService), &memory));
    ProcessService *service = memory;
    service->work = work;
    service->wanted = &shared->stop;
    kernel_stop_init(&service->stop);
    service->commands = ring_make_reader(&shared->commands, &work->ending, spin_ns);
    service->answers = ring_make_writer(&shared->answers, &work->ending, spin_ns);
    *out = service;
    return NULL;
}

void process_service_release(ProcessService *service) {
    if (!service) return;
    device_stream_destroy(service->work->device, service->stream);
    error_free(service->error);
    kernel_stop_deinit(&service->stop);
    empty_inbox(service);
    memory_free(service->inbox);
    memory_free(service);
}
