#include "scheduler/migration/arrival_service.h"

#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/duration.h"
#include "scheduler/jobs/job_import.h"
#include "scheduler/migration/chunk_batch.h"
#include "scheduler/migration/arrival_sessions.h"
#include "scheduler/migration/protocol.h"
#include "store/chunks/chunk_reader.h"
#include "store/models/stored_executable.h"

struct ArrivalService {
    Control *control;
    ArrivalSessions sessions;
};

const char *arrival_answer_name(ArrivalAnswer answer) {
    static const char *const names[] = {"unknown", "incoming", "prepared", "owned"};
    return names[answer];
}

bool arrival_answer_find(const char *name, ArrivalAnswer *out) {
    for (ArrivalAnswer answer = ARRIVAL_UNKNOWN; answer <= ARRIVAL_OWNED; answer++)
        if (strcmp(name, arrival_answer_name(answer)) == 0) {
            *out = answer;
            return true;
        }
    return false;
}

static const ControlOptions *node(const ArrivalService *self) {
    return control_options(self->control);
}

Error *arrival_service_create(Control *control, ArrivalService **out_service) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ArrivalService), &memory));
    ArrivalService *self = memory;
    self->control = control;
    arrival_sessions_init(&self->sessions);
    *out_service = self;
    return NULL;
}

void arrival_service_release(ArrivalService *self) {
    if (!self) return;
    arrival_sessions_deinit(&self->sessions);
    memory_free(self);
}

void arrival_service_expire(ArrivalService *self) {
    arrival_sessions_expire(&self->sessions, ARRIVALS_SILENCE_S * SECOND_NS);
}

bool arrival_service_is_quiet(
    ArrivalService *self, uint64_t source, const MigrationKey *key, uint64_t silence_ns) {
    return arrival_sessions_is_quiet(&self->sessions, source, key, silence_ns);
}

/* ---- offers ---- */

static Error *find_arrival(ArrivalService *self, uint64_t source, const MigrationKey *key,
    bool *out_found, Arrival *out_arrival) {
    TRY(arrivals_find(node(self)->store, key->job, out_found, out_arrival));
    *out_found = *out_found && out_arrival->source == source && out_arrival->epoch == key->epoch &&
                 out_arrival->attempt == key->attempt;
    return NULL;
}

static Error *store_offer(Connection *catalog, void *context) {
    return arrivals_offer(catalog, context);
}

static Error *check_room(ArrivalService *self, TenantId tenant, uint64_t bytes) {
    Tenant row;
    TRY(settings_cache_get_tenant(node(self)->settings, tenant, &row));
    int64_t limit = row.quotas[QUOTA_STORE_BYTES];
    if (limit == QUOTA_UNLIMITED ||
        (row.bytes_stored <= (uint64_t)limit && bytes <= (uint64_t)limit - row.bytes_stored))
        return NULL;
    FAIL(EXHAUSTED, "tenant %s: quota store_bytes %lld, %llu used, the job needs %llu", row.name,
        (long long)limit, (unsigned long long)row.bytes_stored, (unsigned long long)bytes);
}

static Error *has_executable(
    ArrivalService *self, TenantId tenant, const Digest *identity, bool *out_has) {
    OWN(StoredExecutable, stored) = NULL;
    Error *error = stored_executable_open(node(self)->store, tenant, identity, &stored);
    *out_has = !error;
    if (error_code(error) != ERROR_NOT_FOUND) return error;
    error_free(error);
    return NULL;
}

/* Ends older attempts of a source that begins anew: the source owns the job in that epoch. */
static Error *end_older(ArrivalService *self, uint64_t source, const MigrationKey *key) {
    Arrival arrival;
    bool found;
    TRY(arrivals_find(node(self)->store, key->job, &found, &arrival));
    if (!found || arrival.progress != ARRIVAL_IS_PREPARED || arrival.source != source ||
        arrival.epoch != key->epoch || arrival.attempt >= key->attempt)
        return NULL;
    const MigrationKey older = {arrival.job, arrival.epoch, arrival.attempt};
    return arrival_service_abort(self, source, &older);
}

/* The session is added before the offer's row: migration_settler.c treats a row without a session
 * as an offer whose session was lost with an earlier process. */
static Error *begin_session(
    ArrivalService *self, uint64_t source, const MigrationKey *key, Arrival *offered) {
    ArrivalSession *session = arrival_sessions_find(&self->sessions, source, key);
    if (session) { /* the connection was cut, and the attempt continues */
        arrival_sessions_let_go(&self->sessions, session);
        return catalog_run(node(self)->catalog, store_offer, offered);
    }
    TRY(arrival_sessions_add(&self->sessions, node(self)->store, source, key, offered->tenant));
    Error *error = catalog_run(node(self)->catalog, store_offer, offered);
    if (error)
        arrival_sessions_end(&self->sessions, source, key);
    else
        arrival_sessions_end_others(&self->sessions, source, key);
    return error;
}

