#include "store/job_events.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "store/jobs_internal.h"

static const char *const kind_names[JOB_EVENT_COUNT] = {
#define JOB_EVENT(name, number, text, meaning) [number] = text,
#include "store/job_event_kinds.def"
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

/* As much of it as fits, without half a letter at the end. */
static void cut_why(const char *why, char out[JOB_WHY_SIZE]) {
    size_t size = why ? strlen(why) : 0;
    if (size >= JOB_WHY_SIZE) {
        size = JOB_WHY_SIZE - 1;
        while (size > 0 && ((unsigned char)why[size] & 0xc0) == 0x80) size--;
    }
    if (size > 0) memcpy(out, why, size);
    out[size] = 0;
}

Error *job_events_add(Connection *catalog, Job *inout_job, JobEventKind kind, int64_t output_begin,
    int64_t output_end, const char *why) {
    char text[JOB_WHY_SIZE];
    cut_why(why, text);
    inout_job->event_count++;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_EVENT);
    query_bind_i64(&query, 1, inout_job->row);
    query_bind_i64(&query, 2, inout_job->event_count);
    query_bind_i64(&query, 3, kind);
    query_bind_f64(&query, 4, clock_real().calendar_s(clock_real().self));
    query_bind_i64(&query, 5, inout_job->state);
    query_bind_i64(&query, 6, output_begin);
    query_bind_i64(&query, 7, output_end);
    query_bind_text(&query, 8, text);
    return query_run(&query);
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
    TRY(jobs_read(catalog, tenant, job, &row));
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
