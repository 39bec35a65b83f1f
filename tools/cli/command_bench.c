#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/thread.h"
#include "scheduler/http/client/json_fields.h"
#include "serialize/arrays/array_values.h"
#include "tools/client/remote_models.h"
#include "tools/run/input_options.h"
#include "tools/run/run_machine.h"

const CommandOption command_bench_options[] = {
    {"input", INPUT_FORMS, true, "inputs, as for run"},
    INPUT_VALUE_OPTIONS,
    {"function", "F", false, "which function; default main"},
    {"device", "D[,OPTION=VALUE...]", false, "cpu (default), sim:N, cuda:N"},
    {"threads", "N", false, "threads a kernel may use (default 1)"},
    {"repeat", "R", false, "how often it is measured (default 20)"},
    {"executions", "N", false, "how many run side by side, each R times (default 1)"},
    {0},
};

enum { WARM_UP_RUNS = 2, REPEAT_MAX = 1000000, EXECUTIONS_MAX = 64 };

/* The measurement that all lanes share. */
typedef struct Bench {
    const CommandContext *context;
    RunMachine *machine;
    uint32_t function;
    int64_t threads, repeat, executions; /* the options' values */
    double seconds;                      /* from the common start to the last lane's end */
    double *each;                        /* seconds of every run: executions × repeat numbers */
    pthread_mutex_t mutex;               /* guards the members below */
    pthread_cond_t changed;
    int64_t ready; /* lanes that have warmed up */
    bool started;
} Bench;

/* Runs one execution after the other on a thread of its own. The thread makes all objects that it
 * uses: objects of two lanes in one cache line would slow each other down. */
typedef struct Lane {
    Bench *bench;
    ExecutionOptions options; /* with reserves of the lane's own */
    Value *values;            /* the lane's own inputs, since jobs have their own, too */
    uint32_t value_count;
    uint32_t function; /* the one that the inputs are for */
    double *seconds;   /* repeat numbers */
    pthread_t thread;
    uint64_t end_ns;
    Error *error;
} Lane;

static Error *run_once(const Lane *lane, double *out_seconds) {
    const Bench *bench = lane->bench;
    OWN(Execution, execution) = NULL;
    uint64_t start_ns = clock_now_ns(clock_real());
    TRY(execution_create(bench->machine->residency, &lane->options, lane->function, lane->values,
        lane->value_count, &execution));
    TRY(run_machine_finish(execution));
    *out_seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    return NULL;
}

static Error *open_lane(Lane *lane) {
    const Bench *bench = lane->bench;
    const RunMachine *machine = bench->machine;
    double ignored;
    lane->options = machine->options;
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) lane->options.reserves[slot] = NULL;
    lane->function = bench->function;
    TRY(run_inputs_read(
        bench->context, machine->executable, &lane->function, &lane->values, &lane->value_count));
    TRY(memory_pool_create(machine->host, 0, &lane->options.reserves[SLOT_HOST]));
    TRY(memory_pool_create(machine->device, 0, &lane->options.reserves[SLOT_DEVICE]));
    for (int i = 0; i < WARM_UP_RUNS; i++) TRY(run_once(lane, &ignored));
    return NULL;
}

static void close_lane(const Lane *lane) {
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
        memory_pool_release(lane->options.reserves[slot]);
    array_values_release(lane->values, lane->value_count);
}

/* Waits until all lanes may start. */
static void wait_for_start(Bench *bench) {
    (void)pthread_mutex_lock(&bench->mutex);
    bench->ready++;
    (void)pthread_cond_broadcast(&bench->changed);
    while (!bench->started) (void)pthread_cond_wait(&bench->changed, &bench->mutex);
    (void)pthread_mutex_unlock(&bench->mutex);
}

/* Starts that many lanes together once they are ready. Returns the time of the start. */
static uint64_t start_lanes(Bench *bench, int64_t count) {
    (void)pthread_mutex_lock(&bench->mutex);
    while (bench->ready < count) (void)pthread_cond_wait(&bench->changed, &bench->mutex);
    const uint64_t start_ns = clock_now_ns(clock_real());
    bench->started = true;
    (void)pthread_cond_broadcast(&bench->changed);
    (void)pthread_mutex_unlock(&bench->mutex);
    return start_ns;
}

/* Writes to the lane only at the end, since other lanes are in adjacent memory. */
static void run_lane(Lane *lane) {
    Error *error = lane->error;
    for (int64_t i = 0; i < lane->bench->repeat && !error; i++)
        error = run_once(lane, &lane->seconds[i]);
    lane->error = error;
    lane->end_ns = clock_now_ns(clock_real());
}

static void *serve_lane(void *context) {
    Lane *lane = context;
    lane->error = open_lane(lane);
    wait_for_start(lane->bench);
    run_lane(lane);
    close_lane(lane);
    return NULL;
}