Error *arrival_service_offer(ArrivalService *self, uint64_t source, const MigrationOffer *offer,
    MigrationOfferAnswer *out_answer) {
    const MigrationKey *key = &offer->key;
    int64_t protocol;
    Arrival arrival = {
        .job = key->job, .source = source, .epoch = key->epoch, .attempt = key->attempt};
    if (control_refuses_jobs(self->control))
        FAIL(REFUSED, "the target is being drained itself and takes no jobs");
    TRY(protocol_negotiate(offer->protocol, offer->protocol, &protocol));
    TRY_WRAP(settings_cache_find_tenant(node(self)->settings, offer->tenant, &arrival.tenant),
        "the target");
    TRY(arrival_sessions_check_room(&self->sessions, source, key));
    TRY(check_room(self, arrival.tenant, offer->bytes));
    TRY(has_executable(self, arrival.tenant, &offer->executable, &out_answer->has_executable));
    TRY(end_older(self, source, key));
    return begin_session(self, source, key, &arrival);
}

/* ---- chunks ---- */

/* Keeps the offer of a transfer that takes longer than an offer lives. */
static Error *keep_offer(ArrivalService *self, const ArrivalSession *session) {
    const MigrationKey *key = &session->key;
    Arrival arrival;
    bool found;
    double silence_s;
    TRY(find_arrival(self, session->source, key, &found, &arrival));
    if (!found || arrival.progress != ARRIVAL_IS_OFFERED) return NULL;
    TRY(arrivals_read_silence(node(self)->store, &arrival, &silence_s));
    if (silence_s >= 0 && silence_s < ARRIVALS_SILENCE_S) return NULL;
    return catalog_run(node(self)->catalog, store_offer, &arrival);
}

/* Enters a session: one message at a time works with it. */
static Error *enter_session(
    ArrivalService *self, uint64_t source, const MigrationKey *key, ArrivalSession **out_session) {
    TRY(arrival_sessions_need(&self->sessions, source, key, out_session));
    (void)pthread_mutex_lock(&(*out_session)->mutex);
    return NULL;
}

static void leave_session(ArrivalService *self, ArrivalSession *session) {
    (void)pthread_mutex_unlock(&session->mutex);
    arrival_sessions_let_go(&self->sessions, session);
}

static Error *find_missing(
    const ArrivalSession *session, const ChunkRef *refs, size_t count, uint8_t *out_bits) {
    ChunkSink sink = chunk_upload_sink(session->upload);
    bool found[CHUNKS_FOUND_AT_ONCE];
    memset(out_bits, 0, (count + 7) / 8);
    for (size_t first = 0; first < count; first += CHUNKS_FOUND_AT_ONCE) {
        size_t asked = count - first < CHUNKS_FOUND_AT_ONCE ? count - first : CHUNKS_FOUND_AT_ONCE;
        TRY(sink.find(sink.self, &refs[first], asked, found));
        for (size_t i = 0; i < asked; i++)
            if (!found[i]) chunk_bits_set(out_bits, first + i);
    }
    return NULL;
}

Error *arrival_service_find_missing(ArrivalService *self, uint64_t source, const MigrationKey *key,
    const ChunkRef *refs, size_t count, uint8_t *out_bits) {
    ArrivalSession *session;
    TRY(enter_session(self, source, key, &session));
    Error *error = find_missing(session, refs, count, out_bits);
    leave_session(self, session);
    return error;
}

/* Checks that each chunk's content matches its name. Several messages of a session do this at
 * once. */
static Error *verify_chunks(ArrivalService *self, ChunkBatch *batch) {
    size_t count;
    const ChunkRef *refs = chunk_batch_refs(batch, &count);
    return chunk_verify(
        refs, count, node(self)->pool, CHUNK_VERIFY_SHA256, chunk_batch_source(batch));
}

static Error *store_chunks(ArrivalSession *session, ChunkBatch *batch) {
    ByteWriter OWN_BYTES(stored) = {0};
    ChunkSink sink = chunk_upload_sink(session->upload);
    ChunkSource source = chunk_batch_source(batch);
    size_t count;
    const ChunkRef *refs = chunk_batch_refs(batch, &count);
    for (size_t i = 0; i < count; i++) {
        bool found;
        TRY(sink.find(sink.self, &refs[i], 1, &found));
        if (found) continue;
        TRY(source.get(source.self, &refs[i], &stored));
        TRY(sink.put(sink.self, &refs[i], stored.data, stored.size));
    }
    return NULL;
}

