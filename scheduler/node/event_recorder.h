#pragma once
/* Writes the event log of a daemon's run, all events and actions of its policy, for `layover
 * simulate --replay`. Recorded to by the control thread; a thread of its own writes the file.
 *
 *     control thread -- record --> buffer -- a thread, once a second or when it is half full -->
 *     FILE
 *
 * Recording harms no job: it copies some tens of bytes, no thread waits for the disk, nothing is
 * synced. If the log cannot be kept (the disk is full or too slow, the limit is reached) it ends
 * with its last whole record; one warning says so, and the events that are missing are counted.
 *
 * A policy's decisions depend on all earlier events, so a log is of one whole run: it begins when
 * the run begins and cannot continue in another file. The logs of earlier runs are kept as FILE.1,
 * FILE.2, … */
#include "scheduler/node/metrics.h"
#include "scheduler/policy/policy_event.h"

enum { EVENT_RECORDER_KEPT = 4 };                       /* logs of earlier runs */
#define EVENT_RECORDER_SIZE_DEFAULT ((uint64_t)1 << 30) /* bytes */
#define EVENT_RECORDER_SIZE_MIN ((uint64_t)16 << 10)    /* bytes */
#define EVENT_RECORDER_BUFFER_MAX ((size_t)16 << 20)    /* bytes that wait for the disk */

typedef struct EventRecorder EventRecorder;

typedef struct EventRecorderOptions {
    const char *path;  /* borrowed for the call */
    uint64_t size_max; /* of the file, in bytes */
    Metrics *metrics;  /* borrowed; NULL: no counting */
    /* Called with the reason when the log ends early, at most once, on the recorder's thread. */
    void (*warn)(void *context, const char *text);
    void *context;
} EventRecorderOptions;

/* Renames the log of the run before and begins a new one. Errors: REFUSED the file there is no
 * event log; IO; EXHAUSTED. */
MUST_CHECK Error *event_recorder_open(
    const EventRecorderOptions *options, EventRecorder **out_recorder);
/* digest: of all actions up to and with this event's. Threads: one. */
void event_recorder_record(EventRecorder *recorder, const PolicyEvent *event, uint64_t digest);
/* Writes the buffered records and the end. */
void event_recorder_close(EventRecorder *recorder);
DEFINE_OWN(EventRecorder, event_recorder_close);
