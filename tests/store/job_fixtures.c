#include "tests/store/job_fixtures.h"
#include "store/database/row_costs.h"

#include <string.h>
#include <unistd.h>

#include "store/schema_scripts.h"
#include "store/database/transaction.h"

static Transaction running;

Connection *fixture_begin(Store *store) {
    expect_ok(transaction_begin(store, DATABASE_CATALOG, &running));
    return running.connection;
}

Error *fixture_end(Error *owned_error) {
    Error *error = owned_error ? owned_error : transaction_commit(&running);
    transaction_end(&running);
    return error;
}

TenantId fixture_add_tenant(Store *store, const char *name) {
    TenantId tenant;
    expect_ok(fixture_end(tenants_add(fixture_begin(store), name, &tenant)));
    return tenant;
}

Digest fixture_add_executable(Store *store, TenantId tenant) {
    TestExecutable executable;
    fixture_make_executable(7, 2, 300, &executable);
    expect_ok(fixture_register(store, tenant, "m", 7, 2, 300, NULL, NULL));
    return executable.content.identity;
}

JobContent fixture_content(TenantId tenant, const char *text) {
    JobContent content = {.bytes = text, .size = strlen(text)};
    expect_ok(job_content_stage(NULL, tenant, &content));
    return content;
}

JobContent fixture_chunk_content(
    ChunkUpload *upload, TenantId tenant, uint32_t seed, ChunkRef *out_ref) {
    expect_ok(fixture_upload(upload, seed, 1, 900));
    fixture_make_chunk(seed, 900, out_ref, NULL);
    JobContent content = {.bytes = "chunk", .size = 5, .chunks = out_ref, .chunk_count = 1};
    expect_ok(job_content_stage(upload, tenant, &content));
    return content;
}

JobSubmission fixture_submission(const Digest *executable, const JobContent *inputs) {
    return (JobSubmission){.model = "m@1",
        .executable = *executable,
        .priority = 1,
        .release = JOB_RELEASE_LOG,
        .items_total = 10,
        .deadline = NAN,
        .policy = "policy",
        .policy_size = 6,
        .inputs = inputs};
}

Error *fixture_submit_this(
    Store *store, TenantId tenant, const JobSubmission *submission, JobId *out, bool *out_created) {
    return fixture_end(jobs_submit(fixture_begin(store), tenant, submission, out, out_created));
}

JobId fixture_submit_release(Store *store, TenantId tenant, JobRelease release) {
    Digest executable = fixture_add_executable(store, tenant);
    JobContent inputs = fixture_content(tenant, "inputs");
    JobSubmission submission = fixture_submission(&executable, &inputs);
    submission.release = release;
    JobId id = {0, 0};
    expect_ok(fixture_submit_this(store, tenant, &submission, &id, NULL));
    return id;
}

JobId fixture_submit(Store *store, TenantId tenant) {
    return fixture_submit_release(store, tenant, JOB_RELEASE_LOG);
}

Error *fixture_fork(Store *store, JobId id, int64_t checkpoint, JobId *out) {
    JobCopy OWN_JOB_COPY(copy) = {0};
    while (!copy.done)
        TRY(fixture_end(jobs_fork(fixture_begin(store), TENANT_DEFAULT, id, checkpoint, &copy)));
    *out = copy.id;
    return NULL;
}

Error *fixture_rewind(Store *store, JobId id) {
    bool done = false;
    while (!done)
        TRY(fixture_end(job_outputs_rewind(fixture_begin(store), TENANT_DEFAULT, id, &done)));
    return NULL;
}

Job fixture_get(Store *store, TenantId tenant, JobId id) {
    Job job;
    expect_ok(jobs_get(store, tenant, id, &job));
    return job;
}

Error *fixture_add_output(Store *store, JobId id, int64_t sequence, const char *text) {
    JobContent content = fixture_content(TENANT_DEFAULT, text);
    return fixture_end(
        job_outputs_add(fixture_begin(store), TENANT_DEFAULT, id, sequence, &content, 1, -1, NULL));
}

Error *fixture_add_checkpoint(Store *store, JobId id, const char *text, int64_t items_done,
    int64_t outputs, int64_t keep, int64_t *out_number) {
    JobContent content = fixture_content(TENANT_DEFAULT, text);
    return fixture_end(job_checkpoints_add(
        fixture_begin(store), TENANT_DEFAULT, id, &content, items_done, outputs, keep, out_number));
}

const char *fixture_read_text(
    Store *store, TenantId tenant, JobId id, JobContentKind kind, int64_t sequence) {
    static char text[256];
    OWN(StoredContent, content) = NULL;
    size_t size;
    expect_ok(stored_content_open(store, tenant, id, kind, sequence, &content));
    const uint8_t *bytes = stored_content_bytes(content, &size);
    (void)snprintf(text, sizeof text, "%.*s", (int)size, (const char *)bytes);
    return text;
}

void fixture_print_events(Store *store, TenantId tenant, JobId id, TextBuilder *out) {
    OWN(JobEventList, list) = NULL;
    expect_ok(job_events_list(store, tenant, id, 0, &list));
    for (size_t i = 0; i < list->count; i++) {
        const JobEvent *event = &list->items[i];
        assert_int_equal(event->sequence, (int64_t)i + 1);
        text_appendf(out, "%s%s %s", i ? ", " : "", job_event_kind_name(event->kind),
            job_state_info(event->state)->name);
        if (event->output_end > event->output_begin)
            text_appendf(
                out, " %lld-%lld", (long long)event->output_begin, (long long)event->output_end);
    }
    expect_ok(text_builder_check(out));
}