static Error *take_verified(
    ArrivalService *self, ArrivalSession *session, ChunkBatch *batch, size_t size) {
    TRY(check_room(self, session->tenant, session->bytes + size));
    TRY(store_chunks(session, batch));
    session->bytes += size;
    return keep_offer(self, session);
}

static Error *take_chunks(
    ArrivalService *self, ArrivalSession *session, const void *data, size_t size) {
    OWN(ChunkBatch, batch) = NULL;
    TRY(chunk_batch_open(data, size, &batch));
    TRY(verify_chunks(self, batch));
    (void)pthread_mutex_lock(&session->mutex);
    Error *error = take_verified(self, session, batch, size);
    (void)pthread_mutex_unlock(&session->mutex);
    return error;
}

Error *arrival_service_take_chunks(ArrivalService *self, uint64_t source, const MigrationKey *key,
    const void *batch, size_t size) {
    ArrivalSession *session;
    TRY(arrival_sessions_need(&self->sessions, source, key, &session));
    Error *error = take_chunks(self, session, batch, size);
    arrival_sessions_let_go(&self->sessions, session);
    return error;
}

/* ---- manifests ---- */

/* Everything that stands in the manifest is checked; the model is taken. */
static Error *open_import(
    ArrivalService *self, const JobImportRequest *wanted, JobImportState **out_import) {
    OWN(JobImportState, import) = NULL;
    TRY(job_import_open(node(self)->store, node(self)->pool, wanted, &import));
    TRY(job_import_stage(import));
    *out_import = TAKE(import);
    return NULL;
}

/* The run that the manifest is of, opened in an earlier round or now. */
static Error *open_run(
    ArrivalService *self, ArrivalSession *session, JobImportState *import, bool *out_again) {
    Digest name;
    *out_again = false;
    TRY(job_import_name_run(import, &name));
    if (session->run && digest_equal(&session->run_name, &name)) return NULL;
    control_arrival_close(session->run);
    session->run = NULL;
    Batch *batch = job_import_take_batch(import);
    if (!batch) { /* they were decoded for another run */
        *out_again = true;
        return NULL;
    }
    session->run_name = name;
    return control_arrival_open(self->control, session->tenant,
        &job_import_get_file(import)->executable_identity, job_import_get_policy(import),
        job_import_get_function(import), batch, &session->run);
}

/* The common beginning of rounds and of the last manifest. source: the chunks that are here. */
static Error *read_manifest(ArrivalService *self, ArrivalSession *session, const void *manifest,
    size_t size, ChunkSource source, JobImportState **out_import) {
    OWN(JobImportState, import) = NULL;
    bool again = true;
    JobImportRequest wanted = {.tenant = session->tenant,
        .manifest = manifest,
        .manifest_size = size,
        .source = source,
        .verify = CHUNK_VERIFY_XXH3, /* they were verified as they came */
        .moves = true,
        .job = session->key.job,
        .epoch = session->key.epoch,
        .checked = &session->checked};
    TRY(chunk_upload_flush(session->upload));
    for (int i = 0; i < 2 && again; i++) {
        job_import_close(TAKE(import));
        TRY(open_import(self, &wanted, &import));
        TRY(open_run(self, session, import, &again));
        wanted.checked = NULL;
    }
    *out_import = TAKE(import);
    return NULL;
}

static Error *rehearse(
    ArrivalService *self, ArrivalSession *session, const void *manifest, size_t size) {
    OWN(ChunkReader, reader) = NULL;
    OWN(JobImportState, import) = NULL;
    TRY(chunk_reader_open(node(self)->store, session->tenant, &reader));
    TRY(read_manifest(self, session, manifest, size, chunk_reader_source(reader), &import));
    const Container *execution = job_import_get_execution(import);
    return execution ? control_arrival_warm(session->run, execution) : NULL;
}

Error *arrival_service_rehearse(ArrivalService *self, uint64_t source, const MigrationKey *key,
    const void *manifest, size_t size) {
    ArrivalSession *session;
    TRY(enter_session(self, source, key, &session));
    Error *error = rehearse(self, session, manifest, size);
    leave_session(self, session);
    return error;
}

