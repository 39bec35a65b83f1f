#include "scheduler/control/adapters/control_executor.h"

#include "base/allocator.h"
#include "base/container_of.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/node/stored_arrays.h"
#include "store/database/catalog.h"
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/job_outputs.h"
#include "store/jobs/stored_content.h"

enum { IDLE_MODELS_SHARE = 8 }; /* of the host's memory for models that nothing needs just now */

/* ---- tasks, on an I/O thread ---- */

static Error *make_batch(const ControlExecutor *executor, ExecutorTask *task) {
    JobHold *hold = task->hold;
    ArrayList OWN_ARRAYS(arrays) = {0};
    const BatchOptions options = job_policy_batch_options(task->policy);
    if (hold->batch) return NULL;
    TRY(executable_find_function(hold->held->executable, task->policy->function, &task->function));
    TRY(stored_arrays_read(executor->options->store, executor->options->pool, task->tenant,
        task->id, JOB_CONTENT_INPUTS, 0, STORED_ARRAYS_INPUTS_MAX, &arrays));
    return batch_create(hold->held->executable, task->function, &arrays, &options, &hold->batch);
}

typedef struct Rewinding {
    TenantId tenant;
    JobId job;
    bool done;
} Rewinding;

static Error *rewind_some(Connection *catalog, void *context) {
    Rewinding *work = context;
    return job_outputs_rewind(catalog, work->tenant, work->job, &work->done);
}

/* Rewinds in steps, between which other threads write to the catalog. */
static Error *rewind_outputs(const ControlExecutor *executor, const ExecutorTask *task) {
    Rewinding work = {.tenant = task->tenant, .job = task->id};
    while (!work.done) TRY(catalog_run(executor->options->catalog, rewind_some, &work));
    return NULL;
}

/* Makes the run of a job whose model and inputs are there. */
static Error *make_run(const ExecutorTask *task) {
    JobHold *hold = task->hold;
    ExecutionOptions options = job_policy_execution_options(task->policy);
    execution_limits_apply(&task->limits, &options);
    TRY(job_run_create(TAKE(hold->batch), task->function, &options, &hold->run));
    job_run_set_grant(hold->run, task->grant_bytes);
    job_run_set_suspend_at(hold->run, task->policy->suspend_at, task->suspend_passed);
    return NULL;
}

/* Reads everything that a run needs: the model, onto the device, and the inputs. */
static Error *open_job(ControlExecutor *executor, ExecutorTask *task) {
    JobHold *hold = task->hold;
    ResidentModels *models = executor->models;
    const uint32_t device = task->device;
    TRY(resident_models_hold(models, task->tenant, &task->identity, &hold->held));
    hold->residency = resident_models_get(models, task->tenant, &task->identity, device);
    if (!hold->residency) { /* a model without weights is not loaded by the policy */
        TRY(resident_models_load(
            models, task->tenant, &task->identity, device, executor->drivers.items[device].device));
        hold->residency = resident_models_get(models, task->tenant, &task->identity, device);
    }
    TRY(make_batch(executor, task));
    if (!task->fresh) TRY(rewind_outputs(executor, task));
    return make_run(task);
}

static Error *restore_job(const ControlExecutor *executor, const ExecutorTask *task) {
    OWN(StoredContent, content) = NULL;
    JobCheckpoint checkpoint;
    size_t size;
    Store *store = executor->options->store;
    TRY(job_checkpoints_get(store, task->tenant, task->id, 0, &checkpoint));
    TRY(stored_content_open(
        store, task->tenant, task->id, JOB_CONTENT_CHECKPOINT, checkpoint.number, &content));
    const uint8_t *bytes = stored_content_bytes(content, &size);
    return job_run_restore(task->hold->run, bytes, size, executor->options->pool, CHUNK_VERIFY_XXH3,
        stored_content_source(content), task->hold->residency, NULL);
}

static void leave_device(JobHold *hold) {
    residency_release(hold->residency);
    hold->residency = NULL;
}

static Error *enter_from_host(ControlExecutor *executor, const ExecutorTask *task) {
    JobHold *hold = task->hold;
    hold->residency =
        resident_models_get(executor->models, task->tenant, &task->identity, task->device);
    if (!hold->residency) FAIL(INTERNAL, "a model is not where its execution moves to");
    Error *error = job_run_move_in(hold->run, hold->residency, executor->options->pool);
    if (error) leave_device(hold);
    return error;
}

