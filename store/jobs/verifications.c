#include "store/jobs/verifications.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/jobs/job_copy_internal.h"
#include "store/jobs/jobs_internal.h"
#include "store/accounts/tenants_internal.h"
#include "store/jobs/job_events_internal.h"
#include "store/jobs/job_row_internal.h"

enum { LAST_EVENTS = 8 /* among which a job's end is */ };

const char *verification_state_name(VerificationState state) {
    static const char *const names[] = {"running", "equal", "differs", "failed"};
    return names[state];
}

/* ---- beginning ---- */

static Error *find_checkpoint(
    Connection *catalog, const Job *job, int64_t number, JobCheckpoint *out) {
    char name[JOB_ID_TEXT_SIZE];
    Error *error = jobs_find_origin(catalog, job, number, "verified", out);
    if (number != 0 || error_code(error) != ERROR_NOT_FOUND) return error;
    error_free(error); /* the message below says more */
    job_id_print(job->id, name);
    FAIL(NOT_FOUND,
        "job %s has no checkpoint to replay it from; a job that is submitted with "
        "--checkpoint-every keeps some",
        name);
}

static Error *check_outputs(const Job *job, const JobCheckpoint *checkpoint) {
    char name[JOB_ID_TEXT_SIZE];
    if (job->output_count > checkpoint->outputs) return NULL;
    job_id_print(job->id, name);
    FAIL(CONFLICT,
        "job %s has no output stored behind checkpoint %" PRId64
        " to compare with; an older checkpoint may have some before it",
        name, checkpoint->number);
}

static Error *insert(
    Connection *catalog, const Job *job, const JobCheckpoint *checkpoint, const Job *replay) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_VERIFICATION);
    query_bind_i64(&query, 1, replay->row);
    query_bind_i64(&query, 2, job->row);
    query_bind_i64(&query, 3, checkpoint->number);
    query_bind_i64(&query, 4, checkpoint->outputs);
    query_bind_i64(&query, 5, job->output_count);
    return query_run(&query);
}

static Error *begin_copy(
    Connection *catalog, TenantId tenant, const VerificationRequest *request, JobCopy *copy) {
    Job job, replay;
    JobCheckpoint checkpoint;
    TRY(job_row_read(catalog, tenant, request->job, &job));
    TRY(find_checkpoint(catalog, &job, request->checkpoint, &checkpoint));
    TRY(check_outputs(&job, &checkpoint));
    TRY(jobs_make_fork(catalog, &job, &checkpoint, &replay));
    replay.priority = request->priority;
    replay.deadline = NAN;
    replay.release = JOB_RELEASE_LOG;
    JobSubmission submission = {.policy = request->policy, .policy_size = request->policy_size};
    return job_copy_begin(catalog, &job, &checkpoint, &replay, &submission, copy);
}

Error *verifications_begin(
    Connection *catalog, TenantId tenant, const VerificationRequest *request, JobCopy *inout_copy) {
    const JobCheckpoint *checkpoint = &inout_copy->checkpoint;
    uint64_t stored;
    char name[JOB_ID_TEXT_SIZE], why[JOB_WHY_SIZE];
    TRY(tenants_get_stored(catalog, tenant, &stored));
    if (job_copy_has_begun(inout_copy))
        TRY(job_copy_step(catalog, inout_copy));
    else
        TRY(begin_copy(catalog, tenant, request, inout_copy));
    if (!job_copy_is_whole(inout_copy)) return NULL;
    job_id_print(request->job, name);
    (void)snprintf(why, sizeof why,
        "replays job %s from checkpoint %" PRId64 " to verify its outputs from %" PRId64
        " on; it goes when they are compared",
        name, checkpoint->number, checkpoint->outputs);
    TRY(job_copy_finish(catalog, why, inout_copy));
    TRY(insert(catalog, &inout_copy->from, checkpoint, &inout_copy->job));
    return tenants_check_growth(catalog, tenant, stored);
}

/* ---- judging ---- */

