/* bench_jobs FOLDER [SECONDS]: what running jobs through the control thread costs, without HTTP:
 * tiny durable jobs a second, the wait for a device, the cost of switches and slices, sharing by
 * weight over 20 s. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/text.h"
#include "bench/bench_npz.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/jobs/intake_inputs.h"
#include "scheduler/jobs/job_intake.h"
#include "scheduler/policy/policy_event.h"
#include "scheduler/node/model_loader.h"
#include "serialize/arrays/array_values.h"
#include "store/accounts/tenants.h"
#include "vm/assembly/assembly.h"
#include "vm/execution/execution.h"

enum {
    CALLERS = 64,
    TENANTS = 3,
    KINDS = 3,
    INTERLEAVED = 50,
    ARRIVALS = 200,
    TRIES = 5,
    ALONE_TRIES = 7,
    SIZE = 512
};
/* The policy's quantum as the control thread sets it, and how long tenants compete. */
#define QUANTUM_SECONDS 0.01
#define SHARE_SECONDS 20

/* Sizes of what the endless functions compute: kernels of a microsecond, a tenth and some
 * milliseconds. */
static const int64_t sizes[KINDS] = {4, 64 << 10, SIZE *SIZE};
static const char *const functions[KINDS] = {"forever", "forever_wide", "forever_heavy"};

static const char program[] =
    "primitive %add = Add\n"
    "primitive %matmul = MatMul\n"
    "function tiny(a: float32[n]) -> (y: float32[n]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    /* some 25 ms of additions, each of a twentieth of a microsecond */
    "function busy(a: float32[n]) -> (y: float32[n]) exported last_uses {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, 400000, done, head\n"
    "done:\n"
    "    Ret r2\n"
    "}\n"
    "function long(a: float32[n]) -> (y: float32[n]) exported last_uses {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, 8000000, done, head\n"
    "done:\n"
    "    Ret r2\n"
    "}\n"
    "function product(a: float32[n, n]) -> (y: float32[n, n]) exported last_uses {\n"
    "    InvokePacked %matmul r0, r0 -> r1\n"
    "    InvokePacked %matmul r0, r1 -> r1\n"
    "    Ret r1\n"
    "}\n"
#define FOREVER(name, shape, primitive)                                                            \
    "function " name "(a: float32[" shape "]) -> (y: float32[" shape "]) exported {\n"             \
    "    LoadConsti 0 -> r1\n"                                                                     \
    "head:\n"                                                                                      \
    "    InvokePacked " primitive " r0, r0 -> r2\n"                                                \
    "    IntOp add, r1, 1 -> r1\n"                                                                 \
    "    If r1, -1, done, head\n"                                                                  \
    "done:\n"                                                                                      \
    "    Ret r0\n"                                                                                 \
    "}\n"
    FOREVER("forever", "n", "%add") FOREVER("forever_wide", "n", "%add")
        FOREVER("forever_heavy", "n, n", "%matmul");

typedef struct InputFile {
    uint8_t *bytes;
    size_t size;
} InputFile;

typedef struct Bench {
    MemoryBudget *budget;
    InputFile inputs[KINDS]; /* by size; until the process ends */
    Store *store;
    Catalog *catalog;
    Control *control;
    double seconds;
    TenantId tenants[TENANTS], equals[TENANTS];
    Residency *residency; /* of runs without a scheduler */
} Bench;

static double now(void) { return (double)clock_now_ns(clock_real()) * 1e-9; }

/* Of all threads: what a machine that others use, too, tells best. */
static double cpu_seconds(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void pause_us(long us) {
    const struct timespec pause = {.tv_nsec = us * 1000};
    (void)nanosleep(&pause, NULL);
}

static Error *register_program(Bench *bench, TenantId tenant) {
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    TRY(assembly_parse(program, strlen(program), &executable));
    return model_loader_register(bench->store, tenant, NULL, "m", executable, NULL, 0, &version);
}

/* Which of the sizes the function's input has. */
static size_t kind_of(const char *function) {
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(functions[i], function) == 0) return i;
    return strcmp(function, "product") == 0 ? KINDS - 1 : 0;
}

static Shape shape_of(size_t kind) {
    const int64_t square[2] = {SIZE, SIZE};
    return kind == KINDS - 1 ? shape_make(2, square) : shape_make(1, &sizes[kind]);
}

static Error *submit(
    Bench *bench, TenantId tenant, const char *function, PolicyClass priority, JobId *out_id) {
    bool created;
    Submission OWN_SUBMISSION(submission) = {0};
    const InputFile *file = &bench->inputs[kind_of(function)];
    TRY(submission_init(&submission, function, NULL));
    submission.tenant = tenant;
    submission.model = "m";
    submission.inputs = file->bytes;
    submission.inputs_size = file->size;
    submission.priority = priority;
    return job_intake_submit(bench->control, bench->budget, &submission, out_id, &created);
}