static void print_content(
    Store *store, const Job *job, JobContentKind kind, int64_t sequence, TextBuilder *out) {
    OWN(StoredContent, content) = NULL;
    size_t count;
    text_appendf(out, "; %d.%lld %s", kind, (long long)sequence,
        fixture_read_text(store, job->tenant, job->id, kind, sequence));
    expect_ok(stored_content_open(store, job->tenant, job->id, kind, sequence, &content));
    const ChunkRef *refs = stored_content_chunks(content, &count);
    for (size_t i = 0; i < count; i++) {
        uint8_t raw[1000];
        assert_true(refs[i].raw_size <= sizeof raw);
        expect_ok(chunk_read_data(NULL, &(ChunkRun){&refs[i], 1, raw}, 1, CHUNK_VERIFY_SHA256,
            stored_content_source(content)));
        text_appendf(out, "+%u", refs[i].raw_size);
    }
}

static void print_job(Store *store, const Job *job, TextBuilder *out) {
    OWN(JobCheckpointList, checkpoints) = NULL;
    text_appendf(out, "job %lld of %lld: %s, items %lld, outputs %lld/%lld, %llu bytes%s%s: ",
        (long long)job->row, (long long)job->tenant, job_state_info(job->state)->name,
        (long long)job->items_done, (long long)job->outputs_visible, (long long)job->output_count,
        (unsigned long long)job->bytes_stored, job->migrating[0] ? ", to " : "", job->migrating);
    fixture_print_events(store, job->tenant, job->id, out);
    if (job_state_info(job->state)->class_ != JOB_STATE_CLASS_TOMBSTONE) {
        print_content(store, job, JOB_CONTENT_INPUTS, 0, out);
        for (int64_t i = 0; i < job->outputs_visible; i++)
            print_content(store, job, JOB_CONTENT_OUTPUT, i, out);
    }
    expect_ok(job_checkpoints_list(store, job->tenant, job->id, &checkpoints));
    for (size_t i = 0; i < checkpoints->count; i++)
        print_content(store, job, JOB_CONTENT_CHECKPOINT, checkpoints->items[i].number, out);
    text_append(out, "\n");
}

void fixture_print_jobs(Store *store, TextBuilder *out) {
    OWN(JobList, list) = NULL;
    OWN(TenantList, tenants) = NULL;
    expect_ok(jobs_list(store, JOBS_OF_ALL_TENANTS, JOB_STATE_NONE, 0, JOBS_LISTED_MAX, &list));
    for (size_t i = 0; i < list->count; i++) print_job(store, &list->items[i], out);
    expect_ok(tenants_list(store, &tenants));
    for (size_t i = 0; i < tenants->count; i++)
        text_appendf(out, "tenant %s: weight %lld, %llu bytes\n", tenants->items[i].name,
            (long long)tenants->items[i].weight,
            (unsigned long long)tenants->items[i].bytes_stored);
    expect_ok(text_builder_check(out));
}

void fixture_make_version_1(const TestHome *from, const TestHome *to) {
    static const struct {
        const char *name, *columns;
    } tables[] = {{"executables", "*"}, {"executable_chunks", "*"},
        {"models", "id, tenant, name, last_version, created"},
        {"versions", "tenant, model, version, executable, created"}, {"aliases", "*"}};
    TextBuilder OWN_TEXT(sql) = {0};
    fixture_home_copy(from, to);
    assert_int_equal(unlink(fixture_path(to, "catalog.db")), 0);
    text_appendf(
        &sql, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; %s", schema_catalog[0]);
    text_appendf(&sql, "PRAGMA application_id = %lld; PRAGMA user_version = 1;",
        (long long)database_infos[DATABASE_CATALOG].application_id);
    text_appendf(&sql,
        "ATTACH '%s' AS other; DELETE FROM tenants;"
        "INSERT INTO tenants SELECT id, name, created FROM other.tenants;",
        fixture_path(from, "catalog.db"));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        text_appendf(&sql, "INSERT INTO %s SELECT %s FROM other.%s;", tables[i].name,
            tables[i].columns, tables[i].name);
    /* rows cost nothing then */
    text_appendf(&sql,
        "UPDATE executables SET bytes_stored = bytes_stored - %d - %d * chunk_count;",
        ROW_COST_EXECUTABLE, ROW_COST_CHUNK);
    expect_ok(text_builder_check(&sql));
    fixture_run_sql(to, "catalog.db", text_builder_get(&sql));
}

void fixture_make_outputs(const TestHome *home, int64_t job_row, int count, int visible) {
    char sql[1200];
    (void)snprintf(sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO contents (job, kind, sequence, created, bytes_raw, bytes_stored,"
        " chunk_count, digest, bytes) SELECT %lld, 2, i, 0, 10, 10, 0,"
        " x'1f825aa2f0020ef7cf91dfa30da4668d791c5d4824fc8e41354b89ec05795ab3',"
        " x'00010203040506070809' FROM n;"
        "UPDATE jobs SET output_count = %d, outputs_visible = %d,"
        " bytes_stored = bytes_stored + %d WHERE id = %lld;"
        "UPDATE tenants SET bytes_stored = bytes_stored + %d,"
        " output_bytes = output_bytes + %d WHERE id = 1",
        count - 1, (long long)job_row, count, visible, 10 * count, (long long)job_row, 10 * count,
        10 * count);
    fixture_run_sql(home, "catalog.db", sql);
}
