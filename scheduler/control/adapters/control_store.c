#include "scheduler/control/adapters/control_store.h"

#include "base/allocator.h"
#include "base/container_of.h"
#include "scheduler/node/model_loader.h"
#include "serialize/arrays/array_bundle.h"
#include "store/chunks/chunk_upload.h"
#include "store/database/catalog.h"

enum { SMALL_BYTES = 16 << 10 }; /* of outputs that are bundled on the control thread */

struct ControlStore {
    const ControlOptions *options;
    IoPool *io;
    ControlMailbox mailbox;
};

/* ---- commits: made on an I/O thread, written by the catalog's writer ---- */

typedef struct Writing {
    IoTask task;
    CatalogRequest request;
    const ControlStore *store;
    StoreCommit *commit;
    /* made of the commit */
    ChunkUpload *upload;
    ArrayBundle *bundles;
    size_t bundle_count;
    JobContent *contents;
    ByteWriter checkpoint_bytes;
    ChunkRef *checkpoint_chunks;
    JobContent checkpoint;
} Writing;

static void free_writing(Writing *writing) {
    for (size_t i = 0; i < writing->bundle_count; i++) array_bundle_deinit(&writing->bundles[i]);
    memory_free(writing->bundles);
    memory_free(writing->contents);
    byte_writer_deinit(&writing->checkpoint_bytes);
    memory_free(writing->checkpoint_chunks);
    chunk_upload_close(writing->upload);
    memory_free(writing);
}

static Error *bundle_outputs(Writing *writing) {
    const StoreCommit *commit = writing->commit;
    void *memory;
    size_t i = 0;
    TRY(memory_alloc(commit->outputs.count, sizeof(ArrayBundle), &memory));
    writing->bundles = memory;
    TRY(memory_alloc(commit->outputs.count, sizeof(JobContent), &memory));
    writing->contents = memory;
    for (const ControlOutput *output = commit->outputs.first; output; output = output->next, i++) {
        ArrayBundle *bundle = &writing->bundles[i];
        writing->bundle_count++;
        TRY(array_bundle_write(&output->arrays, writing->store->options->pool,
            chunk_upload_sink(writing->upload), bundle));
        writing->contents[i] = (JobContent){.bytes = bundle->bytes.data,
            .size = bundle->bytes.size,
            .chunks = bundle->chunks,
            .chunk_count = bundle->chunk_count};
        TRY(job_content_stage(writing->upload, commit->tenant, &writing->contents[i]));
    }
    return NULL;
}

static Error *write_checkpoint(Writing *writing) {
    const StoreCommit *commit = writing->commit;
    size_t count;
    TRY(job_snapshot_write(&commit->snapshot.state, writing->store->options->pool,
        chunk_upload_sink(writing->upload), &writing->checkpoint_bytes, &writing->checkpoint_chunks,
        &count));
    writing->checkpoint = (JobContent){.bytes = writing->checkpoint_bytes.data,
        .size = writing->checkpoint_bytes.size,
        .chunks = writing->checkpoint_chunks,
        .chunk_count = count};
    return job_content_stage(writing->upload, commit->tenant, &writing->checkpoint);
}

static Error *make_contents(Writing *writing) {
    const StoreCommit *commit = writing->commit;
    if (!pending_snapshot_is_there(&commit->snapshot) && commit->outputs.count == 0) return NULL;
    TRY(chunk_upload_open(writing->store->options->store, commit->tenant, &writing->upload));
    if (commit->outputs.count > 0) TRY(bundle_outputs(writing));
    return pending_snapshot_is_there(&commit->snapshot) ? write_checkpoint(writing) : NULL;
}

static int64_t items_done(const StoreCommit *commit) {
    int64_t items = commit->outputs.last ? commit->outputs.last->items_done : -1;
    return pending_snapshot_is_there(&commit->snapshot) ? commit->snapshot.state.items_done : items;
}

static Error *write_rows(Connection *catalog, void *context) {
    const Writing *writing = context;
    const StoreCommit *commit = writing->commit;
    JobChanges changes = {.outputs = writing->contents,
        .output_count = commit->outputs.count,
        .first_output = commit->outputs.first ? commit->outputs.first->sequence : 0,
        .progress = {.items_done = items_done(commit),
            .device_seconds = commit->device_seconds,
            .started = commit->started,
            .device = commit->device[0] ? commit->device : NULL},
        .tellings = commit->tellings,
        .state = commit->state,
        .why = commit->why,
        .epoch = commit->epoch,
        .new_epoch = commit->new_epoch};
    if (pending_snapshot_is_there(&commit->snapshot)) {
        changes.checkpoint = &writing->checkpoint;
        changes.checkpoint_items = commit->snapshot.state.items_done;
        changes.checkpoint_outputs = commit->snapshot.state.sequence;
        changes.checkpoints_kept = commit->checkpoints_kept;
    }
    return jobs_apply(catalog, commit->tenant, commit->id, &changes);
}