static Error *cancel(Bench *bench, TenantId tenant, JobId id) {
    return control_cancel(bench->control, tenant, id);
}

/* A job leaves the control thread's memory when its end is stored. */
static void wait_for_end(Bench *bench, JobId id) {
    ControlStatus status;
    while (control_find_status(bench->control, id, &status)) pause_us(500);
}

/* ---- tiny jobs ---- */

typedef struct TinyCaller {
    Bench *bench;
    double end;
    size_t count;
    JobId last;
    Error *error;
} TinyCaller;

static void *submit_tiny(void *argument) {
    TinyCaller *caller = argument;
    while (!caller->error && now() < caller->end) {
        caller->error =
            submit(caller->bench, caller->bench->tenants[0], "tiny", POLICY_NORMAL, &caller->last);
        caller->count++;
    }
    return NULL;
}

static Error *measure_tiny(Bench *bench) {
    static TinyCaller callers[CALLERS];
    pthread_t threads[CALLERS];
    double start = now(), cpu_start = cpu_seconds(), submitted;
    size_t count = 0;
    Error *error = NULL;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (TinyCaller){.bench = bench, .end = start + bench->seconds};
        if (pthread_create(&threads[i], NULL, submit_tiny, &callers[i]) != 0) exit(1);
    }
    for (int i = 0; i < CALLERS; i++) {
        (void)pthread_join(threads[i], NULL);
        count += callers[i].count;
        if (error)
            error_free(callers[i].error);
        else
            error = callers[i].error;
    }
    submitted = now() - start;
    for (int i = 0; i < CALLERS; i++) wait_for_end(bench, callers[i].last);
    printf(
        "  tiny jobs, durable, submitted to stored end    %8.0f a second, accepted %.0f a second,"
        " %.0f us of processor time each\n",
        (double)count / (now() - start), (double)count / submitted,
        (cpu_seconds() - cpu_start) * 1e6 / (double)count);
    return error;
}

/* ---- waiting for a device ---- */

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* From the call to its being given to the device's worker: the job's row says when that was. */
static Error *measure_start(Bench *bench, PolicyClass priority, const char *what) {
    static double waits[ARRIVALS];
    TenantId tenant = bench->tenants[0];
    for (int i = 0; i < ARRIVALS; i++) {
        ControlStatus status = {0};
        JobId id;
        Job row;
        double start = clock_real().calendar_s(clock_real().self);
        TRY(submit(bench, tenant, "forever", priority, &id));
        while (control_find_status(bench->control, id, &status) && !status.running) pause_us(200);
        TRY(cancel(bench, tenant, id));
        TRY(jobs_get(bench->store, tenant, id, &row));
        waits[i] = row.started - start;
        pause_us(2000);
    }
    qsort(waits, ARRIVALS, sizeof *waits, compare);
    printf("  %-56s p50 %5.0f us, p99 %5.0f us\n", what, waits[ARRIVALS / 2] * 1e6,
        waits[ARRIVALS * 99 / 100] * 1e6);
    return NULL;
}

static Error *run_directly(Bench *bench, const char *name, double *out_seconds);

/* Twice the kernel that a high-priority job may have to wait for. */
static Error *measure_product(Bench *bench) {
    double best = 1, seconds;
    for (int i = 0; i < 50; i++) {
        TRY(run_directly(bench, "product", &seconds));
        best = fmin(best, seconds);
    }
    printf("  %-56s %9.0f us\n", "one product, run directly", best / 2 * 1e6);
    return NULL;
}

static Error *measure_starts(Bench *bench) {
    JobId background[2];
    TRY(measure_product(bench));
    TRY(measure_start(bench, POLICY_NORMAL, "submitted to running, idle"));
    for (int i = 0; i < 2; i++)
        TRY(submit(bench, bench->tenants[1], "forever_heavy", POLICY_LOW, &background[i]));
    TRY(measure_start(bench, POLICY_HIGH, "high priority, the device busy with products"));
    for (int i = 0; i < 2; i++) TRY(cancel(bench, bench->tenants[1], background[i]));
    return NULL;
}

/* ---- switching ---- */

static double busy_seconds(Bench *bench) {
    ControlDeviceStatus status = {0};
    error_free(control_get_device(bench->control, 0, &status)); /* of its memory, if any */
    return status.busy_seconds;
}

