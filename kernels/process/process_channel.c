#include "kernels/process/process_channel.h"

#include <string.h>

#include "kernels/device/kernel_stop.h"

enum { ANSWER_BYTES_MAX = 4 << 20 };

static void tell_stop(ProcessChannel *channel, uint32_t wanted) {
    if (atomic_exchange(&channel->stop_told, wanted) == wanted) return;
    atomic_store(channel->stop, wanted);
    channel->peer->nudge(channel->peer, channel->index);
}

void process_channel_pass_stop(ProcessChannel *channel) {
    KernelStop *stop = kernel_stop_scope.stop;
    tell_stop(channel, stop ? kernel_stop_get(stop) : 0);
}

/* Passes on the stop of the thread that launches kernels; other threads have none. The worker sends
 * no message when a kernel pauses. The pause takes only milliseconds, so this function tells the
 * listener. It then looks more often, since the kernel will be resumed soon. */
static uint64_t look(void *self) {
    enum { LOOK_NS = 5000000, LOOK_PAUSED_NS = 1000000 };
    KernelStop *stop = kernel_stop_scope.stop;
    if (!stop) return 0;
    process_channel_pass_stop(self);
    return kernel_stop_tell_paused(stop) ? LOOK_PAUSED_NS : LOOK_NS;
}

void process_channel_init(ProcessChannel *channel, ProcessPeer *peer, ProcessChannelShared *shared,
    uint32_t index, uint64_t spin_ns) {
    *channel = (ProcessChannel){.peer = peer,
        .index = index,
        .commands = ring_make_writer(&shared->commands, &peer->gone, spin_ns),
        .answers = ring_make_reader(&shared->answers, &peer->gone, spin_ns),
        .stop = &shared->stop};
    channel->commands.look = channel->answers.look = look;
    channel->commands.self = channel->answers.self = channel;
    (void)pthread_mutex_init(&channel->posting, NULL);
    (void)pthread_mutex_init(&channel->calling, NULL);
}

void process_channel_deinit(ProcessChannel *channel) {
    (void)pthread_mutex_destroy(&channel->posting);
    (void)pthread_mutex_destroy(&channel->calling);
}

static Error *check(const ProcessChannel *channel, RingState state) {
    if (state == RING_READY) return NULL;
    if (state == RING_BROKEN)
        channel->peer->give_up(channel->peer, "wrote nonsense into the memory that it shares");
    return channel->peer->describe(channel->peer);
}

Error *process_channel_reject(ProcessChannel *channel, Error *owned_error) {
    channel->peer->give_up(channel->peer, error_message(owned_error));
    error_free(owned_error);
    return channel->peer->describe(channel->peer);
}

/* ---- commands ---- */

static Error *write_record(
    ProcessChannel *channel, ProcessCall call, ProcessBytes head, ProcessBytes body) {
    void *bytes;
    uint32_t size = (uint32_t)(head.size + body.size);
    TRY(check(channel, ring_begin(&channel->commands, size, &bytes)));
    if (head.size) memcpy(bytes, head.data, head.size);
    if (body.size) memcpy((uint8_t *)bytes + head.size, body.data, body.size);
    ring_end(&channel->commands, call, size);
    return NULL;
}

static Error *post(
    ProcessChannel *channel, ProcessCall call, ProcessBytes head, ProcessBytes body) {
    if (atomic_load_explicit(&channel->peer->gone, memory_order_acquire))
        return channel->peer->describe(channel->peer);
    (void)pthread_mutex_lock(&channel->posting);
    Error *error = write_record(channel, call, head, body);
    (void)pthread_mutex_unlock(&channel->posting);
    return error;
}

static ProcessBytes bytes_of(const ByteWriter *writer) {
    return writer ? (ProcessBytes){writer->data, writer->size} : (ProcessBytes){0};
}

Error *process_channel_post(
    ProcessChannel *channel, ProcessCall call, const ByteWriter *head, ProcessBytes body) {
    if (head) TRY(byte_writer_check(head));
    return post(channel, call, bytes_of(head), body);
}

/* Posts one record after the other, so that the worker reads the first while the last is
 * written. */