static Error *read_row(Connection *catalog, Verification *inout) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_VERIFICATION);
    char name[JOB_ID_TEXT_SIZE];
    bool row;
    int64_t node, number;
    query_bind_i64(&query, 1, inout->replay.row);
    TRY(query_next(&query, &row));
    if (!row) {
        job_id_print(inout->replay.id, name);
        FAIL(NOT_FOUND, "job %s replays no other one", name);
    }
    TRY(query_i64(&query, 0, &inout->checkpoint));
    TRY(query_i64(&query, 1, &inout->output_begin));
    TRY(query_i64(&query, 2, &inout->output_end));
    inout->has_job = !query_is_null(&query, 3);
    if (!inout->has_job) return NULL;
    TRY(query_i64(&query, 3, &node));
    TRY(query_i64(&query, 4, &number));
    inout->job.id = (JobId){(uint64_t)node, (uint64_t)number};
    return NULL;
}

/* exact: bytes, too. */
static Error *compare(Connection *catalog, bool exact, Verification *inout) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_DIFFERENCE);
    bool row;
    query_bind_i64(&query, 1, inout->job.row);
    query_bind_i64(&query, 2, inout->replay.row);
    query_bind_i64(&query, 3, inout->output_begin);
    query_bind_i64(&query, 4, inout->output_end);
    query_bind_i64(&query, 5, exact);
    TRY(query_next(&query, &row));
    if (!row) FAIL(INTERNAL, "a count without a row");
    TRY(query_i64(&query, 0, &inout->compared));
    inout->sequence = -1;
    return query_is_null(&query, 1) ? NULL : query_i64(&query, 1, &inout->sequence);
}

/* Judges by states and counts, without comparing outputs. out_sequence: the output that only one of
 * the two jobs has, or -1. */
static VerificationState judge(const Verification *it, int64_t *out_sequence) {
    const Job *job = &it->job, *replay = &it->replay;
    bool whole = job->state == JOB_STATE_SUCCEEDED && job->output_count == it->output_end;
    bool ended = !job_state_is_unfinished(replay->state),
         succeeded = replay->state == JOB_STATE_SUCCEEDED;
    bool reached = replay->output_count >= it->output_end;
    *out_sequence = -1;
    if (reached && !whole) return VERIFICATION_EQUAL;
    if (!ended) return VERIFICATION_RUNNING;
    if (!succeeded) return VERIFICATION_FAILED;
    if (replay->output_count == it->output_end) return VERIFICATION_EQUAL;
    *out_sequence = reached ? it->output_end : replay->output_count;
    return VERIFICATION_DIFFERS;
}

/* Reads the end of the replay from its events. */
static Error *read_end(Connection *catalog, const Job *replay, Verification *inout) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_EVENTS);
    char why[JOB_WHY_SIZE] = "";
    query_bind_i64(&query, 1, replay->row);
    query_bind_i64(&query, 2, replay->event_count - LAST_EVENTS);
    query_bind_i64(&query, 3, LAST_EVENTS);
    for (;;) {
        bool row;
        int64_t kind;
        TRY(query_next(&query, &row));
        if (!row) break;
        TRY(query_i64(&query, 1, &kind));
        if (kind == JOB_EVENT_STATE) TRY(query_text(&query, 6, why, sizeof why));
    }
    (void)snprintf(inout->why, sizeof inout->why, "the replay %s%s%.400s",
        replay->state == JOB_STATE_FAILED ? "failed" : "was ended", why[0] ? ": " : "", why);
    return NULL;
}

static Error *judge_all(Connection *catalog, Verification *inout) {
    int64_t missing;
    inout->sequence = -1;
    if (!inout->has_job) {
        inout->state = VERIFICATION_FAILED;
        (void)snprintf(inout->why, sizeof inout->why, "the job that it replays was removed");
        return NULL;
    }
    VerificationState state = judge(inout, &missing);
    TRY(compare(catalog, state != VERIFICATION_RUNNING, inout));
    if (inout->sequence >= 0)
        state = VERIFICATION_DIFFERS;
    else
        inout->sequence = missing;
    inout->state = state;
    return state == VERIFICATION_FAILED ? read_end(catalog, &inout->replay, inout) : NULL;
}

