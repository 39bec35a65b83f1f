#pragma once
/* The daemon's end of one channel to a worker process: posts commands, waits for answers.
 *
 * Threads: any. Calls on one channel wait for each other, posting only for the moment in which a
 * record is written, and for room when the worker is a ring behind.
 * Errors: DEVICE_LOST the worker is gone, or answers what cannot be: then it is ended. */
#include <pthread.h>

#include "base/bytes.h"
#include "kernels/process/process_memory.h"
#include "kernels/process/process_wire.h"

/* What all channels of a worker share. */
typedef struct ProcessPeer {
    const char *name; /* the device's */
    atomic_bool gone;
    /* Ends the worker, which was found to be no good; sets gone before it returns. */
    void (*give_up)(struct ProcessPeer *peer, const char *why);
    /* Its socket is closed: waits until it has ended, or gives it up when it does not end. */
    void (*hung_up)(struct ProcessPeer *peer);
    /* DEVICE_LOST, saying why. */
    Error *(*describe)(struct ProcessPeer *peer);
    /* The worker looks at the channel's stop. */
    void (*nudge)(struct ProcessPeer *peer, uint32_t channel);
} ProcessPeer;

typedef struct ProcessChannel {
    ProcessPeer *peer;
    uint32_t index;
    _Atomic uint64_t lending; /* how often it was given to a stream or a call */
    bool open;                /* the worker serves it; its borrower's, as is the next */
    bool for_stream;
    _Atomic uint32_t *stop;     /* shared: what the worker's kernels of this channel are to do */
    _Atomic uint32_t stop_told; /* what was written there */
    pthread_mutex_t posting;    /* guards commands; locked inside calling */
    Ring commands;
    pthread_mutex_t calling; /* guards what follows, and the pieces that go before a call */
    Ring answers;
} ProcessChannel;

typedef struct ProcessBytes {
    const void *data;
    size_t size;
} ProcessBytes;

void process_channel_init(ProcessChannel *channel, ProcessPeer *peer, ProcessChannelShared *shared,
    uint32_t index, uint64_t spin_ns);
void process_channel_deinit(ProcessChannel *channel);
/* The worker's kernels of this channel are to do what the stop of this thread's scope wants, which
 * is looked at again whenever this thread waits for the worker. No scope: nothing stops them. */
void process_channel_pass_stop(ProcessChannel *channel);

/* Head and body become one record; together at most RING_PAYLOAD_MAX. */
MUST_CHECK Error *process_channel_post(
    ProcessChannel *channel, ProcessCall call, const ByteWriter *head, ProcessBytes body);
/* The same with an answer. body: goes before the call in as many pieces as it takes. A head that is
 * too large for one record goes the same way, then there must be no body. out_answer: appended to;
 * NULL: there is none. Errors: also the worker's. */
MUST_CHECK Error *process_channel_call(ProcessChannel *channel, ProcessCall call,
    const ByteWriter *head, ProcessBytes body, ByteWriter *out_answer);
/* An answer of a size that is known. Errors: also the worker's. */
MUST_CHECK Error *process_channel_read(
    ProcessChannel *channel, ProcessCall call, const ByteWriter *head, void *out, uint64_t size);
/* What was answered makes no sense: ends the worker. Consumes the error, answers DEVICE_LOST. */
MUST_CHECK Error *process_channel_reject(ProcessChannel *channel, Error *owned_error);