/* On the control thread. */
static void finish_commit(void *context, Message *message) {
    StoreCommit *commit = (StoreCommit *)message;
    commit->done(context, commit);
}

static void give_back(Writing *writing, Error *owned_error) {
    const ControlMailbox mailbox = writing->store->mailbox;
    StoreCommit *commit = writing->commit;
    commit->checkpoint_bytes = (uint64_t)writing->checkpoint.bytes_stored;
    commit->error = owned_error;
    free_writing(writing);
    mailbox.post(mailbox.self, &commit->message);
}

static void written(CatalogRequest *request, Error *owned_error) {
    give_back(CONTAINER_OF(request, Writing, request), owned_error);
}

/* True: the commit stores an end or a rest, and nothing that takes room. */
static bool frees(const StoreCommit *commit) {
    return commit->state != JOB_STATE_NONE && commit->state != JOB_STATE_QUEUED &&
           commit->outputs.count == 0 && !pending_snapshot_is_there(&commit->snapshot);
}

static void run_writing(IoTask *task) {
    Writing *writing = (Writing *)task;
    writing->request = (CatalogRequest){
        .work = write_rows, .context = writing, .frees = frees(writing->commit), .done = written};
    Error *error = make_contents(writing);
    if (!error) error = catalog_post(writing->store->options->catalog, &writing->request);
    if (error) give_back(writing, error); /* else it is the writer's now, and may be gone */
}

/* True: the commit is made in a few microseconds and without chunks, so it needs no I/O thread. */
static bool is_small(const StoreCommit *commit) {
    uint64_t bytes = 0;
    for (const ControlOutput *output = commit->outputs.first; output; output = output->next)
        for (size_t i = 0; i < output->arrays.count; i++) {
            if (output->arrays.items[i].texts) return false;
            bytes += output->arrays.items[i].size;
        }
    return !pending_snapshot_is_there(&commit->snapshot) && commit->outputs.count < 8 &&
           bytes <= SMALL_BYTES;
}

static Error *commit(void *self, StoreCommit *order) {
    const ControlStore *store = self;
    void *memory;
    TRY(memory_alloc(1, sizeof(Writing), &memory));
    Writing *writing = memory;
    *writing = (Writing){.task.run = run_writing, .store = store, .commit = order};
    order->message.handle = finish_commit;
    if (is_small(order))
        run_writing(&writing->task);
    else
        io_pool_post(store->io, &writing->task);
    return NULL;
}

/* ---- new jobs ---- */

typedef struct Bearing {
    CatalogRequest request;
    const ControlStore *store;
    StoreBirth *birth;
} Bearing;

static Error *store_job(Connection *catalog, void *context) {
    StoreBirth *birth = ((Bearing *)context)->birth;
    if (birth->restore) {
        JobRestore restore = *birth->restore;
        restore.job = birth->submission;
        birth->created = true;
        return jobs_restore(catalog, birth->tenant, &restore, &birth->id);
    }
    return jobs_submit(catalog, birth->tenant, &birth->submission, &birth->id, &birth->created);
}

static void finish_birth(void *context, Message *message) {
    StoreBirth *birth = (StoreBirth *)message;
    birth->done(context, birth);
}

static void born(CatalogRequest *request, Error *owned_error) {
    Bearing *bearing = CONTAINER_OF(request, Bearing, request);
    const ControlMailbox mailbox = bearing->store->mailbox;
    StoreBirth *birth = bearing->birth;
    birth->error = owned_error;
    memory_free(bearing);
    mailbox.post(mailbox.self, &birth->message);
}

static Error *birth(void *self, StoreBirth *order) {
    const ControlStore *store = self;
    void *memory;
    TRY(memory_alloc(1, sizeof(Bearing), &memory));
    Bearing *bearing = memory;
    *bearing = (Bearing){.request = {.work = store_job, .context = bearing, .done = born},
        .store = store,
        .birth = order};
    order->message.handle = finish_birth;
    Error *error = catalog_post(store->options->catalog, &bearing->request);
    if (error) memory_free(bearing);
    return error;
}

/* ---- a job's device-time that comes behind its end ---- */

/* A catalog request that stores a job's device-time after the job's end was stored. No request
 * waits for the answer. */
typedef struct LateTime {
    CatalogRequest request;
    TenantId tenant;
    JobId job;
    double device_seconds;
} LateTime;

static Error *store_late_time(Connection *catalog, void *context) {
    const LateTime *late = context;
    return jobs_set_device_seconds(catalog, late->tenant, late->job, late->device_seconds);
}

/* Where the job was removed meanwhile or the disk is full, the row lacks the last slice's time. */
static void free_late_time(CatalogRequest *request, Error *owned_error) {
    error_free(owned_error);
    memory_free(CONTAINER_OF(request, LateTime, request));
}

static void set_time(void *self, TenantId tenant, JobId id, double device_seconds) {
    const ControlStore *store = self;
    void *memory;
    Error *error = memory_alloc(1, sizeof(LateTime), &memory);
    if (!error) {
        LateTime *late = memory;
        *late = (LateTime){.request = {.work = store_late_time,
                               .context = late,
                               .frees = true,
                               .done = free_late_time},
            .tenant = tenant,
            .job = id,
            .device_seconds = device_seconds};
        error = catalog_post(store->options->catalog, &late->request);
        if (error) memory_free(late);
    }
    error_free(error);
}

