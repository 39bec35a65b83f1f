#include "scheduler/service/job_service_internal.h"

#include <sys/random.h>

#include "base/allocator.h"
#include "base/container_of.h"
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
        .items = 1,
        .batch_size = 1,
        .leads = true};
    run->error = end->owned_error;
    run->waker.wake(run->waker.self); /* the run belongs to its owner again */
}

static void begin(void *self, HttpWaker waker) {
    ServiceRun *run = self;
    run->waker = waker;
    Error *error =
        control_submit_transient(run->service->control, run->job, &run->submission, &run->receiver);
    if (error) /* else the run may be freed already */
        receive(&run->receiver, &(ControlEnd){.outputs = &run->outputs, .owned_error = error});
}

static void ignore(void *context, Error *owned_error) {
    (void)context;
    error_free(owned_error); /* the run has ended meanwhile */
}

static void cut(void *self) {
    const ServiceRun *run = self;
    /* without memory the run goes on to its end */
    error_free(control_ask(
        run->service->control, CONTROL_ASK_CANCEL, run->tenant, run->job, ignore, NULL));
}

static void drop(void *self) {
    ServiceRun *run = self;
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
    if (!error) {
        *out_outputs = run->outputs;
        run->outputs = (ArrayList){0};
    }
    drop(run);
    return error;
}

/* Charges the inputs' memory until the run has ended. */
static Error *charge_inputs(ServiceRun *run, const ArrayList *inputs, const Tenant *tenant) {
    MemoryBudget *budget = run->service->intake;
    const uint64_t share = intake_inputs_share(budget, tenant->quotas[QUOTA_HOST_BYTES]);
    uint64_t bytes = 0;
    for (size_t i = 0; i < inputs->count; i++) bytes += inputs->items[i].size;
    if (bytes > share)
        FAIL(EXHAUSTED, "inputs of %llu bytes; a request may have %llu", (unsigned long long)bytes,
            (unsigned long long)share);
    return bytes ? memory_budget_take(budget, tenant->id, share, bytes, &run->charge) : NULL;
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
    TRY(control_check_queue(service->control, &tenant));
    TRY(charge_inputs(run, inout_inputs, &tenant));
    TRY(bind_inputs(job, model->outline, inout_inputs));
    if (getrandom(key, sizeof *key, 0) != (ssize_t)sizeof *key)
        FAIL(IO, "the system gives no random numbers");
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
    *out_run = (JobsApiRun){.begin = begin, .cut = cut, .end = end, .drop = drop, .self = run};
    return NULL;
}

Error *job_service_find_model(
    void *self, const Caller *caller, const char *reference, JobsApiModel *out_model) {
    const JobService *service = self;
    return settings_cache_get_version(service->settings, caller->tenant, reference,
        &out_model->version, &out_model->identity, &out_model->outline);
}
