#include "kernels/sim/sim_stream.h"

#include <pthread.h>
#include <stdio.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/refcount.h"
#include "base/spin.h"
#include "base/thread.h"
#include "kernels/device/float_environment.h"

/* Two threads, so that a kernel and a copy run at the same time. More threads start only while all
 * of them are held by kernels that pause or take long. */
enum { THREAD_COUNT = 2, THREADS_MAX = 32 };

struct SimEngine {
    uint64_t lag_ns, spin_ns;
    pthread_mutex_t mutex; /* guards everything here, in the streams and in the events */
    pthread_cond_t queued; /* a command may be ready */
    pthread_cond_t done;   /* a command has run */
    pthread_t threads[THREADS_MAX];
    uint32_t thread_count, busy_count; /* busy_count: threads that run a command */
    SimStream *streams;                /* that have commands; served in turn */
    atomic_bool pending;               /* `streams` is not empty */
    bool spinning;                     /* a thread waits without sleeping */
    bool ending;
};

struct SimStream {
    SimEngine *engine;
    SimCommand *first, **last;
    bool running, listed;
    atomic_bool idle; /* no command is queued or runs */
    Error *error;     /* of a failed command; kept until a caller waits for the stream */
    SimStream *next;
};

struct SimEvent {
    Refcount refcount; /* commands hold references, too */
    SimEngine *engine;
    uint64_t recorded, reached; /* number of recordings made, and of those reached */
    uint64_t time_ns;
};

/* A command that records an event or waits for one. */
typedef struct EventCommand {
    SimCommand base;
    SimEvent *event;
    uint64_t number; /* the recording's number */
} EventCommand;

Error *sim_engine_create(uint64_t lag_ns, SimEngine **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(SimEngine), &memory));
    SimEngine *engine = memory;
    engine->lag_ns = lag_ns;
    engine->spin_ns = spin_limit_ns();
    (void)pthread_mutex_init(&engine->mutex, NULL);
    thread_condition_init(&engine->queued);
    (void)pthread_cond_init(&engine->done, NULL);
    *out = engine;
    return NULL;
}

void sim_engine_release(SimEngine *engine) {
    if (!engine) return;
    (void)pthread_mutex_lock(&engine->mutex);
    engine->ending = true;
    (void)pthread_cond_broadcast(&engine->queued);
    (void)pthread_mutex_unlock(&engine->mutex);
    for (uint32_t i = 0; i < engine->thread_count; i++)
        (void)pthread_join(engine->threads[i], NULL);
    (void)pthread_cond_destroy(&engine->queued);
    (void)pthread_cond_destroy(&engine->done);
    (void)pthread_mutex_destroy(&engine->mutex);
    memory_free(engine);
}

/* ---- the engine's threads; under the mutex unless a comment says otherwise ---- */

static bool waits_for_event(const SimCommand *command);

/* The first stream, in turn, whose next command may run now. out_due_ns: the earliest time at which
 * another stream's command may run; 0 if all others wait for other commands. */
static SimStream *find_ready(SimEngine *engine, uint64_t now_ns, uint64_t *out_due_ns) {
    *out_due_ns = 0;
    for (SimStream *stream = engine->streams; stream; stream = stream->next) {
        const SimCommand *command = stream->first;
        if (stream->running || !command || waits_for_event(command)) continue;
        if (command->due_ns <= now_ns) return stream;
        if (*out_due_ns == 0 || command->due_ns < *out_due_ns) *out_due_ns = command->due_ns;
    }
    return NULL;
}

static void list(SimEngine *engine, SimStream *stream) {
    SimStream **link = &engine->streams;
    while (*link) link = &(*link)->next;
    *link = stream;
    stream->next = NULL;
    stream->listed = true;
    atomic_store_explicit(&engine->pending, true, memory_order_release);
}

static void unlist(SimEngine *engine, SimStream *stream) {
    SimStream **link = &engine->streams;
    while (*link != stream) link = &(*link)->next;
    *link = stream->next;
    stream->listed = false;
    if (!engine->streams) atomic_store_explicit(&engine->pending, false, memory_order_relaxed);
}