static Error *do_task(ControlExecutor *executor, ExecutorTask *task) {
    switch (task->kind) {
    case EXECUTOR_OPEN: /* there is a checkpoint when the job came from a file */
    case EXECUTOR_ENTER_FROM_DISK:
        TRY(open_job(executor, task));
        return task->has_checkpoint ? restore_job(executor, task) : NULL;
    case EXECUTOR_ENTER_FROM_HOST:
        return enter_from_host(executor, task);
    case EXECUTOR_LEAVE_TO_HOST:
        TRY(job_run_move_out(task->hold->run, executor->options->pool));
        leave_device(task->hold);
        return NULL;
    case EXECUTOR_LOAD_WEIGHTS:
        return resident_models_load(executor->models, task->tenant, &task->identity, task->device,
            executor->drivers.items[task->device].device);
    case EXECUTOR_CLOSE_DEVICE:
        control_drivers_close(&executor->drivers, task->device);
        return NULL;
    case EXECUTOR_OPEN_DEVICE:
        return control_drivers_open(&executor->drivers, task->device, &task->device_bytes);
    }
    return NULL;
}

typedef struct Work {
    IoTask io;
    ControlExecutor *executor;
    ExecutorTask *task;
} Work;

static void run_work(IoTask *io) {
    Work *work = (Work *)io;
    const ControlMailbox *mailbox = &work->executor->mailbox;
    ExecutorTask *task = work->task;
    task->error = do_task(work->executor, task);
    memory_free(work);
    mailbox->post(mailbox->self, &task->message);
}

/* ---- slices, on the worker's threads ---- */

static Error *keep_output(
    void *self, int64_t sequence, ArrayList *owned_arrays, int64_t items_done) {
    JobHold *hold = self;
    TRY(control_outputs_add(&hold->outputs, sequence, owned_arrays, items_done));
    if (control_outputs_are_many(hold->outputs.count, hold->outputs.bytes))
        job_run_request_slice_end(hold->run); /* what it has gets stored first */
    return NULL;
}

/* The thread has nothing to do before the logic has decided what the device does next, so it takes
 * that turn. The hold may be gone behind the message. */
static void end_slice(WorkerSlice *slice) {
    JobHold *hold = CONTAINER_OF(slice, JobHold, slice);
    const ControlMailbox *mailbox = hold->mailbox;
    if (!mailbox->help) {
        mailbox->post(mailbox->self, &hold->slice_ended);
        return;
    }
    mailbox->leave(mailbox->self, &hold->slice_ended);
    mailbox->help(mailbox->self);
}

/* Called on the slice's thread before the slice can end, so the job still exists when the message
 * is handled. */
static void tell_paused(void *listener) {
    JobHold *hold = listener;
    if (atomic_exchange(&hold->pause_told, true)) return;
    hold->mailbox->post(hold->mailbox->self, &hold->paused);
}

/* ---- the port, on the control thread ---- */

static void finish_task(void *context, Message *message) {
    ExecutorTask *task = (ExecutorTask *)message;
    task->done(context, task);
}

static Error *post(void *self, ExecutorTask *task) {
    ControlExecutor *executor = self;
    void *memory;
    TRY(memory_alloc(1, sizeof(Work), &memory));
    Work *work = memory;
    *work = (Work){.io.run = run_work, .executor = executor, .task = task};
    task->message.handle = finish_task;
    io_pool_post(executor->io, &work->io);
    return NULL;
}

static void close_hold(void *self, JobHold *hold) {
    ControlExecutor *executor = self;
    job_run_release(hold->run);
    hold->run = NULL;
    leave_device(hold);
    if (hold->held) resident_models_let_go(executor->models, hold->held);
    hold->held = NULL;
    batch_release(hold->batch);
    hold->batch = NULL;
}

static bool open_at_once(void *self, const ExecutorTask *task) {
    ControlExecutor *executor = self;
    JobHold *hold = task->hold;
    if (!hold->batch) return false;
    if (!resident_models_try_hold(executor->models, task->tenant, &task->identity, task->device,
            &hold->held, &hold->residency))
        return false;
    Error *error = make_run(task);
    if (!error) return true;
    error_free(error); /* no memory: it is tried once more with the inputs that are stored */
    close_hold(executor, hold);
    return false;
}

void control_executor_lend(ControlExecutor *executor, WorkerSlice **out_slice) {
    executor->out_lent = out_slice;
}

static bool run(void *self, JobHold *hold, uint32_t device, uint64_t grant_bytes) {
    ControlExecutor *executor = self;
    const ControlDriver *driver = &executor->drivers.items[device];
    hold->mailbox = &executor->mailbox;
    job_run_set_grant(hold->run, grant_bytes);
    hold->slice = (WorkerSlice){.run = hold->run,
        .residency = hold->residency,
        .sink = {keep_output, hold},
        .done = end_slice};
    job_run_set_paused(hold->run, tell_paused, hold);
    const bool lent = hold->brief && driver->host_memory && executor->out_lent;
    if (lent) {
        *executor->out_lent = &hold->slice;
        executor->out_lent = NULL; /* one slice a thread */
    } else
        worker_post(driver->worker, &hold->slice);
    return lent;
}

static void set_aside(void *self, uint32_t device) {
    worker_set_aside(((ControlExecutor *)self)->drivers.items[device].worker);
}

