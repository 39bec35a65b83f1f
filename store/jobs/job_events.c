#include "store/jobs/job_events_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "store/database/row_costs.h"
#include "store/accounts/tenants_internal.h"

/* A trigger, statements and a step of the schema have these numbers. */
static_assert(JOB_EVENT_OUTPUT == 2 && JOB_EVENT_STATE == 1 && JOB_EVENT_DEADLINE == 10 &&
                  JOB_EVENT_LEFT_OUT == 11,
    "kinds of events are stored");

enum { LEFT_OUT_AT_ONCE_MAX = 1024, JOB_EVENTS_BOUND_EVERY = 64 };

static const char *const kind_names[JOB_EVENT_COUNT] = {
#define JOB_EVENT(name, number, text, meaning) [number] = text,
#include "store/jobs/job_event_kinds.def"
#undef JOB_EVENT
};

const char *job_event_kind_name(JobEventKind kind) {
    assert(kind > JOB_EVENT_NONE && kind < JOB_EVENT_COUNT);
    return kind_names[kind];
}

void job_event_list_release(JobEventList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

/* Copies as much of the text as fits, without cutting a character. */
static void cut_why(const char *why, char out[JOB_WHY_SIZE]) {
    size_t size = why ? strlen(why) : 0;
    if (size >= JOB_WHY_SIZE) {
        size = JOB_WHY_SIZE - 1;
        while (size > 0 && ((unsigned char)why[size] & 0xc0) == 0x80) size--;
    }
    if (size > 0) memcpy(out, why, size);
    out[size] = 0;
}

static Error *insert(Connection *catalog, int64_t job, const JobEvent *event) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_EVENT);
    query_bind_i64(&query, 1, job);
    query_bind_i64(&query, 2, event->sequence);
    query_bind_i64(&query, 3, event->kind);
    query_bind_f64(&query, 4, clock_real().calendar_s(clock_real().self));
    query_bind_i64(&query, 5, event->state);
    query_bind_i64(&query, 6, event->output_begin);
    query_bind_i64(&query, 7, event->output_end);
    query_bind_text(&query, 8, event->why);
    return query_run(&query);
}

/* ---- leaving events out ---- */

static Query start_on(Connection *catalog, StatementId id, int64_t job, int64_t last) {
    Query query = query_start(catalog, id);
    query_bind_i64(&query, 1, job);
    query_bind_i64(&query, 2, last);
    return query;
}

/* Finds the row that replaces the events up to last, and the job's state at that event. */
static Error *find_place(Connection *catalog, int64_t job, int64_t last, bool *out_found,
    int64_t *out_place, JobState *out_state) {
    int64_t state;
    Query OWN_QUERY(query) = start_on(catalog, STATEMENT_FIND_EVENTS_TO_LEAVE_OUT, job, last);
    query_bind_i64(&query, 3, LEFT_OUT_AT_ONCE_MAX);
    TRY(query_next(&query, out_found));
    *out_found = *out_found && !query_is_null(&query, 0);
    if (!*out_found) return NULL;
    TRY(query_i64(&query, 0, out_place));
    state = query_any_i64(&query, 1, JOB_STATE_QUEUED);
    *out_state = job_state_exists(state) ? (JobState)state : JOB_STATE_QUEUED;
    return NULL;
}

static Error *count_left_out(Connection *catalog, int64_t job, int64_t place, int64_t *out_count) {
    bool found;
    Query OWN_QUERY(query) = start_on(catalog, STATEMENT_COUNT_LEFT_OUT_EVENTS, job, place);
    return query_find_i64(&query, &found, out_count);
}

/* Replaces the events up to last, except for the first JOB_EVENTS_PAID, by one row. */
static Error *leave_out(Connection *catalog, int64_t job, int64_t last) {
    JobEvent event = {.kind = JOB_EVENT_LEFT_OUT};
    int64_t count;
    bool found;
    TRY(find_place(catalog, job, last, &found, &event.sequence, &event.state));
    if (!found) return NULL;
    {
        Query OWN_QUERY(query) = start_on(catalog, STATEMENT_LEAVE_EVENTS_OUT, job, event.sequence);
        TRY(query_run(&query));
    }
    TRY(count_left_out(catalog, job, event.sequence, &count));
    (void)snprintf(event.why, sizeof event.why, "%lld events are left out here", (long long)count);
    return insert(catalog, job, &event);
}

/* Events are never refused, since a job must be able to end. So their number is limited. Above the
 * tenant's quota, events take only the room that their job has paid for, and a few rows more. */
static Error *bound(Connection *catalog, const Job *job) {
    QuotaId quota;
    int64_t excess, last = job->event_count - JOB_EVENTS_NEWEST_MIN;
    if (last <= JOB_EVENTS_PAID) return NULL;
    TRY(tenants_find_kept(catalog, job->tenant, &quota, &excess));
    if (quota != QUOTA_STORE_BYTES) {
        if (job->event_count % JOB_EVENTS_BOUND_EVERY != 0) return NULL;
        last = job->event_count - JOB_EVENTS_NEWEST;
    }
    return last > JOB_EVENTS_PAID + 1 ? leave_out(catalog, job->row, last) : NULL;
}

Error *job_events_add(Connection *catalog, Job *inout_job, JobEventKind kind, int64_t output_begin,
    int64_t output_end, const char *why) {
    JobEvent event = {.sequence = ++inout_job->event_count,
        .kind = kind,
        .state = inout_job->state,
        .output_begin = output_begin,
        .output_end = output_end};
    cut_why(why, event.why);
    TRY(insert(catalog, inout_job->row, &event));
    return bound(catalog, inout_job);
}

static Error *read_event(const Query *query, JobEvent *out) {
    int64_t kind, state;
    TRY(query_i64(query, 0, &out->sequence));
    TRY(query_i64(query, 1, &kind));
    TRY(query_f64(query, 2, &out->time));
    TRY(query_i64(query, 3, &state));
    TRY(query_i64(query, 4, &out->output_begin));
    TRY(query_i64(query, 5, &out->output_end));
    TRY(query_text(query, 6, out->why, sizeof out->why));
    if (kind <= JOB_EVENT_NONE || kind >= JOB_EVENT_COUNT || !job_state_exists(state))
        FAIL(CORRUPT, "catalog.db: an event of an unknown kind; run fsck");
    out->kind = (JobEventKind)kind;
    out->state = (JobState)state;
    return NULL;
}

Error *job_events_list(
    Store *store, TenantId tenant, JobId job, int64_t since, JobEventList **out_list) {
    OWN(JobEventList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Job row;
    TRY(job_row_read(catalog, tenant, job, &row));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_EVENTS);
    query_bind_i64(&query, 1, row.row);
    query_bind_i64(&query, 2, since);
    query_bind_i64(&query, 3, JOB_EVENTS_READ_MAX);
    size_t capacity = 0;
    for (;;) {
        bool found;
        TRY(query_next(&query, &found));
        if (!found) break;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        TRY(read_event(&query, &list->items[list->count]));
        list->count++;
    }
    *out_list = TAKE(list);
    return NULL;
}