static void run_next(SimEngine *engine, SimStream *stream) {
    SimCommand *command = stream->first;
    Error *error = NULL;
    stream->first = command->next;
    if (!stream->first) stream->last = &stream->first;
    stream->running = true;
    unlist(engine, stream); /* the stream goes to the end of the list */
    if (stream->first) list(engine, stream);
    bool skipped = stream->error && !command->always;
    engine->busy_count++;
    (void)pthread_mutex_unlock(&engine->mutex);
    if (!skipped) error = command->run(command);
    command->release(command);
    (void)pthread_mutex_lock(&engine->mutex);
    engine->busy_count--;
    stream->running = false;
    if (stream->error)
        error_free(error);
    else
        stream->error = error;
    if (!stream->first) atomic_store_explicit(&stream->idle, true, memory_order_release);
    (void)pthread_cond_broadcast(&engine->done);
}

static void wait_for_command(SimEngine *engine, uint64_t due_ns) {
    if (due_ns) {
        const struct timespec due = clock_timespec(due_ns);
        (void)pthread_cond_timedwait(&engine->queued, &engine->mutex, &due);
        return;
    }
    if (!engine->streams && !engine->spinning) { /* the next command often follows at once */
        engine->spinning = true;
        (void)pthread_mutex_unlock(&engine->mutex);
        (void)spin_until(&engine->pending, engine->spin_ns);
        (void)pthread_mutex_lock(&engine->mutex);
        engine->spinning = false;
        if (engine->streams || engine->ending) return;
    }
    (void)pthread_cond_wait(&engine->queued, &engine->mutex);
}

static void *thread_main(void *argument) {
    SimEngine *engine = argument;
    FloatEnvironment environment;
    float_environment_enter(&environment);
    (void)pthread_mutex_lock(&engine->mutex);
    while (!engine->ending) {
        uint64_t due_ns;
        SimStream *stream = find_ready(engine, clock_now_ns(clock_real()), &due_ns);
        if (stream)
            run_next(engine, stream);
        else
            wait_for_command(engine, due_ns);
    }
    (void)pthread_mutex_unlock(&engine->mutex);
    float_environment_leave(&environment);
    return NULL;
}

/* Only the first thread is required; the second runs commands at the same time. */
static Error *start_threads(SimEngine *engine) {
    while (engine->thread_count < THREAD_COUNT ||
           (engine->busy_count == engine->thread_count && engine->thread_count < THREADS_MAX)) {
        pthread_t *thread = &engine->threads[engine->thread_count];
        if (!thread_start(thread, "sim-engine", thread_main, engine)) {
            if (engine->thread_count > 0) return NULL;
            FAIL(OUT_OF_MEMORY, "the system gives no more threads");
        }
        engine->thread_count++;
    }
    return NULL;
}

/* ---- streams ---- */

Error *sim_stream_create(SimEngine *engine, SimStream **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(SimStream), &memory));
    SimStream *stream = memory;
    stream->engine = engine;
    stream->last = &stream->first;
    atomic_init(&stream->idle, true);
    *out = stream;
    return NULL;
}

void sim_stream_destroy(SimStream *stream) {
    error_free(sim_stream_synchronize(stream));
    memory_free(stream);
}

Error *sim_stream_push(SimStream *stream, SimCommand *owned_command) {
    SimEngine *engine = stream->engine;
    (void)pthread_mutex_lock(&engine->mutex);
    Error *error = start_threads(engine);
    if (error) {
        (void)pthread_mutex_unlock(&engine->mutex);
        owned_command->release(owned_command);
        return error;
    }
    owned_command->next = NULL;
    owned_command->due_ns = engine->lag_ns ? clock_now_ns(clock_real()) + engine->lag_ns : 0;
    *stream->last = owned_command;
    stream->last = &owned_command->next;
    atomic_store_explicit(&stream->idle, false, memory_order_relaxed);
    if (!stream->listed) list(engine, stream);
    /* otherwise the thread that runs the stream's earlier commands takes this one, too */
    if (stream->first == owned_command && !stream->running)
        (void)pthread_cond_signal(&engine->queued);
    (void)pthread_mutex_unlock(&engine->mutex);
    return NULL;
}

