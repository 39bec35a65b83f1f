#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/container_of.h"
#include "scheduler/control/control_accounts.h"
#include "scheduler/control/control_tellings.h"
#include "scheduler/control/control_internal.h"
#include "serialize/arrays/array_bundle.h"
#include "store/chunks/chunk_upload.h"

enum { SMALL_BYTES = 16 << 10 }; /* of outputs that are bundled on the control thread */
/* A commit that has no room is tried again after so long, each time twice as long: it packs all its
 * outputs anew. */
static const uint64_t RETRY_NS_MIN = 500000000, RETRY_NS_MAX = 8000000000;

/* Everything of a job that is stored in one go: outputs, how far it is, a checkpoint, a state. Made
 * on an I/O thread, committed by the catalog's writer, answered on the control thread. */
typedef struct Commit {
    IoTask task;
    CatalogRequest request;
    Message message;
    ControlJob *job;
    ControlOutputs outputs;
    bool has_snapshot;
    uint32_t snapshot_device;
    JobTelling *tellings;
    bool moving; /* the snapshot is of where the job left its device */
    JobSnapshot snapshot;
    JobState state; /* NONE: as it is */
    char *why;      /* may be NULL */
    int64_t epoch, new_epoch;
    double device_seconds, started;
    uint64_t start_ns;
    char device[JOB_DEVICE_SIZE];
    /* made of them */
    ChunkUpload *upload;
    ArrayBundle *bundles;
    size_t bundle_count;
    JobContent *contents;
    ByteWriter checkpoint_bytes;
    ChunkRef *checkpoint_chunks;
    JobContent checkpoint;
    Error *error;
} Commit;

static void commit_free(Commit *commit) {
    for (size_t i = 0; i < commit->bundle_count; i++) array_bundle_deinit(&commit->bundles[i]);
    memory_free(commit->bundles);
    memory_free(commit->contents);
    byte_writer_deinit(&commit->checkpoint_bytes);
    memory_free(commit->checkpoint_chunks);
    chunk_upload_close(commit->upload);
    control_outputs_deinit(&commit->outputs);
    if (commit->has_snapshot) job_snapshot_deinit(&commit->snapshot);
    error_free(commit->error);
    memory_free(commit->why);
    control_tellings_free(commit->tellings);
    memory_free(commit);
}

/* ---- on an I/O thread ---- */

static Error *bundle_outputs(Commit *commit) {
    const ControlJob *job = commit->job;
    void *memory;
    size_t i = 0;
    TRY(memory_alloc(commit->outputs.count, sizeof(ArrayBundle), &memory));
    commit->bundles = memory;
    TRY(memory_alloc(commit->outputs.count, sizeof(JobContent), &memory));
    commit->contents = memory;
    for (const ControlOutput *output = commit->outputs.first; output; output = output->next, i++) {
        ArrayBundle *bundle = &commit->bundles[i];
        commit->bundle_count++;
        TRY(array_bundle_write(&output->arrays, job->control->options.pool,
            chunk_upload_sink(commit->upload), bundle));
        commit->contents[i] = (JobContent){.bytes = bundle->bytes.data,
            .size = bundle->bytes.size,
            .chunks = bundle->chunks,
            .chunk_count = bundle->chunk_count};
        TRY(job_content_stage(commit->upload, job->tenant, &commit->contents[i]));
    }
    return NULL;
}

static Error *write_checkpoint(Commit *commit) {
    const ControlJob *job = commit->job;
    size_t count;
    TRY(job_snapshot_write(&commit->snapshot, job->control->options.pool,
        chunk_upload_sink(commit->upload), &commit->checkpoint_bytes, &commit->checkpoint_chunks,
        &count));
    commit->checkpoint = (JobContent){.bytes = commit->checkpoint_bytes.data,
        .size = commit->checkpoint_bytes.size,
        .chunks = commit->checkpoint_chunks,
        .chunk_count = count};
    return job_content_stage(commit->upload, job->tenant, &commit->checkpoint);
}

static Error *make_contents(Commit *commit) {
    if (!commit->has_snapshot && commit->outputs.count == 0) return NULL;
    TRY(chunk_upload_open(
        commit->job->control->options.store, commit->job->tenant, &commit->upload));
    if (commit->outputs.count > 0) TRY(bundle_outputs(commit));
    return commit->has_snapshot ? write_checkpoint(commit) : NULL;
}

/* ---- on the catalog's writer ---- */

static int64_t items_done(const Commit *commit) {
    int64_t items = commit->outputs.last ? commit->outputs.last->items_done : -1;
    return commit->has_snapshot ? commit->snapshot.items_done : items;
}

