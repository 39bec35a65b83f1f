/* bench_jobs FOLDER [SECONDS]: what running jobs through the control thread costs, without HTTP:
 * tiny durable jobs a second, the wait for a device, sharing by weight, the cost of slices. */
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
#include "scheduler/job_intake.h"
#include "scheduler/policy/policy_event.h"
#include "scheduler/model_loader.h"
#include "store/tenants.h"
#include "vm/assembly.h"

enum { CALLERS = 64, TENANTS = 3, INTERLEAVED = 50, ARRIVALS = 200, TRIES = 5 };

static const char program[] =
    "primitive %add = Add\n"
    "function tiny(a: float32[4]) -> (y: float32[4]) exported last_uses {\n"
    "    InvokePacked %add r0, r0 -> r1\n"
    "    Ret r1\n"
    "}\n"
    /* about 40 ms of additions, each of a microsecond */
    "function busy(a: float32[4]) -> (y: float32[4]) exported last_uses {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, 400000, done, head\n"
    "done:\n"
    "    Ret r2\n"
    "}\n"
    "function forever(a: float32[4]) -> (y: float32[4]) exported {\n"
    "    LoadConsti 0 -> r1\n"
    "head:\n"
    "    InvokePacked %add r0, r0 -> r2\n"
    "    IntOp add, r1, 1 -> r1\n"
    "    If r1, -1, done, head\n"
    "done:\n"
    "    Ret r0\n"
    "}\n";

typedef struct Bench {
    Store *store;
    Catalog *catalog;
    Control *control;
    double seconds;
    TenantId tenants[TENANTS];
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

static Error *submit(
    Bench *bench, TenantId tenant, const char *function, int priority, JobId *out_id) {
    ArrayList inputs = {0};
    NamedArray array;
    int64_t count = 4;
    Shape shape = shape_make(1, &count);
    bool created;
    char name[32], device[] = "";
    (void)snprintf(name, sizeof name, "%s", function);
    TRY(named_array_init(&array, "a", DTYPE_FLOAT32, &shape));
    TRY(array_list_add(&inputs, &array));
    JobPolicy policy = {.function = name, .device = device, .weight = 1, .checkpoint_keep = 1};
    JobIntake intake = {.tenant = tenant,
        .model = "m",
        .inout_inputs = &inputs,
        .policy = &policy,
        .priority = priority,
        .release = JOB_RELEASE_LOG,
        .deadline = NAN};
    return job_intake_submit(bench->control, &intake, out_id, &created);
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

/* From the call to its being given a device. */
static Error *measure_start(Bench *bench, int priority, const char *what) {
    static double waits[ARRIVALS];
    for (int i = 0; i < ARRIVALS; i++) {
        ControlStatus status = {0};
        JobId id;
        double start = now();
        TRY(submit(bench, bench->tenants[0], "busy", priority, &id));
        while (control_find_status(bench->control, id, &status) && !status.running) continue;
        waits[i] = now() - start;
        TRY(control_cancel(bench->control, bench->tenants[0], id));
    }
    qsort(waits, ARRIVALS, sizeof *waits, compare);
    printf("  %-44s   p50 %6.0f us, p99 %6.0f us\n", what, waits[ARRIVALS / 2] * 1e6,
        waits[ARRIVALS * 99 / 100] * 1e6);
    return NULL;
}

static Error *measure_starts(Bench *bench) {
    JobId background[4];
    TRY(measure_start(bench, POLICY_NORMAL, "submit to running, idle"));
    for (int i = 0; i < 4; i++)
        TRY(submit(bench, bench->tenants[1], "forever", POLICY_LOW, &background[i]));
    TRY(measure_start(bench, POLICY_HIGH, "submit to running, high on a busy device"));
    for (int i = 0; i < 4; i++)
        TRY(control_cancel(bench->control, bench->tenants[1], background[i]));
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

static Error *measure_shares(Bench *bench) {
    JobId ids[TENANTS][2];
    double used[TENANTS] = {0}, sum = 0;
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < 2; i++)
            TRY(submit(bench, bench->tenants[t], "forever", POLICY_NORMAL, &ids[t][i]));
    for (double end = now() + 4 * bench->seconds; now() < end;) pause_us(1000);
    for (int t = 0; t < TENANTS; t++)
        for (int i = 0; i < 2; i++) {
            ControlStatus status = {0};
            if (control_find_status(bench->control, ids[t][i], &status))
                used[t] += status.device_seconds;
        }
    for (int t = 0; t < TENANTS; t++) {
        for (int i = 0; i < 2; i++)
            TRY(control_cancel(bench->control, bench->tenants[t], ids[t][i]));
        sum += used[t];
    }
    printf("  weights 1 : 2 : 4, %.0f s of device-time           %.4f : %.4f : %.4f of 7\n", sum,
        7 * used[0] / sum, 7 * used[1] / sum, 7 * used[2] / sum);
    return NULL;
}

/* ---- set-up ---- */

typedef struct TenantWork {
    Bench *bench;
    int index;
} TenantWork;

static Error *add_tenant(Connection *catalog, void *context) {
    const TenantWork *work = context;
    char name[16];
    (void)snprintf(name, sizeof name, "weight%d", 1 << work->index);
    TRY(tenants_add(catalog, name, &work->bench->tenants[work->index]));
    return tenants_set_weight(catalog, work->bench->tenants[work->index], 1 << work->index);
}

static Error *run(Bench *bench, const char *folder) {
    OWN(Store, store) = NULL;
    OWN(Catalog, catalog) = NULL;
    OWN(SettingsCache, settings) = NULL;
    OWN(Control, control) = NULL;
    TRY(store_open(folder, STORE_CREATE, &store));
    TRY(catalog_open(store, &catalog));
    TRY(settings_cache_create(store, &settings));
    bench->store = store;
    bench->catalog = catalog;
    for (int t = 0; t < TENANTS; t++) {
        TenantWork work = {bench, t};
        TRY(catalog_run(catalog, add_tenant, &work));
        TRY(register_program(bench, bench->tenants[t]));
    }
    ControlOptions options = {.store = store, .catalog = catalog, .settings = settings};
    TRY(control_create(&options, &control));
    bench->control = control;
    TRY(measure_tiny(bench));
    TRY(measure_starts(bench));
    TRY(measure_interleaving(bench));
    return measure_shares(bench);
}

int main(int argc, char **argv) {
    uint64_t seconds = 5;
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