static void request(void *self, JobHold *hold, ExecutorRequest what, uint64_t from_ns) {
    (void)self;
    switch (what) {
    case EXECUTOR_PAUSE:
        job_run_request_pause(hold->run, from_ns);
        return;
    case EXECUTOR_RESUME:
        job_run_resume(hold->run);
        /* behind its kernel, so that what it made is stored before the next one begins */
        job_run_request_slice_end(hold->run);
        return;
    case EXECUTOR_ABANDON:
        job_run_request_abandon(hold->run);
        return;
    case EXECUTOR_DISCARD:
        job_run_request_discard(hold->run);
        return;
    }
}

static LongKernel get_kernel(void *self, const JobHold *hold) {
    (void)self;
    return hold->run ? job_run_get_kernel(hold->run) : (LongKernel){0};
}

static Error *take_snapshot(void *self, const JobHold *hold, JobSnapshot *out_snapshot) {
    (void)self;
    return job_run_take_snapshot(hold->run, out_snapshot);
}

static int64_t items_done(void *self, const JobHold *hold) {
    (void)self;
    return job_run_items_done(hold->run);
}

static JobRunCounters get_counters(void *self, const JobHold *hold) {
    (void)self;
    return job_run_get_counters(hold->run);
}

static char *take_class_change(void *self, JobHold *hold) {
    (void)self;
    return job_run_take_class_change(hold->run);
}

static bool find_inputs(void *self, const JobHold *hold, ExecutorInputs *out_inputs) {
    (void)self;
    if (!hold->batch) return false;
    *out_inputs = (ExecutorInputs){batch_bytes(hold->batch), batch_item_count(hold->batch)};
    return true;
}

static void drop_inputs(void *self, JobHold *hold) {
    (void)self;
    batch_release(hold->batch);
    hold->batch = NULL;
}

static void evict(void *self, TenantId tenant, const Digest *identity, uint32_t device) {
    resident_models_evict(((ControlExecutor *)self)->models, tenant, identity, device);
}

static void evict_all(void *self, uint32_t device) {
    resident_models_evict_all(((ControlExecutor *)self)->models, device);
}

static Error *add_device(void *self, const char *spec, bool measures, ExecutorDevice *out_device) {
    return control_drivers_add(&((ControlExecutor *)self)->drivers, spec, measures, out_device);
}

static Error *get_memory(void *self, uint32_t device, DeviceMemory *out_memory) {
    return control_drivers_get_memory(&((ControlExecutor *)self)->drivers, device, out_memory);
}

/* ---- life ---- */

static Error *start(ControlExecutor *executor) {
    const ControlOptions *options = executor->options;
    TRY(device_open("cpu", &executor->host));
    TRY(device_total_bytes(executor->host, &executor->host_bytes));
    TRY(io_pool_create(options->io_threads ? options->io_threads : 2, &executor->io));
    const ResidentModelsOptions models = {.store = options->store,
        .host = executor->host,
        .pool = options->pool,
        .images = options->images,
        .isolate = options->isolate,
        .idle_bytes_max = executor->host_bytes / IDLE_MODELS_SHARE,
        .warn = options->warn};
    return resident_models_create(&models, &executor->models);
}

Error *control_executor_create(
    const ControlOptions *options, ControlMailbox mailbox, ControlExecutor **out_executor) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlExecutor), &memory));
    ControlExecutor *executor = memory;
    executor->options = options;
    executor->mailbox = mailbox;
    control_drivers_init(&executor->drivers);
    Error *error = start(executor);
    if (error) {
        control_executor_finish(executor);
        control_executor_release(executor);
        return error;
    }
    *out_executor = executor;
    return NULL;
}

ControlExecutorPort control_executor_get_port(ControlExecutor *executor) {
    return (ControlExecutorPort){.post = post,
        .open_at_once = open_at_once,
        .run = run,
        .set_aside = set_aside,
        .request = request,
        .get_kernel = get_kernel,
        .take_snapshot = take_snapshot,
        .items_done = items_done,
        .get_counters = get_counters,
        .take_class_change = take_class_change,
        .find_inputs = find_inputs,
        .drop_inputs = drop_inputs,
        .close = close_hold,
        .evict = evict,
        .evict_all = evict_all,
        .add_device = add_device,
        .get_memory = get_memory,
        .host_bytes = executor->host_bytes,
        .self = executor};
}

void control_executor_finish(ControlExecutor *executor) {
    if (!executor) return;
    for (uint32_t i = 0; i < executor->drivers.count; i++) {
        worker_release(executor->drivers.items[i].worker);
        executor->drivers.items[i].worker = NULL;
    }
    io_pool_release(executor->io); /* runs what was posted */
    executor->io = NULL;
}

void control_executor_release(ControlExecutor *executor) {
    if (!executor) return;
    resident_models_destroy(executor->models);
    control_drivers_deinit(&executor->drivers);
    device_close(executor->host);
    memory_free(executor);
}