static Error *post_pieces(ProcessChannel *channel, ProcessBytes body) {
    const uint8_t *at = body.data;
    for (size_t left = body.size, part; left > 0; left -= part, at += part) {
        part = left < RING_PAYLOAD_MAX ? left : RING_PAYLOAD_MAX;
        TRY(post(channel, PROCESS_CALL_BYTES, (ProcessBytes){at, part}, (ProcessBytes){0}));
    }
    return NULL;
}

/* ---- answers; called with `calling` held ---- */

static Error *read_error(ProcessChannel *channel, const RingRecord *record) {
    uint8_t copy[2048];
    if (record->size > sizeof copy)
        return process_channel_reject(
            channel, error_make(ERROR_CORRUPT, __FILE__, __LINE__, "an error without end"));
    memcpy(copy, record->bytes, record->size);
    ByteReader reader = byte_reader(copy, record->size);
    Error *sent = NULL;
    Error *error = process_wire_read_error(&reader, &sent);
    return error ? process_channel_reject(channel, error) : sent;
}

/* Receives the pieces of an answer: into `writer`, or into `bytes`. */
typedef struct Answer {
    ByteWriter *writer; /* one of these two: */
    uint8_t *bytes;
    uint64_t left; /* limit of the bytes that may still come */
} Answer;

static Error *take_piece(ProcessChannel *channel, const RingRecord *record, Answer *answer) {
    if (record->kind == PROCESS_ANSWER_ERROR) return read_error(channel, record);
    if (record->kind > PROCESS_ANSWER_ERROR || record->size > answer->left)
        return process_channel_reject(
            channel, error_make(ERROR_CORRUPT, __FILE__, __LINE__, "an answer of %u bytes, kind %u",
                         record->size, record->kind));
    if (answer->writer)
        byte_write_bytes(answer->writer, record->bytes, record->size);
    else if (record->size) {
        memcpy(answer->bytes, record->bytes, record->size);
        answer->bytes += record->size;
    }
    answer->left -= record->size;
    return NULL;
}

static Error *receive(ProcessChannel *channel, Answer *answer) {
    for (;;) {
        RingRecord record;
        TRY(check(channel, ring_next(&channel->answers, &record)));
        Error *error = take_piece(channel, &record, answer);
        ring_done(&channel->answers, &record);
        if (error || record.kind == PROCESS_ANSWER_LAST) return error;
    }
}

static Error *call_locked(ProcessChannel *channel, ProcessCall call, const ByteWriter *head,
    ProcessBytes body, Answer *answer) {
    ProcessBytes bytes = bytes_of(head);
    if (bytes.size > RING_PAYLOAD_MAX) {
        TRY(post_pieces(channel, bytes));
        bytes = (ProcessBytes){0};
    }
    TRY(post_pieces(channel, body));
    TRY(post(channel, call, bytes, (ProcessBytes){0}));
    return receive(channel, answer);
}

Error *process_channel_call(ProcessChannel *channel, ProcessCall call, const ByteWriter *head,
    ProcessBytes body, ByteWriter *out_answer) {
    Answer answer = {.writer = out_answer, .left = out_answer ? ANSWER_BYTES_MAX : 0};
    if (head) TRY(byte_writer_check(head));
    (void)pthread_mutex_lock(&channel->calling);
    Error *error = call_locked(channel, call, head, body, &answer);
    (void)pthread_mutex_unlock(&channel->calling);
    if (!error && out_answer) error = byte_writer_check(out_answer);
    return error;
}

Error *process_channel_read(
    ProcessChannel *channel, ProcessCall call, const ByteWriter *head, void *out, uint64_t size) {
    Answer answer = {.bytes = out, .left = size};
    TRY(byte_writer_check(head));
    (void)pthread_mutex_lock(&channel->calling);
    Error *error = call_locked(channel, call, head, (ProcessBytes){0}, &answer);
    (void)pthread_mutex_unlock(&channel->calling);
    if (!error && answer.left > 0)
        return process_channel_reject(
            channel, error_make(ERROR_CORRUPT, __FILE__, __LINE__, "an answer that ends early"));
    return error;
}
