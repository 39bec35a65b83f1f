#include "kernels/process/process_lending.h"

#include <sys/socket.h>

#include "base/allocator.h"

enum { FOR_CALLS = 16, STREAMS_MAX = PROCESS_CHANNELS_MAX - FOR_CALLS };

struct ProcessLending {
    ProcessPeer *peer;
    ProcessShared *shared;
    int socket;
    uint64_t spin_ns;
    pthread_mutex_t mutex; /* guards the members below, but not the channels' contents */
    pthread_cond_t returned;
    uint32_t stream_count;                          /* lent to streams */
    uint32_t made;                                  /* channels that exist */
    ProcessChannel *channels[PROCESS_CHANNELS_MAX]; /* `made` of them */
    uint32_t idle[PROCESS_CHANNELS_MAX];
    uint32_t idle_count;
};

Error *process_lending_create(
    ProcessPeer *peer, ProcessShared *shared, int socket, uint64_t spin_ns, ProcessLending **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ProcessLending), &memory));
    ProcessLending *lending = memory;
    lending->peer = peer;
    lending->shared = shared;
    lending->socket = socket;
    lending->spin_ns = spin_ns;
    (void)pthread_mutex_init(&lending->mutex, NULL);
    (void)pthread_cond_init(&lending->returned, NULL);
    *out = lending;
    return NULL;
}

void process_lending_release(ProcessLending *lending) {
    if (!lending) return;
    for (uint32_t i = 0; i < lending->made; i++) {
        process_channel_deinit(lending->channels[i]);
        memory_free(lending->channels[i]);
    }
    (void)pthread_cond_destroy(&lending->returned);
    (void)pthread_mutex_destroy(&lending->mutex);
    memory_free(lending);
}

/* Makes one more channel; called under the mutex. The worker may not serve the channel yet. */
static Error *make_channel(ProcessLending *lending, ProcessChannel **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ProcessChannel), &memory));
    uint32_t index = lending->made;
    ProcessChannel *channel = memory;
    process_channel_init(
        channel, lending->peer, &lending->shared->channels[index], index, lending->spin_ns);
    lending->channels[lending->made++] = channel;
    *out = channel;
    return NULL;
}

/* Opens the channel: the worker starts a thread for it, or answers that it cannot. */
static Error *open_channel(const ProcessLending *lending, ProcessChannel *channel) {
    if (channel->open) return NULL;
    ssize_t sent = send(lending->socket, &channel->index, sizeof channel->index, MSG_NOSIGNAL);
    if (sent != sizeof channel->index) {
        lending->peer->hung_up(lending->peer);
        return lending->peer->describe(lending->peer);
    }
    TRY(process_channel_call(channel, PROCESS_CALL_PING, NULL, (ProcessBytes){0}, NULL));
    channel->open = true;
    return NULL;
}

static Error *find_idle(ProcessLending *lending, bool for_stream, ProcessChannel **out) {
    if (for_stream && lending->stream_count == STREAMS_MAX)
        FAIL(EXHAUSTED, "%s: %d streams are in use, which is the limit of a worker process",
            lending->peer->name, STREAMS_MAX);
    while (lending->idle_count == 0 && lending->made == PROCESS_CHANNELS_MAX)
        (void)pthread_cond_wait(&lending->returned, &lending->mutex);
    if (lending->idle_count > 0)
        *out = lending->channels[lending->idle[--lending->idle_count]];
    else
        TRY(make_channel(lending, out));
    lending->stream_count += for_stream;
    return NULL;
}

Error *process_lending_borrow(ProcessLending *lending, bool for_stream, ProcessChannel **out) {
    ProcessChannel *channel = NULL;
    (void)pthread_mutex_lock(&lending->mutex);
    Error *error = find_idle(lending, for_stream, &channel);
    (void)pthread_mutex_unlock(&lending->mutex);
    TRY(error);
    channel->for_stream = for_stream;
    atomic_fetch_add(&channel->lending, 1);
    error = open_channel(lending, channel);
    if (error) {
        process_lending_return(lending, channel);
        return error_wrap(error, "%s", lending->peer->name);
    }
    *out = channel;
    return NULL;
}

void process_lending_return(ProcessLending *lending, ProcessChannel *channel) {
    (void)pthread_mutex_lock(&lending->mutex);
    lending->stream_count -= channel->for_stream;
    lending->idle[lending->idle_count++] = channel->index;
    (void)pthread_cond_signal(&lending->returned);
    (void)pthread_mutex_unlock(&lending->mutex);
}

void process_lending_wake(ProcessLending *lending) {
    (void)pthread_mutex_lock(&lending->mutex);
    for (uint32_t i = 0; i < lending->made; i++) {
        ring_wake(&lending->shared->channels[i].commands);
        ring_wake(&lending->shared->channels[i].answers);
    }
    (void)pthread_mutex_unlock(&lending->mutex);
}
