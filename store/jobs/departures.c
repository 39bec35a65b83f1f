#include "store/jobs/departures.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "store/jobs/jobs_internal.h"
#include "store/database/store_name.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_row_internal.h"

void departure_list_release(DepartureList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

static Error *read_departure(const Query *query, Departure *out) {
    int64_t progress, suspended;
    TRY(query_i64(query, 0, &out->tenant));
    TRY(query_job_id(query, 1, &out->job));
    TRY(query_size(query, 3, &out->target));
    TRY(query_i64(query, 4, &out->epoch));
    TRY(query_i64(query, 5, &out->attempt));
    TRY(query_i64(query, 6, &progress));
    TRY(query_i64(query, 7, &suspended));
    if (progress < DEPARTURE_UNDER_WAY || progress > DEPARTURE_IS_GIVEN_UP)
        FAIL(CORRUPT, "catalog.db: a departure in an unknown state; run fsck");
    out->progress = (DepartureProgress)progress;
    out->suspended = suspended != 0;
    return NULL;
}

static Error *find(
    Connection *catalog, int64_t row, int64_t epoch, bool *out_found, Departure *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_DEPARTURE);
    query_bind_i64(&query, 1, row);
    query_bind_i64(&query, 2, epoch);
    TRY(query_next(&query, out_found));
    return *out_found ? read_departure(&query, out) : NULL;
}

/* Finds the last attempt to that target. */
static Error *find_to(Connection *catalog, int64_t row, int64_t epoch, uint64_t target,
    bool *out_found, Departure *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_DEPARTURE_TO);
    query_bind_i64(&query, 1, row);
    query_bind_i64(&query, 2, epoch);
    query_bind_i64(&query, 3, (int64_t)target);
    TRY(query_next(&query, out_found));
    return *out_found ? read_departure(&query, out) : NULL;
}

static Error *insert(Connection *catalog, int64_t row, const Departure *departure) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_DEPARTURE);
    query_bind_i64(&query, 1, row);
    query_bind_i64(&query, 2, departure->epoch);
    query_bind_i64(&query, 3, (int64_t)departure->target);
    query_bind_i64(&query, 4, departure->attempt);
    query_bind_i64(&query, 5, departure->suspended);
    return query_run(&query);
}

/* Runs a statement on the departure of the job's present epoch, if there is one. */
static Error *run_on(Connection *catalog, StatementId id, const Job *job) {
    Query OWN_QUERY(query) = query_start(catalog, id);
    query_bind_i64(&query, 1, job->row);
    query_bind_i64(&query, 2, job->epoch);
    return query_run(&query);
}

static Error *fail_state(const Job *job, const char *what) {
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(job->id, name);
    FAIL(CONFLICT, "job %s is %s; %s", name, job_state_info(job->state)->name, what);
}

Error *departures_begin(Connection *catalog, TenantId tenant, JobId id, const char *node,
    uint64_t target, Departure *out_departure) {
    Job job;
    TRY(job_row_read(catalog, tenant, id, &job));
    TRY(store_name_check("node", node));
    if (job.state != JOB_STATE_QUEUED && job.state != JOB_STATE_SUSPENDED)
        return fail_state(&job, "only a queued, running or suspended job can migrate");
    if (job.migrating[0]) {
        char name[JOB_ID_TEXT_SIZE];
        job_id_print(id, name);
        FAIL(CONFLICT, "job %s is migrating to %s already", name, job.migrating);
    }
    memcpy(job.migrating, node, strlen(node) + 1);
    job.attempt++;
    const Departure departure = {.tenant = tenant,
        .job = id,
        .target = target,
        .epoch = job.epoch,
        .attempt = job.attempt,
        .suspended = job.state == JOB_STATE_SUSPENDED};
    char why[JOB_WHY_SIZE];
    (void)snprintf(why, sizeof why, "migrating to %s, attempt %lld", node, (long long)job.attempt);
    TRY(job_events_add(catalog, &job, JOB_EVENT_NOTE, 0, 0, why));
    TRY(job_row_write(catalog, &job));
    TRY(insert(catalog, job.row, &departure));
    *out_departure = departure;
    return NULL;
}

Error *departures_abort(
    Connection *catalog, TenantId tenant, JobId id, int64_t attempt, const char *why) {
    Job job;
    Departure departure;
    bool found;
    TRY(job_row_read(catalog, tenant, id, &job));
    TRY(find(catalog, job.row, job.epoch, &found, &departure));
    if (!found || departure.attempt != attempt) return NULL;
    if (departure.progress != DEPARTURE_UNDER_WAY)
        return fail_state(&job, "its migration can't be given up any more");
    if (job.state == JOB_STATE_HELD)
        return fail_state(&job, "it comes back by becoming queued or suspended");
    TRY(run_on(catalog, STATEMENT_GIVE_DEPARTURE_UP, &job));
    job.migrating[0] = 0;
    TRY(job_events_add(catalog, &job, JOB_EVENT_NOTE, 0, 0, why));
    return job_row_write(catalog, &job);
}