/* Two endless executions, both resident: what of the time the worker did not run either. */
static Error *measure_switch(Bench *bench) {
    JobId ids[2];
    for (int i = 0; i < 2; i++)
        TRY(submit(bench, bench->tenants[0], "forever", POLICY_NORMAL, &ids[i]));
    pause_us(200000);
    double start = now(), busy = busy_seconds(bench);
    while (now() < start + bench->seconds) pause_us(10000);
    double seconds = now() - start, idle = seconds - (busy_seconds(bench) - busy);
    for (int i = 0; i < 2; i++) TRY(cancel(bench, bench->tenants[0], ids[i]));
    printf("  %-56s %5.1f us each, %.2f %% of the time\n",
        "switches between two resident executions", idle / (seconds / QUANTUM_SECONDS) * 1e6,
        100 * idle / seconds);
    return NULL;
}

/* ---- alone ---- */

/* The function's own time, without a scheduler. */
static Error *run_directly(Bench *bench, const char *name, double *out_seconds) {
    OWN(Execution, execution) = NULL;
    ArrayList OWN_ARRAYS(inputs) = {0};
    OWN(Batch, batch) = NULL;
    Value *values;
    RunResult result;
    uint32_t function;
    Residency *residency = bench->residency;
    TRY(executable_find_function(residency->executable, name, &function));
    NamedArray array;
    Shape shape = shape_of(kind_of(name));
    TRY(named_array_init(&array, "a", DTYPE_FLOAT32, &shape));
    TRY(array_list_add(&inputs, &array));
    TRY(batch_create(residency->executable, function, &inputs, &(BatchOptions){0}, &batch));
    TRY(batch_get_arguments(batch, 0, &values));
    Error *error =
        execution_create(residency, &(ExecutionOptions){0}, function, values, 1, &execution);
    array_values_release(values, 1);
    TRY(error);
    double start = now();
    TRY(execution_run(execution, (Budget){0}, &result));
    *out_seconds = now() - start;
    return NULL;
}

/* From its first slice's beginning to its last one's end, with all that is between. */
static Error *run_alone(Bench *bench, double *out_seconds) {
    JobId id;
    Job row;
    TRY(submit(bench, bench->tenants[0], "long", POLICY_NORMAL, &id));
    wait_for_end(bench, id);
    TRY(jobs_get(bench->store, bench->tenants[0], id, &row));
    *out_seconds = row.finished - row.started;
    return NULL;
}

/* Slices, safepoints and accounts, by the fastest of many alternating runs. */
static Error *measure_alone(Bench *bench) {
    double best[2] = {0, 0};
    for (int i = 0; i < 2 * ALONE_TRIES; i++) {
        double seconds;
        TRY(i % 2 ? run_alone(bench, &seconds) : run_directly(bench, "long", &seconds));
        if (best[i % 2] == 0 || seconds < best[i % 2]) best[i % 2] = seconds;
    }
    printf("  %-56s %7.2f ms / %.2f ms: %+.2f %%\n",
        "a job alone, start to stored end / run directly", best[1] * 1e3, best[0] * 1e3,
        100 * (best[1] / best[0] - 1));
    return NULL;
}

/* ---- interleaving ---- */

static Error *run_jobs(Bench *bench, bool interleaved, double *out_seconds) {
    JobId ids[INTERLEAVED];
    double start = now();
    for (int i = 0; i < INTERLEAVED; i++) {
        TRY(submit(bench, bench->tenants[0], "busy", POLICY_NORMAL, &ids[i]));
        if (!interleaved) wait_for_end(bench, ids[i]);
    }
    for (int i = 0; i < INTERLEAVED; i++) wait_for_end(bench, ids[i]);
    *out_seconds = now() - start;
    return NULL;
}

static Error *measure_interleaving(Bench *bench) {
    double best[2] = {0, 0};
    for (int i = 0; i < 2 * TRIES; i++) {
        double seconds;
        TRY(run_jobs(bench, i % 2, &seconds));
        if (best[i % 2] == 0 || seconds < best[i % 2]) best[i % 2] = seconds;
    }
    printf("  %d executions interleaved / one after another  %8.3f s / %.3f s: %+.1f %%\n",
        INTERLEAVED, best[1], best[0], 100 * (best[1] / best[0] - 1));
    return NULL;
}

/* ---- shares ---- */

/* Each tenant has a job of every kind: one's kernels are a thousand times another's. */
static void add_used(Bench *bench, JobId ids[TENANTS][KINDS], double sign, double *inout_used) {
    for (int t = 0; t < TENANTS; t++)
        for (int k = 0; k < KINDS; k++) {
            ControlStatus status = {0};
            if (control_find_status(bench->control, ids[t][k], &status))
                inout_used[t] += sign * status.device_seconds;
        }
}

