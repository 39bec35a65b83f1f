#include "store/jobs/arrivals.h"

#include <string.h>

#include "base/allocator.h"
#include "store/database/alive_time.h"
#include "store/jobs/jobs_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_row_internal.h"

/* A row of arrivals, with the columns of the tombstone that the job's row was before. */
typedef struct ArrivalRow {
    Arrival arrival;
    bool had_tombstone;
    JobState before_state;
    int64_t before_epoch;
    char before_migrating[JOB_NODE_NAME_SIZE];
} ArrivalRow;

void arrival_list_release(ArrivalList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

static Error *read_tombstone(const Query *query, ArrivalRow *out) {
    int64_t state;
    out->had_tombstone = !query_is_null(query, 9);
    if (!out->had_tombstone) return NULL;
    TRY(query_i64(query, 9, &state));
    if (state != JOB_STATE_MOVED && state != JOB_STATE_RELEASED)
        FAIL(CORRUPT, "catalog.db: an arrival in the place of no tombstone; run fsck");
    out->before_state = (JobState)state;
    TRY(query_i64(query, 10, &out->before_epoch));
    out->before_migrating[0] = 0;
    if (query_is_null(query, 11)) return NULL;
    return query_text(query, 11, out->before_migrating, sizeof out->before_migrating);
}

static Error *read_row(const Query *query, ArrivalRow *out) {
    Arrival *arrival = &out->arrival;
    int64_t progress, suspended;
    TRY(query_job_id(query, 0, &arrival->job));
    TRY(query_i64(query, 2, &arrival->tenant));
    TRY(query_size(query, 3, &arrival->source));
    TRY(query_i64(query, 4, &arrival->epoch));
    TRY(query_i64(query, 5, &arrival->attempt));
    TRY(query_i64(query, 6, &progress));
    TRY(query_i64(query, 7, &suspended));
    TRY(query_f64(query, 8, &arrival->touched));
    if (progress < ARRIVAL_IS_OFFERED || progress > ARRIVAL_IS_ADOPTED)
        FAIL(CORRUPT, "catalog.db: an arrival in an unknown state; run fsck");
    arrival->progress = (ArrivalProgress)progress;
    arrival->suspended = suspended != 0;
    return read_tombstone(query, out);
}

static Error *find(Connection *catalog, JobId id, bool *out_found, ArrivalRow *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_ARRIVAL);
    query_bind_job_id(&query, 1, id);
    TRY(query_next(&query, out_found));
    return *out_found ? read_row(&query, out) : NULL;
}

static Error *put(Connection *catalog, const ArrivalRow *row) {
    const Arrival *arrival = &row->arrival;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_PUT_ARRIVAL);
    query_bind_job_id(&query, 1, arrival->job);
    query_bind_i64(&query, 3, arrival->tenant);
    query_bind_i64(&query, 4, (int64_t)arrival->source);
    query_bind_i64(&query, 5, arrival->epoch);
    query_bind_i64(&query, 6, arrival->attempt);
    query_bind_i64(&query, 7, arrival->progress);
    query_bind_i64(&query, 8, arrival->suspended);
    if (row->had_tombstone) {
        query_bind_i64(&query, 9, row->before_state);
        query_bind_i64(&query, 10, row->before_epoch);
        if (row->before_migrating[0]) query_bind_text(&query, 11, row->before_migrating);
    }
    return query_run(&query);
}

static Error *run_on(Connection *catalog, StatementId statement, JobId id) {
    Query OWN_QUERY(query) = query_start(catalog, statement);
    query_bind_job_id(&query, 1, id);
    return query_run(&query);
}

/* ---- offers ---- */

/* Checks that the job is not here, or left this home before the offer's epoch. */
static Error *check_absent(Connection *catalog, const Arrival *arrival) {
    TenantId owner;
    bool found;
    Job job;
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(arrival->job, name);
    TRY(job_row_read_tenant(catalog, arrival->job, &found, &owner));
    if (!found) return NULL;
    if (owner != arrival->tenant) FAIL(CONFLICT, "job %s is here already", name);
    TRY(job_row_read(catalog, owner, arrival->job, &job));
    const JobStateInfo *info = job_state_info(job.state);
    if (info->class_ != JOB_STATE_CLASS_TOMBSTONE)
        FAIL(CONFLICT, "job %s is here already, and %s", name, info->name);
    if (job.epoch >= arrival->epoch)
        FAIL(CONFLICT, "job %s went from here in epoch %lld; this offer is of epoch %lld", name,
            (long long)job.epoch, (long long)arrival->epoch);
    return NULL;
}

static bool is_older(const Arrival *a, const Arrival *than) {
    return a->epoch != than->epoch ? a->epoch < than->epoch : a->attempt < than->attempt;
}

Error *arrivals_offer(Connection *catalog, const Arrival *arrival) {
    ArrivalRow known, row = {.arrival = *arrival};
    bool found;
    uint64_t stored;
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(arrival->job, name);
    row.arrival.progress = ARRIVAL_IS_OFFERED;
    TRY(find(catalog, arrival->job, &found, &known));
    if (found && is_older(arrival, &known.arrival))
        FAIL(CONFLICT,
            "job %s: attempt %lld in epoch %lld is over: attempt %lld in epoch %lld came", name,
            (long long)arrival->attempt, (long long)arrival->epoch,
            (long long)known.arrival.attempt, (long long)known.arrival.epoch);
    if (found && known.arrival.progress == ARRIVAL_IS_PREPARED)
        FAIL(CONFLICT, "job %s is prepared, attempt %lld", name, (long long)known.arrival.attempt);
    TRY(check_absent(catalog, arrival));
    TRY(tenants_get_stored(catalog, arrival->tenant, &stored));
    TRY(put(catalog, &row));
    return tenants_check_growth(catalog, arrival->tenant, stored);
}

