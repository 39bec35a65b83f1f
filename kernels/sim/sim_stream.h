#pragma once
/* The queues of a sim device, run by threads of its own: commands of one stream one after the
 * other, those of two at the same time, so that work which nothing orders really is in no order.
 *
 * A command that fails takes those behind it along, until somebody waits for the stream and is told
 * why. Threads: any. */
#include "kernels/device/device.h"
#include "kernels/sim/sim_options.h"

typedef struct SimEngine SimEngine;
typedef struct SimStream SimStream;
typedef struct SimEvent SimEvent;

/* Queued work, embedded as the first member of what it works on. */
typedef struct SimCommand {
    Error *(*run)(struct SimCommand *command); /* on one of the engine's threads */
    void (*release)(struct SimCommand *command);
    bool always; /* runs also behind a command that failed: what gives something back */
    struct SimCommand *next;
    uint64_t due_ns; /* set by the queue: not before */
} SimCommand;

/* lag_ns: every command waits at least so long, so that a missing wait shows. The threads begin
 * with the first command. */
MUST_CHECK Error *sim_engine_create(uint64_t lag_ns, SimEngine **out);
void sim_engine_release(SimEngine *engine); /* no stream is left */
DEFINE_OWN(SimEngine, sim_engine_release);

MUST_CHECK Error *sim_stream_create(SimEngine *engine, SimStream **out);
/* Runs what is queued; what was not told of it is lost. */
void sim_stream_destroy(SimStream *stream);
/* The command is released when it has run. Errors: OUT_OF_MEMORY no thread; then it is released. */
MUST_CHECK Error *sim_stream_push(SimStream *stream, SimCommand *owned_command);
/* Nothing is queued or runs. */
bool sim_stream_is_idle(const SimStream *stream);
/* Until nothing is. */
void sim_stream_wait(SimStream *stream);
/* The same. Errors: the first of the commands since the last call. */
MUST_CHECK Error *sim_stream_synchronize(SimStream *stream);

MUST_CHECK Error *sim_event_create(SimEngine *engine, SimEvent **out);
void sim_event_destroy(SimEvent *event);
MUST_CHECK Error *sim_event_record(SimEvent *event, SimStream *stream);
MUST_CHECK Error *sim_event_wait(SimEvent *event, SimStream *stream);
void sim_event_synchronize(SimEvent *event);
/* When it was reached last, on the monotonic clock. */
uint64_t sim_event_time_ns(SimEvent *event);
