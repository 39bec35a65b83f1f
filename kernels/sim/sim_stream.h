#pragma once
/* The queues of a sim device, run by threads of its own: commands of one stream in order, those of
 * two streams at the same time, so that work without an ordering event really runs in any order.
 * Called by sim_device.c, sim_copy.c and sim_plan.c.
 *
 * When a command fails, the commands after it are skipped, until a caller waits for the stream and
 * gets the error. Threads: any. */
#include "kernels/device/device.h"
#include "kernels/sim/sim_options.h"

typedef struct SimEngine SimEngine;
typedef struct SimStream SimStream;
typedef struct SimEvent SimEvent;

/* Queued work; the first member of the object that the work is about. */
typedef struct SimCommand {
    Error *(*run)(struct SimCommand *command); /* on one of the engine's threads */
    void (*release)(struct SimCommand *command);
    bool always; /* runs also after a failed command: frees memory or another resource */
    struct SimCommand *next;
    uint64_t due_ns; /* set by the queue: the earliest time to run */
} SimCommand;

/* lag_ns: every command waits at least so long, so that a missing wait shows. The threads start
 * with the first command. */
MUST_CHECK Error *sim_engine_create(uint64_t lag_ns, SimEngine **out);
void sim_engine_release(SimEngine *engine); /* no stream is left */
DEFINE_OWN(SimEngine, sim_engine_release);

MUST_CHECK Error *sim_stream_create(SimEngine *engine, SimStream **out);
/* Runs the queued commands; an error that was not reported is lost. */
void sim_stream_destroy(SimStream *stream);
/* Queues a command, which is released when it has run. Errors: OUT_OF_MEMORY no thread; the command
 * is then released. */
MUST_CHECK Error *sim_stream_push(SimStream *stream, SimCommand *owned_command);
/* Whether no command is queued or runs. */
bool sim_stream_is_idle(const SimStream *stream);
/* Waits until no command is queued or runs. */
void sim_stream_wait(SimStream *stream);
/* Also waits. Errors: the first error of the commands since the last call. */
MUST_CHECK Error *sim_stream_synchronize(SimStream *stream);

MUST_CHECK Error *sim_event_create(SimEngine *engine, SimEvent **out);
void sim_event_destroy(SimEvent *event);
MUST_CHECK Error *sim_event_record(SimEvent *event, SimStream *stream);
MUST_CHECK Error *sim_event_wait(SimEvent *event, SimStream *stream);
void sim_event_synchronize(SimEvent *event);
/* When the event was last reached, on the monotonic clock. */
uint64_t sim_event_time_ns(SimEvent *event);