Error *departures_end(Connection *catalog, TenantId tenant, JobId id, int64_t attempt) {
    Job job;
    Departure departure;
    bool found;
    TRY(job_row_read(catalog, tenant, id, &job));
    TRY(find(catalog, job.row, job.epoch, &found, &departure));
    if (!found || departure.attempt != attempt || departure.progress == DEPARTURE_IS_SETTLED)
        return NULL;
    if (departure.progress != DEPARTURE_IS_MOVED) return fail_state(&job, "it has not moved");
    TRY(run_on(catalog, STATEMENT_SETTLE_DEPARTURE, &job));
    return jobs_drop_contents(catalog, tenant, id);
}

Error *departures_fence(
    Connection *catalog, TenantId tenant, JobId id, const char *node, uint64_t target) {
    Job job;
    Departure departure;
    bool found;
    TRY(job_row_read_unfinished(catalog, tenant, id, &job));
    TRY(store_name_check("node", node));
    TRY(find_to(catalog, job.row, job.epoch, target, &found, &departure));
    if (!found) FAIL(REFUSED, "%s was never offered the job: it cannot have it", node);
    memcpy(job.migrating, node, strlen(node) + 1);
    departure.attempt = ++job.attempt;
    TRY(job_events_add(
        catalog, &job, JOB_EVENT_NOTE, 0, 0, "another node took it over: this one was given up"));
    TRY(job_row_write(catalog, &job));
    TRY(run_on(catalog, STATEMENT_GIVE_DEPARTURE_UP, &job));
    return insert(catalog, job.row, &departure);
}

Error *departures_follow(Connection *catalog, Job *inout_job, JobState before) {
    Job *job = inout_job;
    bool ended = !job_state_is_unfinished(job->state);
    if (job->state == JOB_STATE_MOVED) return run_on(catalog, STATEMENT_COMMIT_DEPARTURE, job);
    if (job->state == JOB_STATE_HELD) {
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_HOLD_DEPARTURE);
        query_bind_i64(&query, 1, job->row);
        query_bind_i64(&query, 2, job->epoch);
        query_bind_i64(&query, 3, before == JOB_STATE_SUSPENDED);
        return query_run(&query);
    }
    if (!ended && before != JOB_STATE_HELD) return NULL;
    job->migrating[0] = 0;
    TRY(run_on(catalog, STATEMENT_GIVE_DEPARTURE_UP, job));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DROP_DAMAGED_DEPARTURES);
    query_bind_i64(&query, 1, job->row);
    return query_run(&query);
}

Error *departures_list(Store *store, DepartureList **out_list) {
    OWN(DepartureList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_DEPARTURES);
    size_t capacity = 0;
    for (;;) {
        bool row;
        TRY(query_next(&query, &row));
        if (!row) break;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        Error *error = read_departure(&query, &list->items[list->count]);
        if (error && error_code(error) != ERROR_CORRUPT) return error;
        *(error ? &list->damaged : &list->count) += 1;
        error_free(error); /* fsck names the row; the other departures are listed */
    }
    *out_list = TAKE(list);
    return NULL;
}

Error *departures_find(
    Store *store, TenantId tenant, JobId id, bool *out_found, Departure *out_departure) {
    OWN(Connection, catalog) = NULL;
    Job job;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(job_row_read(catalog, tenant, id, &job));
    return find(catalog, job.row, job.epoch, out_found, out_departure);
}

Error *departures_find_target(Store *store, TenantId tenant, JobId id, uint64_t *out_target) {
    OWN(Connection, catalog) = NULL;
    Job job;
    Departure departure;
    bool found = false;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(job_row_read(catalog, tenant, id, &job));
    if (job.state == JOB_STATE_MOVED) TRY(find(catalog, job.row, job.epoch, &found, &departure));
    if (!found) return fail_state(&job, "it has not moved");
    *out_target = departure.target;
    return NULL;
}

Error *departures_find_outcome(Store *store, JobId id, uint64_t target, int64_t epoch,
    int64_t attempt, DepartureOutcome *out_outcome) {
    OWN(Connection, catalog) = NULL;
    TenantId tenant;
    Job job;
    Departure departure;
    bool found;
    *out_outcome = DEPARTURE_ABORTED;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(job_row_read_tenant(catalog, id, &found, &tenant));
    if (!found) return NULL;
    TRY(job_row_read(catalog, tenant, id, &job));
    TRY(find_to(catalog, job.row, epoch, target, &found, &departure));
    if (!found || departure.attempt != attempt || departure.progress == DEPARTURE_IS_GIVEN_UP)
        return NULL;
    *out_outcome = departure.progress == DEPARTURE_UNDER_WAY ? DEPARTURE_PENDING : DEPARTURE_MOVED;
    return NULL;
}
