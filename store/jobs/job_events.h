#pragma once
/* The events of a job, in order. Each event commits together with the change that it reports.
 * scheduler/control and store/jobs add events; scheduler/service lists them for watchers.
 * Threads: any. */
#include <stddef.h>
#include <stdint.h>

#include "store/database/job_id.h"
#include "store/jobs/job_state.h"
#include "store/database/store.h"

typedef enum JobEventKind {
    JOB_EVENT_NONE = 0,
#define JOB_EVENT(name, number, text, meaning) JOB_EVENT_##name = number,
#include "store/jobs/job_event_kinds.def"
#undef JOB_EVENT
    JOB_EVENT_COUNT
} JobEventKind;

enum {
    JOB_WHY_SIZE = 512,         /* with the terminating NUL; longer reasons are cut */
    JOB_EVENTS_READ_MAX = 1000, /* upper bound on the events of one call */
    JOB_EVENTS_NEWEST = 1000, /* a job keeps its newest events up to this number, and its first 8 */
    JOB_EVENTS_NEWEST_MIN = 8, /* the same limit while the tenant is beyond store_bytes */
};

typedef struct JobEvent {
    int64_t sequence; /* 1, 2, … */
    JobEventKind kind;
    double time; /* seconds since 1970 */
    JobState state;
    /* The outputs that became visible with this event: output_begin <= sequence < output_end. */
    int64_t output_begin, output_end;
    char why[JOB_WHY_SIZE];
} JobEvent;

typedef struct JobEventList {
    JobEvent *items;
    size_t count;
} JobEventList;

void job_event_list_release(JobEventList *list);
DEFINE_OWN(JobEventList, job_event_list_release);

/* The kind's name, such as "output". kind: not NONE. */
const char *job_event_kind_name(JobEventKind kind);

/* Lists events with a sequence greater than since, at most JOB_EVENTS_READ_MAX. Errors: NOT_FOUND.
 */
MUST_CHECK Error *job_events_list(
    Store *store, TenantId tenant, JobId job, int64_t since, JobEventList **out_list);