/* ---- reads ---- */

static Error *get(void *self, TenantId tenant, JobId id, Job *out_job) {
    return jobs_get(((ControlStore *)self)->options->store, tenant, id, out_job);
}

static Error *get_at(void *self, int64_t row, Job *out_job) {
    return jobs_get_at(((ControlStore *)self)->options->store, row, out_job);
}

static void name_at(void *self, int64_t row, char out[JOB_ID_TEXT_SIZE]) {
    jobs_name_at(((ControlStore *)self)->options->store, row, out);
}

static Error *list_places(void *self, JobState state, int64_t after,
    JobPlace out_places[JOB_PLACES_MAX], size_t *out_count) {
    Store *store = ((ControlStore *)self)->options->store;
    return jobs_list_places(store, state, after, out_places, out_count);
}

static Error *get_policy(void *self, TenantId tenant, JobId id, ByteWriter *inout_policy) {
    return jobs_get_policy(((ControlStore *)self)->options->store, tenant, id, inout_policy);
}

static Error *find_past(void *self, TenantId tenant, JobId id, StorePast *out_past) {
    Store *store = ((ControlStore *)self)->options->store;
    StorePast past = {0};
    int64_t since = 0;
    size_t count = JOB_EVENTS_READ_MAX;
    while (count == JOB_EVENTS_READ_MAX) {
        OWN(JobEventList, events) = NULL;
        TRY(job_events_list(store, tenant, id, since, &events));
        count = events->count;
        for (size_t i = 0; i < count; i++) {
            const JobEvent *event = &events->items[i];
            since = event->sequence;
            past.suspended |= event->kind == JOB_EVENT_STATE && event->state == JOB_STATE_SUSPENDED;
            past.missed |= event->kind == JOB_EVENT_DEADLINE;
        }
    }
    *out_past = past;
    return NULL;
}

static Error *find_model(
    void *self, TenantId tenant, const Digest *identity, StoreModel *out_model) {
    OWN(Executable, outline) = NULL;
    TRY(model_loader_read_outline(
        ((ControlStore *)self)->options->store, tenant, identity, &outline));
    *out_model = (StoreModel){executable_constant_bytes(outline), outline->device_strings};
    return NULL;
}

static Error *get_tenant(void *self, TenantId tenant, Tenant *out_tenant) {
    return settings_cache_get_tenant(((ControlStore *)self)->options->settings, tenant, out_tenant);
}

static Error *list_tenants(void *self, TenantList **out_list) {
    return tenants_list(((ControlStore *)self)->options->store, out_list);
}

/* ---- writes that are waited for ---- */

typedef struct Holding {
    int64_t row;
    const char *why;
} Holding;

static Error *do_hold(Connection *catalog, void *context) {
    const Holding *holding = context;
    return jobs_hold(catalog, holding->row, holding->why);
}

static Error *hold_at(void *self, int64_t row, const char *why) {
    Holding holding = {row, why};
    return catalog_run(((ControlStore *)self)->options->catalog, do_hold, &holding);
}

typedef struct Cancelling {
    TenantId tenant;
    JobId id;
} Cancelling;

static Error *do_cancel(Connection *catalog, void *context) {
    const Cancelling *job = context;
    return jobs_transition(catalog, job->tenant, job->id, JOB_STATE_CANCELLED, NULL);
}

static Error *cancel(void *self, TenantId tenant, JobId id) {
    Cancelling job = {tenant, id};
    return catalog_run(((ControlStore *)self)->options->catalog, do_cancel, &job);
}

static Error *check(void *self) { return catalog_check(((ControlStore *)self)->options->catalog); }

/* ---- life ---- */

Error *control_store_create(
    const ControlOptions *options, IoPool *io, ControlMailbox mailbox, ControlStore **out_store) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlStore), &memory));
    *out_store = memory;
    **out_store = (ControlStore){options, io, mailbox};
    return NULL;
}

ControlStorePort control_store_get_port(ControlStore *store) {
    return (ControlStorePort){.commit = commit,
        .birth = birth,
        .set_time = set_time,
        .get = get,
        .get_at = get_at,
        .name_at = name_at,
        .list_places = list_places,
        .get_policy = get_policy,
        .find_past = find_past,
        .find_model = find_model,
        .get_tenant = get_tenant,
        .list_tenants = list_tenants,
        .hold_at = hold_at,
        .cancel = cancel,
        .check = check,
        .self = store};
}

static Error *do_nothing(Connection *catalog, void *context) {
    (void)catalog;
    (void)context;
    return NULL;
}

void control_store_finish(ControlStore *store) {
    if (store) error_free(catalog_run(store->options->catalog, do_nothing, NULL));
}

void control_store_release(ControlStore *store) { memory_free(store); }
