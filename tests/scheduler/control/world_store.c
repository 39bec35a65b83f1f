#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "tests/scheduler/control/control_world.h"

/* The store of a world: rows in memory. A commit becomes durable some time after its order. */

enum { COMMIT_NS_MAX = 5000000 };

WorldRow *world_find_row(ControlWorld *world, TenantId tenant, JobId id) {
    if (id.number == 0 || id.number > world->row_count) return NULL;
    WorldRow *row = &world->rows[id.number - 1];
    return row->job.tenant == tenant ? row : NULL;
}

static void enter(WorldRow *row, JobState state) {
    row->job.state = state;
    row->suspended |= state == JOB_STATE_SUSPENDED;
}

/* What is stored of outputs has no gap; one that comes again is dropped. */
static void store_outputs(WorldRow *row, const ControlOutputs *outputs) {
    for (const ControlOutput *output = outputs->first; output; output = output->next) {
        assert_true(output->sequence <= row->job.output_count);
        if (output->next) assert_int_equal(output->next->sequence, output->sequence + 1);
        if (output->sequence == row->job.output_count) row->job.output_count++;
        if (output->items_done > row->job.items_done) row->job.items_done = output->items_done;
    }
}

static Error *write_commit(ControlWorld *world, StoreCommit *commit) {
    WorldRow *row = world_find_row(world, commit->tenant, commit->id);
    const bool frees = commit->state != JOB_STATE_NONE && commit->state != JOB_STATE_QUEUED &&
                       commit->outputs.count == 0 && !pending_snapshot_is_there(&commit->snapshot);
    assert_non_null(row);
    if (pending_snapshot_is_on_device(&commit->snapshot) &&
        world->devices[pending_snapshot_device(&commit->snapshot)].lost && world_chance(world, 2))
        FAIL(DEVICE_LOST, "the device is lost");
    if (world->full && !frees) FAIL(EXHAUSTED, "the disk is full");
    if (!world->calm && world_chance(world, 5000)) FAIL(CORRUPT, "the row is damaged");
    if (commit->epoch != row->job.epoch) FAIL(CONFLICT, "another epoch");
    if (commit->state != JOB_STATE_NONE && !job_state_allows(row->job.state, commit->state))
        FAIL(INTERNAL, "job %llu: %s to %s is no step of a job",
            (unsigned long long)commit->id.number, job_state_info(row->job.state)->name,
            job_state_info(commit->state)->name);
    store_outputs(row, &commit->outputs);
    if (pending_snapshot_is_there(&commit->snapshot)) { /* nothing before it is missing */
        assert_true(commit->snapshot.state.sequence <= row->job.output_count);
        row->has_checkpoint = true;
        row->checkpoint_items = commit->snapshot.state.items_done;
        row->checkpoint_sequence = commit->snapshot.state.sequence;
        row->job.checkpoint_created = 1;
        commit->checkpoint_bytes = 100;
    }
    for (const JobTelling *telling = commit->tellings; telling; telling = telling->next)
        row->missed |= telling->kind == JOB_EVENT_DEADLINE;
    if (commit->state != JOB_STATE_NONE) enter(row, commit->state);
    if (commit->new_epoch) row->job.epoch = commit->new_epoch;
    row->job.started = commit->started;
    row->job.device_seconds = commit->device_seconds;
    return NULL;
}

static void finish_commit(void *context, Message *message) {
    ControlWorld *world = world_of(context);
    StoreCommit *commit = (StoreCommit *)message;
    commit->error = write_commit(world, commit);
    if (error_code(commit->error) == ERROR_INTERNAL)
        fail_msg("seed %llu, step %llu: %s", (unsigned long long)world->seed,
            (unsigned long long)world->step, error_message(commit->error));
    world->committed++;
    world->stalled += error_code(commit->error) == ERROR_EXHAUSTED;
    commit->done(context, commit);
}

static Error *commit(void *self, StoreCommit *order) {
    ControlWorld *world = self;
    order->message.handle = finish_commit;
    world_post(world, &order->message, world_random(world, COMMIT_NS_MAX), NULL);
    return NULL;
}

static Error *write_birth(ControlWorld *world, StoreBirth *birth) {
    if (world->full) FAIL(EXHAUSTED, "the disk is full");
    assert_true(world->row_count < WORLD_ROWS_MAX);
    WorldRow *row = &world->rows[world->row_count];
    void *policy;
    TRY(memory_alloc(1, birth->submission.policy_size, &policy));
    memcpy(policy, birth->submission.policy, birth->submission.policy_size);
    *row = (WorldRow){.policy = policy,
        .policy_size = birth->submission.policy_size,
        .total = birth->submission.items_total,
        .job = {.row = (int64_t)world->row_count + 1,
            .tenant = birth->tenant,
            .id = {1, world->row_count + 1},
            .priority = birth->submission.priority,
            .items_total = birth->submission.items_total,
            .submitted = birth->submission.submitted,
            .started = NAN,
            .finished = NAN,
            .deadline = birth->submission.deadline,
            .checkpoint_created = NAN,
            .epoch = birth->submission.epoch,
            .executable = birth->submission.executable}};
    enter(row, birth->submission.state);
    birth->id = row->job.id;
    birth->created = true;
    world->row_count++;
    return NULL;
}

