#pragma once
/* Writes the event log of a daemon's run: what its policy was told and answered, for
 * `layover simulate --replay`.
 *
 *     control thread -- record --> buffer -- a thread, once a second or when it is half full -->
 * FILE
 *
 * It harms no job: recording copies some tens of bytes, nobody waits for the disk, nothing is
 * synced. A log that cannot be kept (the disk is full or too slow, the limit is reached) ends with
 * its last whole record; that is said once, and the events that are not in it are counted.
 *
 * A policy's decisions depend on everything it was told before, so a log is of one whole run: it
 * begins when the run begins and cannot go on in another file. The logs of runs before are kept as
 * FILE.1, FILE.2, … */
#include "scheduler/node/metrics.h"
#include "scheduler/policy/policy_event.h"

enum { EVENT_RECORDER_KEPT = 4 };                       /* logs of runs before */
#define EVENT_RECORDER_SIZE_DEFAULT ((uint64_t)1 << 30) /* bytes */
#define EVENT_RECORDER_SIZE_MIN ((uint64_t)16 << 10)    /* bytes */
#define EVENT_RECORDER_BUFFER_MAX ((size_t)16 << 20)    /* bytes that wait for the disk */

typedef struct EventRecorder EventRecorder;

typedef struct EventRecorderOptions {
    const char *path;  /* borrowed for the call */
    uint64_t size_max; /* of the file, in bytes */
    Metrics *metrics;  /* borrowed; NULL: nobody counts */
    /* Why the log ends early. Called once at most, on the recorder's thread. */
    void (*warn)(void *context, const char *text);
    void *context;
} EventRecorderOptions;

/* Moves the log of the run before out of the way and begins a new one.
 * Errors: REFUSED what is there is no event log; IO; EXHAUSTED. */
MUST_CHECK Error *event_recorder_open(
    const EventRecorderOptions *options, EventRecorder **out_recorder);
/* digest: of all actions up to and with this event's. Threads: one. */
void event_recorder_record(EventRecorder *recorder, const PolicyEvent *event, uint64_t digest);
/* Writes what waits, and the end. */
void event_recorder_close(EventRecorder *recorder);
DEFINE_OWN(EventRecorder, event_recorder_close);