static Error *prepare(ArrivalService *self, ArrivalSession *session, bool suspended,
    const void *manifest, size_t size) {
    OWN(ChunkReader, reader) = NULL;
    OWN(JobImportState, import) = NULL;
    const Arrival arrival = {.job = session->key.job,
        .tenant = session->tenant,
        .source = session->source,
        .epoch = session->key.epoch,
        .attempt = session->key.attempt,
        .suspended = suspended};
    size_t point_size;
    TRY(chunk_reader_open(node(self)->store, session->tenant, &reader));
    ChunkSource source = chunk_reader_source(reader);
    TRY(read_manifest(self, session, manifest, size, source, &import));
    const void *point = job_import_get_point(import, &point_size);
    ControlArrival *run = TAKE(session->run);
    Error *error = point ? control_arrival_restore(run, point, point_size, source) : NULL;
    if (!error) return job_import_arrive(import, self->control, &arrival, run);
    control_arrival_close(run);
    return error;
}

Error *arrival_service_prepare(ArrivalService *self, uint64_t source, const MigrationKey *key,
    bool suspended, const void *manifest, size_t size) {
    ArrivalAnswer known;
    ArrivalSession *session;
    TRY(arrival_service_find(self, source, key, &known));
    if (known == ARRIVAL_PREPARED || known == ARRIVAL_OWNED) return NULL;
    TRY(enter_session(self, source, key, &session));
    Error *error = prepare(self, session, suspended, manifest, size);
    leave_session(self, session);
    return error;
}

/* ---- whose it is ---- */

/* Whether the job came in a later epoch than the key's; also if it has ended or moved on since. */
static Error *is_owned(ArrivalService *self, const MigrationKey *key, bool *out_owned) {
    TenantId tenant;
    Job job;
    *out_owned = false;
    Error *error = jobs_find_tenant(node(self)->store, key->job, &tenant);
    if (!error) error = jobs_get(node(self)->store, tenant, key->job, &job);
    if (!error) *out_owned = job.epoch > key->epoch && job.state != JOB_STATE_IN_DOUBT;
    if (error_code(error) != ERROR_NOT_FOUND) return error;
    error_free(error);
    return NULL;
}

Error *arrival_service_find(
    ArrivalService *self, uint64_t source, const MigrationKey *key, ArrivalAnswer *out_answer) {
    Arrival arrival;
    bool found, owned;
    TRY(find_arrival(self, source, key, &found, &arrival));
    TRY(is_owned(self, key, &owned));
    *out_answer = found   ? arrival.progress == ARRIVAL_IS_PREPARED  ? ARRIVAL_PREPARED
                            : arrival.progress == ARRIVAL_IS_ADOPTED ? ARRIVAL_OWNED
                                                                     : ARRIVAL_OFFERED
                  : owned ? ARRIVAL_OWNED
                          : ARRIVAL_UNKNOWN;
    return NULL;
}

static Error *fail_unprepared(const MigrationKey *key) {
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(key->job, name);
    FAIL(NOT_FOUND, "attempt %lld at job %s is not prepared here", (long long)key->attempt, name);
}

Error *arrival_service_activate(ArrivalService *self, uint64_t source, const MigrationKey *key) {
    Arrival arrival;
    bool found, owned;
    TRY(find_arrival(self, source, key, &found, &arrival));
    if (found && arrival.progress == ARRIVAL_IS_PREPARED) {
        TRY(control_arrival_own(self->control, arrival.tenant, key->job, arrival.suspended, 0,
            "the other node gave it up: it is this node's"));
        arrival_sessions_end(&self->sessions, source, key);
        return NULL;
    }
    /* also if the job has moved on since */
    if (found && arrival.progress == ARRIVAL_IS_ADOPTED) return NULL;
    TRY(is_owned(self, key, &owned));
    return owned ? NULL : fail_unprepared(key);
}

typedef struct Abort {
    MigrationKey key;
    uint64_t source;
    bool removed; /* a job in doubt */
} Abort;

static Error *remove_arrival(Connection *catalog, void *context) {
    Abort *abort = context;
    return arrivals_abort(catalog, abort->key.job, abort->source, abort->key.epoch,
        abort->key.attempt, &abort->removed);
}

Error *arrival_service_abort(ArrivalService *self, uint64_t source, const MigrationKey *key) {
    Abort abort = {*key, source, false};
    Arrival arrival;
    bool found;
    arrival_sessions_end(&self->sessions, source, key);
    TRY(find_arrival(self, source, key, &found, &arrival));
    if (!found) return NULL;
    bool known = arrival.progress == ARRIVAL_IS_PREPARED;
    if (known) TRY(control_arrival_abort(self->control, arrival.tenant, key->job));
    TRY(catalog_run(node(self)->catalog, remove_arrival, &abort));
    if (!abort.removed || known) return NULL;
    return control_arrival_abort(self->control, arrival.tenant, key->job); /* prepared meanwhile */
}
