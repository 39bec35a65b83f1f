#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "serialize/array_values.h"
#include "tools/remote_models.h"
#include "tools/run_machine.h"

const CommandOption command_bench_options[] = {
    {"input", "FILE.npz|NAME=FILE.npy", true, "inputs, as for run"},
    {"function", "F", false, "which function; default main"},
    {"device", "D", false, "cpu (default) or sim:0"},
    {"threads", "N", false, "threads a kernel may use (default 1)"},
    {"repeat", "R", false, "how often it is measured (default 20)"},
    {0},
};

enum { WARM_UP_RUNS = 2, REPEAT_MAX = 1000000 };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static Error *run_once(RunMachine *machine, uint32_t function, const Value *values, uint32_t count,
    double *out_seconds) {
    OWN(Execution, execution) = NULL;
    RunResult result = {.kind = RUN_SLICE_ENDED};
    uint64_t start_ns = clock_now_ns(clock_real());
    TRY(execution_create(
        machine->residency, &machine->options, function, values, count, &execution));
    while (result.kind != RUN_FINISHED) {
        Value yielded;
        uint64_t sequence;
        TRY(execution_run(execution, (Budget){0}, &result));
        while (execution_take_yield(execution, &yielded, &sequence)) value_release(&yielded);
        if (result.kind == RUN_NEEDS_MEMORY)
            FAIL(EXHAUSTED, "%llu bytes are not free on the device",
                (unsigned long long)result.bytes);
    }
    *out_seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    return NULL;
}

static Error *answer(const CommandContext *context, double *seconds, int64_t repeat) {
    json_object *object;
    int64_t threads;
    TRY(command_integer(context, "threads", 1, WORKER_POOL_THREADS_MAX, 1, &threads));
    qsort(seconds, (size_t)repeat, sizeof *seconds, compare);
    double p50 = seconds[repeat / 2], p99 = seconds[(repeat * 99 - 1) / 100];
    if (!context->json) {
        printf("min %.3f ms, p50 %.3f ms, p99 %.3f ms over %lld runs, %lld threads\n",
            seconds[0] * 1e3, p50 * 1e3, p99 * 1e3, (long long)repeat, (long long)threads);
        return NULL;
    }
    TRY(command_json_object(&object));
    command_json_double(object, "min", seconds[0]);
    command_json_double(object, "p50", p50);
    command_json_double(object, "p99", p99);
    command_json_int(object, "repeat", repeat);
    command_json_int(object, "threads", threads);
    return command_print_json(object);
}

static Error *measure(const CommandContext *context, RunMachine *machine, uint32_t function,
    const Value *values, uint32_t count) {
    int64_t repeat;
    double ignored;
    void *memory;
    TRY(command_integer(context, "repeat", 1, REPEAT_MAX, 20, &repeat));
    for (int i = 0; i < WARM_UP_RUNS; i++)
        TRY(run_once(machine, function, values, count, &ignored));
    TRY(memory_alloc((size_t)repeat, sizeof(double), &memory));
    double *seconds = memory;
    Error *error = NULL;
    for (int64_t i = 0; i < repeat && !error; i++)
        error = run_once(machine, function, values, count, &seconds[i]);
    if (!error) error = answer(context, seconds, repeat);
    memory_free(memory);
    return error;
}

Error *command_bench(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    RunMachine OWN_MACHINE(machine) = {0};
    OWN(HttpClient, client) = NULL;
    OWN(Executable, executable) = NULL;
    uint32_t function, count;
    int64_t ignored;
    Value *values;
    const char *name = command_option(context, "function");
    TRY(command_integer(context, "repeat", 1, REPEAT_MAX, 20, &ignored));
    TRY(command_integer(context, "threads", 1, WORKER_POOL_THREADS_MAX, 1, &ignored));
    TRY(remote_find(context, &client));
    if (client) { /* measured here: a daemon has others to look after */
        TRY(model_access_open_files(&access));
        TRY(remote_models_load(client, context->arguments[0], &access, &executable));
    } else {
        TRY(model_access_open(context, true, &access));
        TRY(model_access_load(&access, context->arguments[0], NULL, &executable));
    }
    TRY(executable_find_function(executable, name ? name : "main", &function));
    TRY(run_machine_open(context, access.pool, TAKE(executable), &machine));
    TRY(run_inputs_read(context, machine.executable, function, &values, &count));
    Error *error = measure(context, &machine, function, values, count);
    array_values_release(values, count);
    return error;
}
