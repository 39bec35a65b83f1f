#pragma once
/* The daemon's end of one channel to a worker process: posts commands, waits for answers. Called by
 * the device's functions (process_device.c, process_plan.c, process_stream.c, process_kernels.c).
 *
 * Threads: any. Calls on one channel wait for each other; posting waits only while a record is
 * written, and for room when the worker is a whole ring behind. Errors: DEVICE_LOST the worker has
 * ended, or its answers are invalid, upon which it is killed. */
#include <pthread.h>

#include "base/bytes.h"
#include "kernels/process/process_memory.h"
#include "kernels/process/process_wire.h"

/* The state that all channels of a worker share. */
typedef struct ProcessPeer {
    const char *name; /* the device's */
    atomic_bool gone;
    /* Ends a worker that behaves wrongly; sets gone before it returns. */
    void (*give_up)(struct ProcessPeer *peer, const char *why);
    /* Called when the worker's socket is closed: waits until the worker has ended, or kills it. */
    void (*hung_up)(struct ProcessPeer *peer);
    /* Makes the error DEVICE_LOST with the reason. */
    Error *(*describe)(struct ProcessPeer *peer);
    /* Makes the worker read the channel's stop. */
    void (*nudge)(struct ProcessPeer *peer, uint32_t channel);
} ProcessPeer;

typedef struct ProcessChannel {
    ProcessPeer *peer;
    uint32_t index;
    _Atomic uint64_t lending; /* how often the channel was given to a stream or a call */
    bool open;                /* the worker serves the channel; this and for_stream belong to the
                               * borrower */
    bool for_stream;
    _Atomic uint32_t *stop;     /* shared: the order to the worker's kernels of this channel */
    _Atomic uint32_t stop_told; /* the last value written to stop */
    pthread_mutex_t posting;    /* guards commands; locked inside calling */
    Ring commands;
    pthread_mutex_t calling; /* guards the members below, and the pieces that precede a call */
    Ring answers;
} ProcessChannel;

typedef struct ProcessBytes {
    const void *data;
    size_t size;
} ProcessBytes;

void process_channel_init(ProcessChannel *channel, ProcessPeer *peer, ProcessChannelShared *shared,
    uint32_t index, uint64_t spin_ns);
void process_channel_deinit(ProcessChannel *channel);
/* Passes the stop of this thread's scope on to the worker's kernels of this channel; the stop is
 * read again whenever this thread waits for the worker. Without a scope nothing stops them. */
void process_channel_pass_stop(ProcessChannel *channel);

/* Posts a record made of head and body, together at most RING_PAYLOAD_MAX. */
MUST_CHECK Error *process_channel_post(
    ProcessChannel *channel, ProcessCall call, const ByteWriter *head, ProcessBytes body);
/* Posts a record and waits for the answer. body: sent before the call in as many pieces as needed.
 * A head that is too large for one record is sent in the same way; then there must be no body.
 * out_answer: appended to; NULL: no answer expected. Errors: also the worker's. */
MUST_CHECK Error *process_channel_call(ProcessChannel *channel, ProcessCall call,
    const ByteWriter *head, ProcessBytes body, ByteWriter *out_answer);
/* Waits for an answer of known size. Errors: also the worker's. */
MUST_CHECK Error *process_channel_read(
    ProcessChannel *channel, ProcessCall call, const ByteWriter *head, void *out, uint64_t size);
/* Called for an invalid answer: ends the worker. Consumes the error, returns DEVICE_LOST. */
MUST_CHECK Error *process_channel_reject(ProcessChannel *channel, Error *owned_error);