JobId world_fork_row(ControlWorld *world, JobId id) {
    void *policy;
    assert_true(world->row_count < WORLD_ROWS_MAX);
    const WorldRow *from = &world->rows[id.number - 1];
    WorldRow *row = &world->rows[world->row_count];
    assert_ok(memory_alloc(1, from->policy_size, &policy));
    memcpy(policy, from->policy, from->policy_size);
    *row = *from;
    row->policy = policy;
    row->job.row = (int64_t)++world->row_count;
    row->job.id.number = world->row_count;
    row->job.output_count = from->has_checkpoint ? from->checkpoint_sequence : 0;
    row->job.items_done = from->has_checkpoint ? from->checkpoint_items : 0;
    row->job.state = world_chance(world, 2) ? JOB_STATE_QUEUED : JOB_STATE_SUSPENDED;
    return row->job.id;
}

static void finish_birth(void *context, Message *message) {
    ControlWorld *world = world_of(context);
    StoreBirth *birth = (StoreBirth *)message;
    const uint64_t known = world->row_count;
    if (known > 0 && world_chance(world, 20)) { /* its key stands for another one */
        birth->id = (JobId){1, 1 + world_random(world, known)};
        birth->created = false;
    } else
        birth->error = write_birth(world, birth);
    birth->done(context, birth);
}

static Error *birth(void *self, StoreBirth *order) {
    ControlWorld *world = self;
    if (!world->calm && world_chance(world, 200)) FAIL(EXHAUSTED, "too much waits to be stored");
    order->message.handle = finish_birth;
    world_post(world, &order->message, world_random(world, COMMIT_NS_MAX), NULL);
    return NULL;
}

static void set_time(void *self, TenantId tenant, JobId id, double device_seconds) {
    WorldRow *row = world_find_row(self, tenant, id);
    if (row) row->job.device_seconds = device_seconds;
}

static Error *get(void *self, TenantId tenant, JobId id, Job *out_job) {
    const WorldRow *row = world_find_row(self, tenant, id);
    if (!row) FAIL(NOT_FOUND, "no such job");
    *out_job = row->job;
    return NULL;
}

static Error *get_at(void *self, int64_t row, Job *out_job) {
    *out_job = ((ControlWorld *)self)->rows[row - 1].job;
    return NULL;
}

static void name_at(void *self, int64_t row, char out[JOB_ID_TEXT_SIZE]) {
    job_id_print(((ControlWorld *)self)->rows[row - 1].job.id, out);
}

static Error *list_places(void *self, JobState state, int64_t after,
    JobPlace out_places[JOB_PLACES_MAX], size_t *out_count) {
    const ControlWorld *world = self;
    *out_count = 0;
    for (size_t i = (size_t)after; i < world->row_count && *out_count < JOB_PLACES_MAX; i++)
        if (world->rows[i].job.state == state)
            out_places[(*out_count)++] = (JobPlace){(int64_t)i + 1, world->rows[i].job.tenant};
    return NULL;
}

static Error *get_policy(void *self, TenantId tenant, JobId id, ByteWriter *inout_policy) {
    const WorldRow *row = world_find_row(self, tenant, id);
    byte_write_bytes(inout_policy, row->policy, row->policy_size);
    return byte_writer_check(inout_policy);
}

static Error *find_past(void *self, TenantId tenant, JobId id, StorePast *out_past) {
    const WorldRow *row = world_find_row(self, tenant, id);
    *out_past = (StorePast){.suspended = row->suspended, .missed = row->missed};
    return NULL;
}

static Error *find_model(
    void *self, TenantId tenant, const Digest *identity, StoreModel *out_model) {
    (void)self;
    (void)tenant;
    *out_model = (StoreModel){.constant_bytes = identity->bytes[0] % 2 ? 1000 : 0};
    return NULL;
}

static Error *get_tenant(void *self, TenantId id, Tenant *out_tenant) {
    (void)self;
    Tenant tenant = {.id = id, .weight = 1};
    for (int i = 0; i < QUOTA_COUNT; i++) tenant.quotas[i] = QUOTA_UNLIMITED;
    tenant.quotas[QUOTA_QUEUED_JOBS] = WORLD_LIVE_JOBS;
    *out_tenant = tenant;
    return NULL;
}

static Error *list_tenants(void *self, TenantList **out_list) {
    (void)self;
    return memory_alloc(1, sizeof(TenantList), (void **)out_list);
}

static Error *hold_at(void *self, int64_t row, const char *why) {
    fail_msg("job %lld cannot be taken up: %s", (long long)row, why);
    (void)self;
    return NULL;
}

static Error *cancel(void *self, TenantId tenant, JobId id) {
    WorldRow *row = world_find_row(self, tenant, id);
    if (!job_state_allows(row->job.state, JOB_STATE_CANCELLED)) FAIL(CONFLICT, "it has ended");
    enter(row, JOB_STATE_CANCELLED);
    return NULL;
}

static Error *check(void *self) {
    (void)self;
    return NULL;
}

ControlStorePort world_store_port(ControlWorld *world) {
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
        .self = world};
}