/* From when all of them are there. */
static Error *use_devices(Bench *bench, const TenantId *tenants, double out_used[TENANTS]) {
    JobId ids[TENANTS][KINDS];
    for (int t = 0; t < TENANTS; t++)
        for (int k = 0; k < KINDS; k++)
            TRY(submit(bench, tenants[t], functions[k], POLICY_NORMAL, &ids[t][k]));
    memset(out_used, 0, TENANTS * sizeof *out_used);
    add_used(bench, ids, -1, out_used);
    for (double end = now() + SHARE_SECONDS; now() < end;) pause_us(1000);
    add_used(bench, ids, 1, out_used);
    for (int t = 0; t < TENANTS; t++)
        for (int k = 0; k < KINDS; k++) TRY(cancel(bench, tenants[t], ids[t][k]));
    return NULL;
}

static Error *measure_shares(Bench *bench) {
    double used[TENANTS], sum = 0, squares = 0, worst = 0;
    TRY(use_devices(bench, bench->tenants, used));
    for (int t = 0; t < TENANTS; t++) sum += used[t];
    for (int t = 0; t < TENANTS; t++) worst = fmax(worst, fabs(7 * used[t] / sum / (1 << t) - 1));
    printf("  weights 1 : 2 : 4, three models, %4.1f s of device-time    %.4f : %.4f : %.4f of 7, "
           "%.2f %% off at most\n",
        sum, 7 * used[0] / sum, 7 * used[1] / sum, 7 * used[2] / sum, 100 * worst);
    TRY(use_devices(bench, bench->equals, used));
    sum = 0;
    for (int t = 0; t < TENANTS; t++) {
        sum += used[t];
        squares += used[t] * used[t];
    }
    printf("  equal weights, %4.1f s of device-time                      Jain index %.5f\n", sum,
        sum * sum / (TENANTS * squares));
    return NULL;
}

/* ---- set-up ---- */

typedef struct TenantWork {
    Bench *bench;
    int index;
} TenantWork;

static Error *add_tenants(Connection *catalog, void *context) {
    const TenantWork *work = context;
    char name[16];
    (void)snprintf(name, sizeof name, "weight%d", 1 << work->index);
    TRY(tenants_add(catalog, name, &work->bench->tenants[work->index]));
    TRY(tenants_set_weight(catalog, work->bench->tenants[work->index], 1 << work->index));
    (void)snprintf(name, sizeof name, "equal%d", work->index);
    return tenants_add(catalog, name, &work->bench->equals[work->index]);
}

static Error *run(Bench *bench, const char *folder) {
    OWN(Store, store) = NULL;
    OWN(Catalog, catalog) = NULL;
    OWN(SettingsCache, settings) = NULL;
    OWN(Control, control) = NULL;
    TRY(store_open(folder, STORE_CREATE, &store));
    TRY(catalog_open(store, &catalog));
    TRY(settings_cache_create(store, &settings));
    OWN(Device, device) = NULL;
    OWN(Executable, executable) = NULL;
    OWN(Residency, residency) = NULL;
    TRY(device_open("cpu", &device));
    TRY(assembly_parse(program, strlen(program), &executable));
    TRY(residency_create(executable, device, device, NULL, &residency));
    OWN(MemoryBudget, budget) = NULL;
    TRY(intake_inputs_budget(&budget));
    bench->budget = budget;
    for (size_t kind = 0; kind < KINDS; kind++) {
        Shape shape = shape_of(kind);
        TRY(bench_npz_make(folder, &shape, &bench->inputs[kind].bytes, &bench->inputs[kind].size));
    }
    bench->residency = residency;
    bench->store = store;
    bench->catalog = catalog;
    for (int t = 0; t < TENANTS; t++) {
        TenantWork work = {bench, t};
        TRY(catalog_run(catalog, add_tenants, &work));
        TRY(register_program(bench, bench->tenants[t]));
        TRY(register_program(bench, bench->equals[t]));
    }
    ControlOptions options = {.store = store, .catalog = catalog, .settings = settings};
    TRY(control_create(&options, &control));
    bench->control = control;
    TRY(measure_tiny(bench));
    TRY(measure_starts(bench));
    TRY(measure_switch(bench));
    TRY(measure_alone(bench));
    TRY(measure_interleaving(bench));
    return measure_shares(bench);
}

int main(int argc, char **argv) {
    uint64_t seconds = 5;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || (argc > 2 && !text_parse_u64(argv[2], &seconds))) {
        (void)fprintf(stderr, "usage: bench_jobs FOLDER [SECONDS]\n");
        return 2;
    }
    Bench bench = {.seconds = (double)seconds};
    Error *error = run(&bench, argv[1]);
    if (error) (void)fprintf(stderr, "bench_jobs: %s\n", error_message(error));
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
