#include "scheduler/service/job_service_internal.h"

#include "base/allocator.h"
#include "base/container_of.h"
#include "base/system_random.h"
#include "scheduler/executor/batch_join.h"
#include "scheduler/jobs/intake_inputs.h"
#include "serialize/arrays/array_values.h"

/* Memory that a run is granted beside its inputs. A run that needs more asks the policy for it,
 * each time by a slice of its own, which takes longer than a small function. */
enum { ROOM_BYTES = 256 << 10 };

/* A transient run, from its request to its outputs. It belongs to the request's thread, and to the
 * control thread between begin and the wake. */
typedef struct ServiceRun {
    ControlReceiver receiver;
    JobService *service;
    TenantId tenant;
    JobId job;
    Submission submission;
    MemoryCharge charge; /* the inputs' memory */
    Executable *outline; /* retained */
    bool joins;          /* it may run with others */
    JoinMember member;
    uint64_t items; /* 1 where items are not counted */
    HttpWaker waker;
    ArrayList outputs;
    JobsApiRunTimes times;
    Error *error;
} ServiceRun;

/* On the control thread. */
static void receive(ControlReceiver *receiver, ControlEnd *end) {
    ServiceRun *run = CONTAINER_OF(receiver, ServiceRun, receiver);
    run->outputs = *end->outputs;
    *end->outputs = (ArrayList){0};
    run->times = (JobsApiRunTimes){.queue_ns = end->queue_ns,
        .device_ns = end->device_ns,
        .items = run->items,
        .batch_size = run->items,
        .leads = true};
    run->error = end->owned_error;
    run->waker.wake(run->waker.self); /* the run belongs to its owner again */
}

static Error *submit(ServiceRun *run, bool helps) {
    return control_submit_transient(
        run->service->control, run->job, &run->submission, &run->receiver, helps);
}

static Error *run_alone(JoinMember *member) {
    return submit(CONTAINER_OF(member, ServiceRun, member), false);
}

/* The run that it had a part in has ended. */
static void end_joined(JoinMember *member, Error *owned_error) {
    ServiceRun *run = CONTAINER_OF(member, ServiceRun, member);
    run->times = member->times;
    run->error = owned_error;
    run->waker.wake(run->waker.self); /* the run belongs to its owner again */
}

static void begin(void *self, HttpWaker waker) {
    ServiceRun *run = self;
    run->waker = waker;
    Error *error =
        run->joins ? run_joiner_add(run->service->joiner, &run->member) : submit(run, true);
    if (error) /* else the run may be freed already */
        receive(&run->receiver, &(ControlEnd){.outputs = &run->outputs, .owned_error = error});
}

static void help(void *self, bool brief) {
    control_help(((ServiceRun *)self)->service->control, brief);
}

static void ignore(void *context, Error *owned_error) {
    (void)context;
    error_free(owned_error); /* the run has ended meanwhile */
}

static void cut(void *self) {
    ServiceRun *run = self;
    if (run->joins && run_joiner_cut(run->service->joiner, &run->member)) return;
    /* without memory the run goes on to its end */
    error_free(control_ask(
        run->service->control, CONTROL_ASK_CANCEL, run->tenant, run->job, ignore, NULL));
}

static void drop(void *self) {
    ServiceRun *run = self;
    run_joiner_drop(&run->member); /* of outputs that nobody took */
    executable_release(run->outline);
    submission_deinit(&run->submission);
    memory_charge_end(&run->charge);
    array_list_deinit(&run->outputs);
    error_free(run->error); /* no caller asks for the error any more */
    memory_free(run);
}

static Error *end(void *self, ArrayList *out_outputs, JobsApiRunTimes *out_times) {
    ServiceRun *run = self;
    Error *error = TAKE(run->error);
    *out_times = run->times;
    if (!error && run->member.joined) error = run_joiner_take(&run->member, &run->outputs);
    if (!error) {
        *out_outputs = run->outputs;
        run->outputs = (ArrayList){0};
    }
    drop(run);
    return error;
}

/* Charges the inputs' memory until the run has ended; twice where they may be copied to stand
 * behind those of others. Large inputs are not copied. */
static Error *charge_inputs(ServiceRun *run, const ArrayList *inputs, const Tenant *tenant) {
    MemoryBudget *budget = run->service->intake;
    const uint64_t share = intake_inputs_share(budget, tenant->quotas[QUOTA_HOST_BYTES]);
    uint64_t bytes = 0;
    for (size_t i = 0; i < inputs->count; i++) bytes += inputs->items[i].size;
    if (bytes > share)
        FAIL(EXHAUSTED, "inputs of %llu bytes; a request may have %llu", (unsigned long long)bytes,
            (unsigned long long)share);
    run->joins = run->joins && bytes <= share / 2;
    if (run->joins) bytes *= 2;
    if (run->submission.brief)
        return memory_budget_try_take(budget, tenant->id, share, bytes, &run->charge);
    return memory_budget_take(budget, tenant->id, share, bytes, &run->charge);
}