Error *arrivals_expire(Connection *catalog, double silence_s) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_EXPIRE_ARRIVALS);
    query_bind_f64(&query, 1, silence_s + ALIVE_TIME_STEP_S); /* a stamp may be too early */
    return query_run(&query);
}

/* ---- prepared arrivals ---- */

Error *arrivals_note_prepared(Connection *catalog, const Arrival *arrival, const Job *tombstone) {
    ArrivalRow row;
    bool found;
    char name[JOB_ID_TEXT_SIZE];
    TRY(find(catalog, arrival->job, &found, &row));
    const Arrival *known = &row.arrival;
    if (!found || known->tenant != arrival->tenant || known->source != arrival->source ||
        known->epoch != arrival->epoch || known->attempt != arrival->attempt ||
        known->progress != ARRIVAL_IS_OFFERED) {
        job_id_print(arrival->job, name);
        FAIL(CONFLICT, "job %s: attempt %lld in epoch %lld is not expected (any more)", name,
            (long long)arrival->attempt, (long long)arrival->epoch);
    }
    row.arrival.progress = ARRIVAL_IS_PREPARED;
    row.arrival.suspended = arrival->suspended;
    row.had_tombstone = tombstone != NULL;
    if (tombstone) {
        row.before_state = tombstone->state;
        row.before_epoch = tombstone->epoch;
        memcpy(row.before_migrating, tombstone->migrating, sizeof row.before_migrating);
    }
    return put(catalog, &row);
}

Error *arrivals_follow(Connection *catalog, const Job *job, JobState before) {
    return before == JOB_STATE_IN_DOUBT ? run_on(catalog, STATEMENT_FINISH_ARRIVAL, job->id) : NULL;
}

Error *arrivals_adopt(Connection *catalog, JobId id) {
    ArrivalRow row;
    bool found;
    char name[JOB_ID_TEXT_SIZE];
    TRY(find(catalog, id, &found, &row));
    if (!found || row.arrival.progress != ARRIVAL_IS_PREPARED) {
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is not in doubt", name);
    }
    row.arrival.progress = ARRIVAL_IS_ADOPTED;
    return put(catalog, &row);
}

Error *arrivals_forget(Connection *catalog, JobId id) {
    return run_on(catalog, STATEMENT_DELETE_ARRIVAL, id);
}

/* Makes the job a tombstone again: the job was here before. */
static Error *bury(Connection *catalog, const ArrivalRow *row, Job *job) {
    TRY(jobs_clear(catalog, job));
    job->state = row->before_state;
    memcpy(job->migrating, row->before_migrating, sizeof job->migrating);
    TRY(job_row_set_epoch(catalog, job, row->before_epoch));
    TRY(job_events_add(catalog, job, JOB_EVENT_STATE, job->outputs_visible, job->outputs_visible,
        "it did not come back: the attempt was given up"));
    return job_row_write(catalog, job);
}

static Error *remove_job(Connection *catalog, const ArrivalRow *row) {
    Job job;
    TRY(job_row_read(catalog, row->arrival.tenant, row->arrival.job, &job));
    if (job.state != JOB_STATE_IN_DOUBT) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(job.id, name);
        FAIL(CONFLICT, "job %s is %s", name, job_state_info(job.state)->name);
    }
    return row->had_tombstone ? bury(catalog, row, &job) : jobs_delete(catalog, &job);
}

Error *arrivals_abort(Connection *catalog, JobId id, uint64_t source, int64_t epoch,
    int64_t attempt, bool *out_removed) {
    ArrivalRow row;
    bool found;
    *out_removed = false;
    TRY(find(catalog, id, &found, &row));
    if (!found || row.arrival.source != source || row.arrival.epoch != epoch ||
        row.arrival.attempt != attempt || row.arrival.progress == ARRIVAL_IS_ADOPTED)
        return NULL;
    bool prepared = row.arrival.progress == ARRIVAL_IS_PREPARED;
    TRY(run_on(catalog, STATEMENT_DELETE_ARRIVAL, id));
    if (prepared) TRY(remove_job(catalog, &row));
    *out_removed = prepared;
    return NULL;
}

/* ---- reading ---- */

Error *arrivals_find(Store *store, JobId id, bool *out_found, Arrival *out_arrival) {
    OWN(Connection, catalog) = NULL;
    ArrivalRow row;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(find(catalog, id, out_found, &row));
    if (*out_found) *out_arrival = row.arrival;
    return NULL;
}

Error *arrivals_read_silence(Store *store, const Arrival *arrival, double *out_silence_s) {
    OWN(Connection, catalog) = NULL;
    double now_s;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(alive_time_read(catalog, &now_s));
    *out_silence_s = now_s - arrival->touched;
    return NULL;
}

Error *arrivals_list(Store *store, ArrivalList **out_list) {
    OWN(ArrivalList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_ARRIVALS);
    size_t capacity = 0;
    for (;;) {
        bool found;
        ArrivalRow row;
        TRY(query_next(&query, &found));
        if (!found) break;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        Error *error = read_row(&query, &row);
        if (error && error_code(error) != ERROR_CORRUPT) return error;
        if (!error) list->items[list->count++] = row.arrival;
        list->damaged += error != NULL;
        error_free(error); /* fsck names the row; the other arrivals are listed */
    }
    *out_list = TAKE(list);
    return NULL;
}