Error *verifications_get(
    Store *store, TenantId tenant, JobId replay, Verification *out_verification) {
    OWN(Connection, catalog) = NULL;
    Verification it = {0};
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(job_row_read(catalog, tenant, replay, &it.replay));
    TRY(read_row(catalog, &it));
    if (it.has_job) TRY(job_row_read(catalog, tenant, it.job.id, &it.job));
    TRY(judge_all(catalog, &it));
    *out_verification = it;
    return NULL;
}

/* ---- ending ---- */

static Error *record(Connection *catalog, Job *job, const Verification *judged) {
    char why[JOB_WHY_SIZE];
    JobEventKind kind = JOB_EVENT_NOTE;
    if (judged->state == VERIFICATION_EQUAL)
        (void)snprintf(why, sizeof why,
            "verified from checkpoint %" PRId64 ": outputs %" PRId64 " to %" PRId64
            " came out the same again",
            judged->checkpoint, judged->output_begin, judged->output_end - 1);
    else if (judged->state == VERIFICATION_DIFFERS) {
        kind = JOB_EVENT_DIVERGED;
        (void)snprintf(why, sizeof why,
            "output %" PRId64 " came out differently when it was computed again from checkpoint "
            "%" PRId64 "; the first one stays",
            judged->sequence, judged->checkpoint);
    } else
        (void)snprintf(why, sizeof why, "not verified from checkpoint %" PRId64 ": %.400s",
            judged->checkpoint, judged->why);
    TRY(job_events_add(catalog, job, kind, 0, 0, why));
    return job_row_write(catalog, job);
}

/* A replay that moved to another node keeps its tombstone. */
static Error *remove_replay(Connection *catalog, const Job *replay) {
    if (job_state_info(replay->state)->class_ != JOB_STATE_CLASS_TOMBSTONE)
        return jobs_remove(catalog, replay->tenant, replay->id);
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_VERIFICATION);
    query_bind_i64(&query, 1, replay->row);
    return query_run(&query);
}

Error *verifications_end(Connection *catalog, TenantId tenant, const Verification *judged) {
    Verification now = {0};
    TRY(job_row_read(catalog, tenant, judged->replay.id, &now.replay));
    TRY(read_row(catalog, &now)); /* fails if another thread has ended the verification */
    if (job_state_is_unfinished(now.replay.state) || judged->state == VERIFICATION_RUNNING)
        FAIL(CONFLICT, "a verification whose replay is %s", job_state_info(now.replay.state)->name);
    if (now.has_job) {
        TRY(job_row_read(catalog, tenant, now.job.id, &now.job));
        TRY(record(catalog, &now.job, judged));
    }
    return remove_replay(catalog, &now.replay);
}

/* ---- lists ---- */

Error *verifications_list(
    Store *store, int64_t after, size_t count_max, VerificationName *out_names, size_t *out_count) {
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_LIST_VERIFICATIONS);
    query_bind_i64(&query, 1, after);
    query_bind_i64(&query, 2, (int64_t)count_max);
    for (size_t count = 0;; count++) {
        bool row;
        int64_t node, number;
        TRY(query_next(&query, &row));
        *out_count = count;
        if (!row) return NULL;
        VerificationName *to = &out_names[count];
        TRY(query_i64(&query, 0, &to->row));
        to->tenant = query_any_i64(&query, 1, 0); /* 0 for a damaged job: no tenant has this id */
        node = query_any_i64(&query, 2, 0);
        number = query_any_i64(&query, 3, 0);
        to->replay = (JobId){(uint64_t)node, (uint64_t)number};
        to->ended_ago_s = NAN;
        if (!query_is_null(&query, 4)) TRY(query_f64(&query, 4, &to->ended_ago_s));
    }
}