/* A request that waits for others is queued, too. */
static Error *check_queue(ServiceRun *run, const Tenant *tenant) {
    const JobService *service = run->service;
    const int64_t quota = tenant->quotas[QUOTA_QUEUED_JOBS];
    TRY(control_check_queue(service->control, tenant));
    if (!run->joins || quota == QUOTA_UNLIMITED) return NULL;
    ControlTenantStatus status;
    control_get_tenant(service->control, tenant->id, &status);
    const size_t waiting = status.waiting + run_joiner_count_waiting(service->joiner, tenant->id);
    if ((int64_t)waiting >= quota)
        FAIL(EXHAUSTED,
            "tenant %s: its quota queued_jobs is %lld, and %zu jobs and requests wait; try again "
            "later",
            tenant->name, (long long)quota, waiting);
    return NULL;
}

/* Whether the model's requests of this function are joined. */
static bool may_join(const JobsApiModel *model, uint32_t function) {
    if (model->batching.items_max <= 1) return false;
    Error *error = batch_join_check(&model->outline->functions[function]);
    const bool joins = !error;
    error_free(error); /* another function than main, which cannot be joined, runs alone */
    return joins;
}

/* Prepares the run to be joined, if its inputs can be. */
static void prepare_join(ServiceRun *run, const JobsApiModel *model) {
    const Function *function = &model->outline->functions[run->submission.function];
    const int64_t items = run->joins ? batch_join_items(function, run->submission.batch) : 0;
    run->joins = items > 0;
    run->items = items > 0 ? (uint64_t)items : 1;
    run->outline = executable_retain(model->outline);
    run->member = (JoinMember){.outline = run->outline,
        .submission = &run->submission,
        .items = items,
        .batching = model->batching,
        .ended = end_joined,
        .run_alone = run_alone};
}

/* Makes the arguments and checks them against the function's ports. */
static Error *bind_inputs(Submission *job, const Executable *outline, ArrayList *inout_inputs) {
    const Function *function = &outline->functions[job->function];
    const BatchOptions single = {0};
    Value *values;
    TRY(batch_create(outline, job->function, inout_inputs, &single, &job->batch));
    TRY(batch_get_arguments(job->batch, 0, &values));
    Error *error = execution_check_tensors(function, values);
    array_values_release(values, function->parameter_count);
    job->live_bytes = batch_bytes(job->batch) + ROOM_BYTES;
    return error;
}

static Error *fill(ServiceRun *run, const JobsApiModel *model, ArrayList *inout_inputs) {
    JobService *service = run->service;
    Submission *job = &run->submission;
    uint64_t *key = &job->policy.random_key;
    Tenant tenant;
    job->tenant = run->tenant;
    job->executable = model->identity;
    job->constant_bytes = executable_constant_bytes(model->outline);
    job->device_strings = model->outline->device_strings;
    TRY(executable_find_function(model->outline, job->policy.function, &job->function));
    TRY(settings_cache_get_tenant(service->settings, run->tenant, &tenant));
    run->joins = may_join(model, job->function);
    TRY(check_queue(run, &tenant));
    TRY(charge_inputs(run, inout_inputs, &tenant));
    TRY(bind_inputs(job, model->outline, inout_inputs));
    prepare_join(run, model);
    TRY(system_random(key, sizeof *key));
    return NULL;
}

Error *job_service_run(void *self, const Caller *caller, const JobsApiModel *model,
    Submission *inout_submission, ArrayList *inout_inputs, JobsApiRun *out_run) {
    JobService *service = self;
    void *memory;
    TRY(memory_alloc(1, sizeof(ServiceRun), &memory));
    ServiceRun *run = memory;
    *run = (ServiceRun){.receiver.receive = receive,
        .service = service,
        .tenant = caller->tenant,
        .job = control_next_transient(service->control),
        .submission = *inout_submission};
    *inout_submission = (Submission){0};
    Error *error = fill(run, model, inout_inputs);
    if (error) {
        drop(run);
        return error;
    }
    *out_run = (JobsApiRun){
        .begin = begin, .help = help, .cut = cut, .end = end, .drop = drop, .self = run};
    return NULL;
}

Error *job_service_find_model(
    void *self, const Caller *caller, const char *reference, JobsApiModel *out_model) {
    const JobService *service = self;
    return settings_cache_get_version(service->settings, caller->tenant, reference, out_model);
}