bool sim_stream_is_idle(const SimStream *stream) {
    return atomic_load_explicit(&stream->idle, memory_order_acquire);
}

void sim_stream_wait(SimStream *stream) {
    SimEngine *engine = stream->engine;
    (void)spin_until(&stream->idle, engine->spin_ns);
    (void)pthread_mutex_lock(&engine->mutex);
    while (stream->first || stream->running) (void)pthread_cond_wait(&engine->done, &engine->mutex);
    (void)pthread_mutex_unlock(&engine->mutex);
}

Error *sim_stream_synchronize(SimStream *stream) {
    SimEngine *engine = stream->engine;
    sim_stream_wait(stream);
    (void)pthread_mutex_lock(&engine->mutex);
    Error *error = stream->error;
    stream->error = NULL;
    (void)pthread_mutex_unlock(&engine->mutex);
    return error;
}

/* ---- events ---- */

Error *sim_event_create(SimEngine *engine, SimEvent **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(SimEvent), &memory));
    SimEvent *event = memory;
    refcount_init(&event->refcount);
    event->engine = engine;
    *out = event;
    return NULL;
}

void sim_event_destroy(SimEvent *event) {
    if (event && refcount_release(&event->refcount)) memory_free(event);
}

static Error *reach(SimCommand *command) {
    EventCommand *self = (EventCommand *)command;
    SimEvent *event = self->event;
    (void)pthread_mutex_lock(&event->engine->mutex);
    if (event->reached < self->number) event->reached = self->number;
    event->time_ns = clock_now_ns(clock_real());
    (void)pthread_mutex_unlock(&event->engine->mutex);
    return NULL;
}

/* Does nothing: find_ready holds the command back until its event is reached. */
static Error *pass(SimCommand *command) {
    (void)command;
    return NULL;
}

static bool waits_for_event(const SimCommand *command) {
    if (command->run != pass) return false;
    const EventCommand *self = (const EventCommand *)command;
    return self->event->reached < self->number;
}

static void release_event_command(SimCommand *command) {
    sim_event_destroy(((EventCommand *)command)->event);
    memory_free(command);
}

static Error *push_event(
    SimEvent *event, SimStream *stream, Error *(*run)(SimCommand *command), uint64_t number) {
    void *memory;
    TRY(memory_alloc(1, sizeof(EventCommand), &memory));
    EventCommand *command = memory;
    *command = (EventCommand){{run, release_event_command, .always = true}, event, number};
    refcount_retain(&event->refcount);
    return sim_stream_push(stream, &command->base);
}

/* Adds `more` to the number of recordings, and returns the number. */
static uint64_t number_of(SimEvent *event, uint64_t more) {
    (void)pthread_mutex_lock(&event->engine->mutex);
    uint64_t number = event->recorded += more;
    (void)pthread_mutex_unlock(&event->engine->mutex);
    return number;
}

Error *sim_event_record(SimEvent *event, SimStream *stream) {
    Error *error = push_event(event, stream, reach, number_of(event, 1));
    /* the recording does not exist, so a wait for its number would never end */
    if (error) (void)number_of(event, UINT64_MAX);
    return error;
}

Error *sim_event_wait(SimEvent *event, SimStream *stream) {
    return push_event(event, stream, pass, number_of(event, 0));
}

void sim_event_synchronize(SimEvent *event) {
    (void)pthread_mutex_lock(&event->engine->mutex);
    uint64_t number = event->recorded;
    while (event->reached < number)
        (void)pthread_cond_wait(&event->engine->done, &event->engine->mutex);
    (void)pthread_mutex_unlock(&event->engine->mutex);
}

uint64_t sim_event_time_ns(SimEvent *event) {
    sim_event_synchronize(event);
    (void)pthread_mutex_lock(&event->engine->mutex);
    uint64_t time_ns = event->time_ns;
    (void)pthread_mutex_unlock(&event->engine->mutex);
    return time_ns;
}