static Error *write_rows(Connection *catalog, void *context) {
    const Commit *commit = context;
    const ControlJob *job = commit->job;
    JobChanges changes = {.outputs = commit->contents,
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
    if (commit->has_snapshot) {
        changes.checkpoint = &commit->checkpoint;
        changes.checkpoint_items = commit->snapshot.items_done;
        changes.checkpoint_outputs = commit->snapshot.sequence;
        changes.checkpoints_kept = (int64_t)job->policy.checkpoint_keep;
    }
    return jobs_apply(catalog, job->tenant, job->id, &changes);
}

static void post_done(CatalogRequest *request, Error *owned_error) {
    Commit *commit = CONTAINER_OF(request, Commit, request);
    commit->error = owned_error;
    control_post(commit->job->control, &commit->message);
}

/* An end or a rest, and nothing beside it that takes room. */
static bool frees(const Commit *commit) {
    return commit->state != JOB_STATE_NONE && commit->state != JOB_STATE_QUEUED &&
           commit->outputs.count == 0 && !commit->has_snapshot;
}

static void run_commit(IoTask *task) {
    Commit *commit = (Commit *)task;
    Control *control = commit->job->control;
    commit->request = (CatalogRequest){
        .work = write_rows, .context = commit, .frees = frees(commit), .done = post_done};
    Error *error = make_contents(commit);
    if (!error) error = catalog_post(control->options.catalog, &commit->request);
    if (!error) return; /* the commit is the writer's now, and may be done and gone */
    commit->error = error;
    control_post(control, &commit->message);
}

/* ---- on the control thread ---- */

static void tell_moved_out(ControlJob *job, bool worked) {
    control_post_event(job->control,
        (PolicyEvent){.kind = POLICY_EVENT_MOVED_OUT, .job = job->number.low, .worked = worked});
}

/* What could not be stored is kept, in front of what came since. */
static void take_back(ControlJob *job, Commit *commit) {
    ControlOutputs newer = job->pending;
    job->pending = commit->outputs;
    commit->outputs = (ControlOutputs){0};
    control_outputs_append(&job->pending, &newer);
    if (commit->has_snapshot && !job->has_snapshot) {
        job->snapshot = commit->snapshot;
        job->has_snapshot = true;
        job->snapshot_device = commit->snapshot_device;
        commit->has_snapshot = false;
    }
    JobTelling **end = &commit->tellings;
    while (*end) end = &(*end)->next;
    *end = job->tellings;
    job->tellings = TAKE(commit->tellings);
    if (commit->state != JOB_STATE_NONE && job->wanted_state == JOB_STATE_NONE) {
        job->wanted_state = commit->state; /* and it is not tried again at once */
        job->why = TAKE(commit->why);
        job->new_epoch = commit->new_epoch;
    }
}

void control_give_up_move(ControlJob *job) {
    if (!job->stalled || !job->moving_to_disk) return;
    job->moving_to_disk = false;
    tell_moved_out(job, false);
}

void control_leave_policy(ControlJob *job) {
    if (!job->known || !job->moving_to_disk) return;
    job->moving_to_disk = false;
    tell_moved_out(job, false);
}

/* A job whose data has no room stops where it is: it would only make more of it. What has ended
 * waits until its end can be stored. */
static void halt(ControlJob *job, const Error *error) {
    TextBuilder OWN_TEXT(why) = {0};
    if (job->halt_why || job->wanted_state != JOB_STATE_NONE || !job->known) return;
    text_appendf(&why, "its data could not be stored: %s; resume it when there is room",
        error_message(error));
    error_free(text_builder_take(&why, &job->halt_why)); /* without memory it is tried again */
    if (job->halt_why)
        control_post_event(job->control,
            (PolicyEvent){.kind = POLICY_EVENT_SUSPEND_REQUESTED, .job = job->number.low});
}

/* Whoever waits holds a thread of the HTTP server. A cancellation that has not been tried yet waits
 * for its own commit; one that was is told, and stays wanted. */
static void answer_stalled(ControlJob *job, const Error *error) {
    if (job->wanted_state != JOB_STATE_CANCELLED) {
        control_answer_stalled(job, error);
        return;
    }
    Error *told = error_wrap(error_copy(error), "it stops, and is cancelled when there is room");
    control_answer_waiters(job, told);
    error_free(told);
}

static void stall(ControlJob *job, const Error *error) {
    Control *control = job->control;
    job->stalled = true;
    job->resume_wanted = false;
    halt(job, error);
    control_count(control, METRIC_COMMITS_STALLED, 0, 1);
    if (job->cancelling) control_give_up_move(job);
    control->retry_after_ns *= 2;
    if (control->retry_after_ns < RETRY_NS_MIN) control->retry_after_ns = RETRY_NS_MIN;
    if (control->retry_after_ns > RETRY_NS_MAX) control->retry_after_ns = RETRY_NS_MAX;
    if (!control->retry_ns) control->retry_ns = control_now_ns(control) + control->retry_after_ns;
    control_set_waiting(job, "waits until its data can be stored: ", error);
    answer_stalled(job, error);
}

/* Who cancels a job does not wait for room for what it made last. */
static bool drop_for_end(ControlJob *job) {
    if (job->wanted_state != JOB_STATE_CANCELLED) return false;
    if (!job->pending.count && !job->has_snapshot) return false;
    control_outputs_deinit(&job->pending);
    control_job_drop_snapshot(job);
    job->stalled = false;
    return true;
}

/* The policy lets its device go; what it made is not stored, since that is what fails. Where not
 * even its end can be stored, this process forgets it: the next one finds it as it is. */
static void give_up(ControlJob *job, const Commit *commit) {
    char text[JOB_WHY_SIZE + 64], name[JOB_ID_TEXT_SIZE];
    const Control *control = job->control;
    if (!job->broken && job->known)
        control_post_event(job->control,
            (PolicyEvent){.kind = POLICY_EVENT_CANCEL_REQUESTED, .job = job->number.low});
    job->broken = true;
    control_outputs_deinit(&job->pending);
    control_job_drop_snapshot(job);
    if (commit->state != JOB_STATE_FAILED) {
        control_want_state(job, JOB_STATE_FAILED, error_message(commit->error));
        return;
    }
    job->ended = true;
    job_id_print(job->id, name);
    (void)snprintf(text, sizeof text, "job %s does not run, and its end cannot be stored: %s", name,
        error_message(commit->error));
    if (control->options.warn) control->options.warn(NULL, text);
}

/* A full disk or quota passes; anything else means that the job's row is not what it should be. */
static void handle_failure(ControlJob *job, Commit *commit) {
    Control *control = job->control;
    Error *fatal = catalog_check(control->options.catalog);
    if (fatal) {
        control_fail(control, fatal);
        return;
    }
    if (commit->has_snapshot && error_code(commit->error) == ERROR_DEVICE_LOST) {
        job_snapshot_deinit(&commit->snapshot); /* the rest is here */
        commit->has_snapshot = false;
        job->checkpoint_wanted = true; /* whoever waits for it gets the next one */
        take_back(job, commit);
        control_lose_device(control, commit->snapshot_device);
        return;
    }
    if (error_code(commit->error) == ERROR_EXHAUSTED) {
        take_back(job, commit);
        if (drop_for_end(job)) {
            if (commit->moving)
                tell_moved_out(job, false); /* until told, the policy counts the device bytes */
            return;
        }
        job->moving_to_disk |= commit->moving;
        stall(job, commit->error);
        return;
    }
    control_answer_waiters(job, commit->error);
    job->releasing = false;
    if (commit->moving) tell_moved_out(job, false);
    if (job->stored_state == JOB_STATE_QUEUED) give_up(job, commit);
}

static void handle_success(ControlJob *job, const Commit *commit) {
    Control *control = job->control;
    uint64_t now_ns = control_now_ns(control);
    job->stalled = false;
    control->retry_after_ns = 0;
    control_set_waiting(job, "", NULL);
    if (commit->has_snapshot) {
        job->has_checkpoint = true;
        control_observe(control, METRIC_CHECKPOINT_SECONDS, commit->start_ns, now_ns);
        control_count(
            control, METRIC_CHECKPOINT_BYTES, 0, (int64_t)commit->checkpoint.bytes_stored);
        if (job->known)
            control_post_event(
                control, (PolicyEvent){.kind = POLICY_EVENT_CHECKPOINTED, .job = job->number.low});
        control_answer_checkpoint(job);
    }
    if (commit->moving) {
        control_job_close(job);
        job->fresh = false;
        tell_moved_out(job, true);
    }
    if (commit->new_epoch) job->epoch = commit->new_epoch;
    if (commit->state == JOB_STATE_NONE) return;
    job->stored_state = commit->state;
    if (commit->state == JOB_STATE_SUSPENDED || commit->state == JOB_STATE_QUEUED) {
        memory_free(job->halt_why);
        job->halt_why = NULL;
    }
    if (commit->state == JOB_STATE_SUSPENDED)
        control_observe(control, METRIC_SUSPEND_SECONDS, job->suspend_asked_ns, now_ns);
    job->suspend_asked_ns = 0;
    bool ended = !job_state_is_unfinished(commit->state);
    if (ended) control_count_end(control, commit->state); /* who is answered finds it counted */
    if (control_go_on_resuming(job)) return;
    if (ended) { /* whoever is answered finds the tenant's counts right, too */
        job->ended = true;
        control_update_status(job);
    }
    control_answer_state(job);
    if (commit->state == JOB_STATE_QUEUED) control_resumed(job);
}

/* Enough of its outputs are stored. */
static void unblock(ControlJob *job) {
    if (!job->blocked || control_outputs_are_many(job)) return;
    job->blocked = false;
    if (job->known)
        control_post_event(
            job->control, (PolicyEvent){.kind = POLICY_EVENT_UNBLOCKED, .job = job->number.low});
}

static void handle_done(void *context, Message *message) {
    Control *control = context;
    Commit *commit = CONTAINER_OF(message, Commit, message);
    ControlJob *job = commit->job;
    control->in_flight--;
    if (commit->has_snapshot) control->devices[commit->snapshot_device].in_flight--;
    job->committing = false;
    job->storing = (ControlOutputs){0};
    if (commit->error)
        handle_failure(job, commit);
    else
        handle_success(job, commit);
    commit_free(commit);
    if (!job->stalled) control_commit(job);
    unblock(job);
    control_update_status(job);
    control_job_settle(job);
}

/* Moving to disk needs a snapshot of where it is now; the job does not run meanwhile. */
static bool take_moving_snapshot(ControlJob *job) {
    if (!job->run) { /* it had a device, but has not begun: there is nothing to store */
        job->moving_to_disk = false;
        tell_moved_out(job, true);
        return false;
    }
    Error *error = control_job_take_snapshot(job);
    if (!error) return true;
    error_free(error);
    job->moving_to_disk = false;
    tell_moved_out(job, false);
    return false;
}

static bool has_work(const ControlJob *job) {
    if (job->stalled && job->wanted_state != JOB_STATE_CANCELLED && !job->control->draining)
        return false; /* until it is tried again */
    return job->pending.count > 0 || job->has_snapshot || job->wanted_state != JOB_STATE_NONE ||
           job->moving_to_disk || job->tellings;
}

/* Made in a few microseconds and without chunks: an I/O thread would only be a detour. */
static bool is_small(const Commit *commit) {
    uint64_t bytes = 0;
    for (const ControlOutput *output = commit->outputs.first; output; output = output->next)
        for (size_t i = 0; i < output->arrays.count; i++) {
            if (output->arrays.items[i].texts) return false;
            bytes += output->arrays.items[i].size;
        }
    return !commit->has_snapshot && commit->outputs.count < 8 && bytes <= SMALL_BYTES;
}

void control_commit(ControlJob *job) {
    Control *control = job->control;
    void *memory;
    if (control->ending || job->committing || job->ended || job->id.number == 0 || !has_work(job))
        return;
    bool moving = job->moving_to_disk;
    if (moving && !take_moving_snapshot(job)) return;
    job->moving_to_disk = false;
    Error *error = memory_alloc(1, sizeof(Commit), &memory);
    if (error) {
        control_fail(control, error);
        return;
    }
    Commit *commit = memory;
    commit->task.run = run_commit;
    commit->message.handle = handle_done;
    commit->job = job;
    commit->moving = moving;
    commit->outputs = job->pending;
    job->pending = (ControlOutputs){0};
    job->storing = (ControlOutputs){.count = commit->outputs.count, .bytes = commit->outputs.bytes};
    commit->has_snapshot = job->has_snapshot;
    commit->snapshot = job->snapshot;
    commit->snapshot_device = job->snapshot_device;
    job->has_snapshot = false;
    job->snapshot = (JobSnapshot){0};
    if (commit->has_snapshot) control->devices[commit->snapshot_device].in_flight++;
    if (moving) control_tell_moved_out(job, "to disk");
    commit->tellings = TAKE(job->tellings);
    commit->state = job->wanted_state;
    job->wanted_state = JOB_STATE_NONE;
    commit->why = TAKE(job->why);
    commit->epoch = job->epoch;
    commit->new_epoch = commit->state != JOB_STATE_NONE ? job->new_epoch : 0;
    if (commit->new_epoch) job->new_epoch = 0;
    commit->start_ns = control_now_ns(control);
    commit->device_seconds = job->device_seconds_before + (double)job->device_ns * 1e-9;
    commit->started = job->started;
    if (!isnan(job->started))
        memcpy(commit->device, control->devices[job->device].name,
            sizeof control->devices[job->device].name);
    job->committing = true;
    control->in_flight++;
    if (is_small(commit))
        run_commit(&commit->task);
    else
        io_pool_post(control->io, &commit->task);
}

void control_want_state(ControlJob *job, JobState state, const char *why) {
    job->wanted_state = state;
    memory_free(job->why);
    job->why = NULL;
    if (why) error_free(memory_copy_text(why, &job->why)); /* without memory it has no reason */
    control_commit(job);
}

void control_retry_commits(Control *control, uint64_t now_ns) {
    if (!control->retry_ns || now_ns < control->retry_ns) return;
    control->retry_ns = 0;
    for (size_t i = 0; i < control->by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->by_number.slots[i];
        if (!job || !job->stalled) continue;
        job->stalled = false;
        control_commit(job);
    }
}
