#pragma once
/* What happened to a job, in order: each row commits with the change that it tells of. */
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
    JOB_EVENTS_READ_MAX = 1000, /* at once */
    JOB_EVENTS_NEWEST = 1000,   /* of a job's events always stay, and its first 8 */
    JOB_EVENTS_NEWEST_MIN = 8,  /* where its tenant is beyond store_bytes */
};

typedef struct JobEvent {
    int64_t sequence; /* 1, 2, … */
    JobEventKind kind;
    double time; /* seconds since 1970 */
    JobState state;
    /* Outputs that became visible with it: output_begin <= sequence < output_end. */
    int64_t output_begin, output_end;
    char why[JOB_WHY_SIZE];
} JobEvent;

typedef struct JobEventList {
    JobEvent *items;
    size_t count;
} JobEventList;

void job_event_list_release(JobEventList *list);
DEFINE_OWN(JobEventList, job_event_list_release);

/* "output". kind: not NONE. */
const char *job_event_kind_name(JobEventKind kind);

/* Events with a sequence greater than since, up to JOB_EVENTS_READ_MAX. Errors: NOT_FOUND. */
MUST_CHECK Error *job_events_list(
    Store *store, TenantId tenant, JobId job, int64_t since, JobEventList **out_list);