/* Runs without threads: a process with a single thread is faster. */
static Error *run_alone(Bench *bench, Lane *lane) {
    lane->error = open_lane(lane);
    const uint64_t start_ns = clock_now_ns(clock_real());
    run_lane(lane);
    close_lane(lane);
    bench->seconds = (double)(lane->end_ns - start_ns) * 1e-9;
    return TAKE(lane->error);
}

/* All at once. */
static Error *run_lanes(Bench *bench, Lane *lanes) {
    int64_t created = 0;
    while (created < bench->executions &&
           thread_start(&lanes[created].thread, "execution", serve_lane, &lanes[created]))
        created++;
    const uint64_t start_ns = start_lanes(bench, created);
    uint64_t end_ns = start_ns;
    for (int64_t i = 0; i < created; i++) {
        (void)pthread_join(lanes[i].thread, NULL);
        if (lanes[i].end_ns > end_ns) end_ns = lanes[i].end_ns;
    }
    bench->seconds = (double)(end_ns - start_ns) * 1e-9;
    if (created < bench->executions) FAIL(EXHAUSTED, "the system gives no more threads");
    for (int64_t i = 0; i < bench->executions; i++) TRY(TAKE(lanes[i].error));
    return NULL;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static Error *answer(const CommandContext *context, Bench *bench) {
    json_object *object;
    const int64_t count = bench->executions * bench->repeat;
    qsort(bench->each, (size_t)count, sizeof *bench->each, compare);
    const double min = bench->each[0], p50 = bench->each[count / 2];
    const double p99 = bench->each[(count * 99 - 1) / 100];
    const double per_second = (double)count / bench->seconds;
    if (!context->json) {
        printf("min %.3f ms, p50 %.3f ms, p99 %.3f ms over %lld runs, %lld threads", min * 1e3,
            p50 * 1e3, p99 * 1e3, (long long)count, (long long)bench->threads);
        if (bench->executions > 1)
            printf("; %lld side by side: %.1f a second", (long long)bench->executions, per_second);
        printf("\n");
        return NULL;
    }
    TRY(json_fields_create(&object));
    json_fields_real(object, "min", min);
    json_fields_real(object, "p50", p50);
    json_fields_real(object, "p99", p99);
    json_fields_int(object, "repeat", bench->repeat);
    json_fields_int(object, "threads", bench->threads);
    json_fields_int(object, "executions", bench->executions);
    json_fields_real(object, "per_second", per_second);
    return command_print_json(object);
}

static Error *measure(Bench *bench) {
    void *memory;
    TRY(memory_alloc((size_t)bench->executions, sizeof(Lane), &memory));
    Lane *lanes = memory;
    for (int64_t i = 0; i < bench->executions; i++)
        lanes[i] = (Lane){.bench = bench, .seconds = bench->each + i * bench->repeat};
    (void)pthread_mutex_init(&bench->mutex, NULL);
    (void)pthread_cond_init(&bench->changed, NULL);
    Error *error = bench->executions > 1 ? run_lanes(bench, lanes) : run_alone(bench, &lanes[0]);
    (void)pthread_cond_destroy(&bench->changed);
    (void)pthread_mutex_destroy(&bench->mutex);
    for (int64_t i = 0; i < bench->executions; i++) error_free(lanes[i].error);
    memory_free(memory);
    return error;
}

static Error *read_counts(const CommandContext *context, Bench *bench) {
    TRY(command_integer(context, "repeat", 1, REPEAT_MAX, 20, &bench->repeat));
    TRY(command_integer(context, "executions", 1, EXECUTIONS_MAX, 1, &bench->executions));
    return command_integer(context, "threads", 1, WORKER_POOL_THREADS_MAX, 1, &bench->threads);
}

/* A daemon's model is also run in this process, since the daemon serves others. */
static Error *open_model(
    const CommandContext *context, HttpClient *client, ModelAccess *access, RunMachine *machine) {
    const char *name = context->arguments[0];
    OWN(Executable, executable) = NULL;
    if (client) {
        TRY(model_access_open_files(access));
        TRY(remote_models_load(client, name, access, &executable));
        return run_machine_open(context, access->pool, TAKE(executable), machine);
    }
    ModelVersion OWN_VERSION(version) = {0};
    TRY(model_access_open(context, true, access));
    TRY(models_find(access->store, access->tenant, name, &version));
    return run_machine_open_stored(context, access, &version.executable, name, machine);
}

Error *command_bench(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    RunMachine OWN_MACHINE(machine) = {0};
    OWN(HttpClient, client) = NULL;
    Bench bench = {.context = context, .machine = &machine};
    const char *name = command_option(context, "function");
    void *memory;
    TRY(read_counts(context, &bench));
    TRY(remote_find(context, &client));
    TRY(open_model(context, client, &access, &machine));
    TRY(executable_find_function(machine.executable, name ? name : "main", &bench.function));
    TRY(memory_alloc((size_t)(bench.executions * bench.repeat), sizeof(double), &memory));
    bench.each = memory;
    Error *error = measure(&bench);
    if (!error) error = answer(context, &bench);
    memory_free(memory);
    return error;
}
