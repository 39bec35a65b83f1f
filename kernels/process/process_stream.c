#include "base/allocator.h"
#include "kernels/process/process_internal.h"

/* The worker makes streams and events, so the worker chooses their numbers. */
typedef struct ProcessEvent {
    uint64_t id;
    _Atomic uint64_t recorded; /* number of recordings */
    /* commands that name the event; the worker frees the event after them */
    _Atomic uint64_t uses;
    ProcessChannel *channel; /* channel and lending of the last recording */
    uint64_t lending;
} ProcessEvent;

static ProcessEvent *event_of(DeviceEvent *event) { return (ProcessEvent *)event; }

static ProcessChannel *channel_of(DeviceStream *stream) { return (ProcessChannel *)stream; }

Error *process_place_init(Device *device, DeviceStream *stream, ProcessPlace *out) {
    *out = (ProcessPlace){process_device(device), channel_of(stream), stream == NULL};
    if (stream) return NULL;
    return process_lending_borrow(out->device->lending, false, &out->channel);
}

void process_place_deinit(ProcessPlace *place) {
    if (place->borrowed) process_lending_return(place->device->lending, place->channel);
}

Error *process_place_finish(ProcessPlace *place, Error *owned_error) {
    if (!owned_error && place->borrowed)
        owned_error = process_channel_call(
            place->channel, PROCESS_CALL_SYNCHRONIZE, NULL, (ProcessBytes){0}, NULL);
    process_place_deinit(place);
    return owned_error;
}

/* ---- streams ---- */

Error *process_stream_create(Device *device, DeviceStream **out) {
    ProcessChannel *channel;
    ProcessLending *lending = process_device(device)->lending;
    TRY(process_lending_borrow(lending, true, &channel));
    Error *error =
        process_channel_post(channel, PROCESS_CALL_STREAM_CREATE, NULL, (ProcessBytes){0});
    if (error) {
        process_lending_return(lending, channel);
        return error;
    }
    *out = (DeviceStream *)channel;
    return NULL;
}

void process_stream_destroy(Device *device, DeviceStream *stream) {
    ProcessChannel *channel = channel_of(stream);
    error_free(
        process_channel_call(channel, PROCESS_CALL_STREAM_DESTROY, NULL, (ProcessBytes){0}, NULL));
    process_lending_return(process_device(device)->lending, channel);
}

Error *process_stream_synchronize(Device *device, DeviceStream *stream) {
    (void)device;
    return process_channel_call(
        channel_of(stream), PROCESS_CALL_SYNCHRONIZE, NULL, (ProcessBytes){0}, NULL);
}

/* ---- events ---- */

Error *process_event_create(Device *device, DeviceEvent **out) {
    ProcessPlace place;
    void *memory;
    ByteWriter OWN_BYTES(answer) = {0};
    TRY(process_place_init(device, NULL, &place));
    Error *error = process_channel_call(
        place.channel, PROCESS_CALL_EVENT_CREATE, NULL, (ProcessBytes){0}, &answer);
    process_place_deinit(&place);
    TRY(error);
    ByteReader reader = byte_reader(answer.data, answer.size);
    uint64_t id;
    error = byte_read_u64(&reader, &id);
    if (error) return process_channel_reject(place.channel, error);
    /* without memory here, the event stays with the worker */
    TRY(memory_alloc(1, sizeof(ProcessEvent), &memory));
    ProcessEvent *event = memory;
    event->id = id;
    *out = (DeviceEvent *)event;
    return NULL;
}

void process_event_destroy(Device *device, DeviceEvent *base) {
    ProcessEvent *event = event_of(base);
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    if (!event) return;
    byte_write_u64(&head, event->id);
    byte_write_u64(&head, atomic_load(&event->uses));
    Error *error = process_place_init(device, NULL, &place);
    if (!error) {
        error = process_channel_post(
            place.channel, PROCESS_CALL_EVENT_DESTROY, &head, (ProcessBytes){0});
        process_place_deinit(&place);
    }
    error_free(error); /* if the worker has ended, so has the event */
    memory_free(event);
}

static void write_event(ByteWriter *writer, const ProcessEvent *event, uint64_t number) {
    byte_write_u64(writer, event->id);
    byte_write_u64(writer, number);
}

static Error *post_event(
    ProcessChannel *channel, ProcessCall call, ProcessEvent *event, uint64_t number) {
    ByteWriter OWN_BYTES(head) = {0};
    write_event(&head, event, number);
    TRY(byte_writer_check(&head));
    (void)atomic_fetch_add(&event->uses, 1);
    return process_channel_post(channel, call, &head, (ProcessBytes){0});
}

Error *process_event_record(Device *device, DeviceEvent *base, DeviceStream *stream) {
    (void)device;
    ProcessEvent *event = event_of(base);
    event->channel = channel_of(stream);
    event->lending = atomic_load(&event->channel->lending);
    uint64_t number = atomic_fetch_add(&event->recorded, 1) + 1;
    return post_event(event->channel, PROCESS_CALL_EVENT_RECORD, event, number);
}

Error *process_event_wait(Device *device, DeviceEvent *base, DeviceStream *stream) {
    (void)device;
    ProcessEvent *event = event_of(base);
    return post_event(
        channel_of(stream), PROCESS_CALL_EVENT_WAIT, event, atomic_load(&event->recorded));
}

/* Waits on the channel of the recording, if the channel still belongs to that stream: the worker's
 * thread there is awake. */
Error *process_event_synchronize(Device *device, DeviceEvent *base) {
    const ProcessEvent *event = event_of(base);
    ProcessChannel *channel = event->channel;
    bool same = channel && atomic_load(&channel->lending) == event->lending;
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    write_event(&head, event, atomic_load(&event->recorded));
    TRY(process_place_init(device, same ? (DeviceStream *)channel : NULL, &place));
    Error *error = process_channel_call(
        place.channel, PROCESS_CALL_EVENT_SYNCHRONIZE, &head, (ProcessBytes){0}, NULL);
    process_place_deinit(&place);
    return error;
}

Error *process_event_elapsed(Device *device, DeviceEvent *from, DeviceEvent *to, uint64_t *out_ns) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    write_event(&head, event_of(from), atomic_load(&event_of(from)->recorded));
    write_event(&head, event_of(to), atomic_load(&event_of(to)->recorded));
    TRY(process_place_init(device, NULL, &place));
    Error *error = process_channel_call(
        place.channel, PROCESS_CALL_EVENT_ELAPSED, &head, (ProcessBytes){0}, &answer);
    process_place_deinit(&place);
    TRY(error);
    ByteReader reader = byte_reader(answer.data, answer.size);
    error = byte_read_u64(&reader, out_ns);
    return error ? process_channel_reject(place.channel, error) : NULL;
}
