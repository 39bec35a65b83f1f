#include <stdio.h>

#include "base/allocator.h"
#include "store/chunks/chunk_lists.h"
#include "store/upkeep/fsck_internal.h"
#include "store/jobs/jobs_internal.h"
#include "store/jobs/stored_content_internal.h"
#include "store/accounts/tenants.h"

enum { NAME_TEXT_SIZE = TENANT_NAME_SIZE + 48 };

/* The content that is checked; contents are checked in the order of ids. */
typedef struct CheckedContent {
    int64_t id;
    int64_t job; /* the job's row */
    int64_t kind;
    int64_t sequence;
    TenantId tenant;
    JobId name;
} CheckedContent;

static Error *next_content(Store *store, CheckedContent *inout, bool *out_found) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_READ_CONTENT_AFTER);
    query_bind_i64(&query, 1, inout->id);
    TRY(query_next(&query, out_found));
    if (!*out_found) return NULL;
    TRY(query_i64(&query, 0, &inout->id));
    TRY(query_i64(&query, 1, &inout->job));
    TRY(query_i64(&query, 2, &inout->kind));
    TRY(query_i64(&query, 3, &inout->sequence));
    TRY(query_i64(&query, 4, &inout->tenant));
    return query_job_id(&query, 5, &inout->name);
}

static bool has_known_kind(const CheckedContent *content) {
    return content->kind >= JOB_CONTENT_INPUTS && content->kind <= JOB_CONTENT_CHECKPOINT;
}

/* "job 3f9a0c72d1e4-17, output 5" */
static void name_content(const CheckedContent *content, char out[NAME_TEXT_SIZE]) {
    static const char *const kinds[] = {"content", "inputs", "output", "checkpoint"};
    char job[JOB_ID_TEXT_SIZE];
    job_id_print(content->name, job);
    (void)snprintf(out, NAME_TEXT_SIZE, "job %s, %s %lld", job,
        kinds[has_known_kind(content) ? content->kind : 0], (long long)content->sequence);
}

static Error *read_content(Fsck *fsck, const CheckedContent *checked, StoredContent *content) {
    OWN(Connection, reader) = NULL;
    bool found; /* false: the job was removed during the check */
    if (!has_known_kind(checked))
        FAIL(CORRUPT, "catalog.db: kind %lld is none", (long long)checked->kind);
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &reader));
    return stored_content_read(
        reader, checked->job, (JobContentKind)checked->kind, checked->sequence, content, &found);
}

static Error *check_content(Fsck *fsck, const CheckedContent *checked) {
    char name[NAME_TEXT_SIZE];
    OWN(StoredContent, content) = NULL;
    name_content(checked, name);
    TRY(memory_alloc(1, sizeof *content, (void **)&content));
    fsck->result->contents++;
    Error *error = read_content(fsck, checked, content);
    if (error) return fsck_note(fsck, error_wrap(error, "%s", name));
    return fsck_check_chunk_list(
        fsck, checked->tenant, content->chunks, content->chunk_count, name);
}

static Error *check_contents(Fsck *fsck) {
    CheckedContent checked = {.id = 0};
    for (;;) {
        bool found;
        Error *error = next_content(fsck->store, &checked, &found);
        if (error) return fsck_note(fsck, error); /* the table can't be read any further */
        if (!found) return NULL;
        error = check_content(fsck, &checked);
        if (error) TRY(fsck_note(fsck, error));
    }
}

static Error *next_list(Store *store, int64_t *inout_id, bool *out_found, bool *out_sound) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &reader));
    return chunk_lists_check_next(reader, inout_id, out_found, out_sound);
}

/* Later contents are stored as lists that are there. */
static Error *check_lists(Fsck *fsck) {
    int64_t id = 0;
    for (;;) {
        bool found, sound;
        Error *error = next_list(fsck->store, &id, &found, &sound);
        if (error) return fsck_note(fsck, error);
        if (!found) return NULL;
        if (sound) continue;
        TRY(fsck_note(fsck, error_make(ERROR_CORRUPT, __FILE__, __LINE__,
                                "catalog.db: list of chunks %lld: it is not what its digest names",
                                (long long)id)));
    }
}

static Error *read_miscounted_job(Query *query, bool *out_found, char out[NAME_TEXT_SIZE]) {
    JobId id;
    TRY(query_next(query, out_found));
    if (!*out_found) return NULL;
    TRY(query_job_id(query, 0, &id));
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(id, name);
    (void)snprintf(out, NAME_TEXT_SIZE, "job %s", name);
    return NULL;
}

static Error *read_miscounted_tenant(Query *query, bool *out_found, char out[NAME_TEXT_SIZE]) {
    char name[TENANT_NAME_SIZE];
    TRY(query_next(query, out_found));
    if (!*out_found) return NULL;
    TRY(query_text(query, 0, name, sizeof name));
    (void)snprintf(out, NAME_TEXT_SIZE, "tenant %s", name);
    return NULL;
}

/* Checks that the counts in a row equal the counts of the rows that they describe. */
static Error *check_counts(Fsck *fsck, StatementId statement,
    Error *(*read)(Query *query, bool *out_found, char out[NAME_TEXT_SIZE])) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &reader));
    Query OWN_QUERY(query) = query_start(reader, statement);
    for (;;) {
        bool found;
        char name[NAME_TEXT_SIZE];
        Error *error = read(&query, &found, name);
        if (error) return fsck_note(fsck, error);
        if (!found) return NULL;
        TRY(fsck_note(fsck, error_make(ERROR_CORRUPT, __FILE__, __LINE__,
                                "catalog.db: %s: what it counts is not what is there", name)));
    }
}

/* Checks that a job in doubt has its arrival, a prepared arrival its job, and a moved job its
 * tombstone. */
static Error *check_migrations(Fsck *fsck) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(fsck->store, DATABASE_CATALOG, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_LIST_UNEXPLAINED_JOBS);
    for (;;) {
        bool found;
        char name[NAME_TEXT_SIZE];
        Error *error = read_miscounted_job(&query, &found, name);
        if (error) return fsck_note(fsck, error);
        if (!found) return NULL;
        TRY(fsck_note(fsck, error_make(ERROR_CORRUPT, __FILE__, __LINE__,
                                "catalog.db: %s: its state and its migration do not fit", name)));
    }
}

Error *fsck_check_jobs(Fsck *fsck) {
    TRY(check_contents(fsck));
    TRY(check_lists(fsck));
    TRY(check_migrations(fsck));
    TRY(check_counts(fsck, STATEMENT_LIST_MISCOUNTED_JOBS, read_miscounted_job));
    return check_counts(fsck, STATEMENT_LIST_MISCOUNTED_TENANTS, read_miscounted_tenant);
}
