#include "tools/run/run_machine.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/executor/cached_images.h"
#include "serialize/arrays/array_values.h"
#include "serialize/checkpoint/checkpoint_class.h"
#include "tools/client/native_options.h"
#include "tools/library/packed_bridge.h"
#include "tools/run/run_signals.h"
#include "vm/residency/residency.h"

enum { YIELDS_KEPT_MAX = 1 << 16 /* for a run, which has no job to stream them to */ };

static Error *open_devices(RunMachine *machine) {
    TRY(device_open("cpu", &machine->host));
    if (strcmp(machine->device_spec, "cpu") == 0)
        machine->device = machine->host;
    else
        TRY(device_open(machine->device_spec, &machine->device));
    return NULL;
}

static void close_devices(RunMachine *machine) {
    execution_release(machine->execution);
    residency_release(machine->residency);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
        memory_pool_release(machine->options.reserves[slot]);
        machine->options.reserves[slot] = NULL;
    }
    if (machine->device != machine->host) device_close(machine->device);
    device_close(machine->host);
    machine->execution = NULL;
    machine->residency = NULL;
    machine->device = machine->host = NULL;
}

/* quiet with --json, whose standard error is JSON */
static void warn(void *context, const char *text) {
    const RunMachine *machine = context;
    if (!machine->quiet) (void)fprintf(stderr, "layover: %s\n", text);
}

/* Loads a stored model as a daemon does. */
static Error *load_stored(RunMachine *machine) {
    const ModelAccess *access = machine->access;
    const ResidentModelsOptions options = {.store = access->store,
        .host = machine->host,
        .pool = machine->pool,
        .images = machine->weights ? &machine->images : NULL,
        .warn = warn,
        .warn_context = machine};
    OWN(ResidentModels, models) = NULL;
    TRY(resident_models_create(&options, &models));
    TRY_WRAP(resident_models_load(models, access->tenant, &machine->identity, 0, machine->device),
        "%s", machine->name);
    machine->residency = resident_models_get(models, access->tenant, &machine->identity, 0);
    executable_release(machine->executable);
    machine->executable = executable_retain(machine->residency->executable);
    return NULL;
}

static Error *make_resident(RunMachine *machine) {
    TRY(open_devices(machine));
    TRY(memory_pool_create(machine->host, 0, &machine->options.reserves[SLOT_HOST]));
    TRY(memory_pool_create(machine->device, 0, &machine->options.reserves[SLOT_DEVICE]));
    if (machine->access) return load_stored(machine);
    return residency_create(
        machine->executable, machine->host, machine->device, machine->pool, &machine->residency);
}

/* Loads all --packed libraries into one registry. */
static Error *load_packed(const CommandContext *context, ExecutionOptions *options) {
    const char *path;
    if (!command_flag(context, "packed")) return NULL;
    TRY(packed_registry_create(&options->packed));
    for (uint32_t i = 0; (path = command_option_at(context, "packed", i)); i++)
        TRY(packed_bridge_load(options->packed, path));
    return NULL;
}

static void print_line(void *context, const char *line) {
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

static Error *read_options(const CommandContext *context, RunMachine *machine) {
    int64_t threads;
    const char *spec = command_option(context, "device");
    TRY(command_integer(context, "threads", 1, WORKER_POOL_THREADS_MAX, 1, &threads));
    machine->options.threads = (uint32_t)threads;
    machine->options.yield_limit = YIELDS_KEPT_MAX;
    machine->options.log.line = print_line;
    machine->options.check_finite = command_flag(context, "check-finite");
    machine->quiet = context->quiet || context->json;
    TRY(load_packed(context, &machine->options));
    TRY(native_options_read_preload(context, &machine->native_preload));
    machine->options.native = (NativeRules){
        .allowed = command_flag(context, "native"), .preload = machine->native_preload};
    return memory_copy_text(spec ? spec : "cpu", &machine->device_spec);
}

Error *run_machine_open(const CommandContext *context, WorkerPool *pool,
    Executable *owned_executable, RunMachine *out_machine) {
    RunMachine OWN_MACHINE(machine) = {.pool = pool, .executable = owned_executable};
    TRY(read_options(context, &machine));
    TRY(make_resident(&machine));
    *out_machine = machine;
    machine = (RunMachine){0};
    return NULL;
}

/* Without the cache the model is decoded and packed at each run, which is slow, but right. */
static void open_weights(RunMachine *machine) {
    Error *error = weight_cache_open(store_home(machine->access->store), 0, &machine->weights);
    if (error)
        warn(machine, error_message(error));
    else
        machine->images = cached_images(machine->weights);
    error_free(error);
}

Error *run_machine_open_stored(const CommandContext *context, const ModelAccess *access,
    const Digest *identity, const char *name, RunMachine *out_machine) {
    RunMachine OWN_MACHINE(machine) = {
        .pool = access->pool, .access = access, .identity = *identity, .name = name};
    TRY(read_options(context, &machine));
    open_weights(&machine);
    TRY(make_resident(&machine));
    *out_machine = machine;
    machine = (RunMachine){0};
    return NULL;
}

void run_machine_close(RunMachine *machine) {
    run_signals_watch(NULL);
    close_devices(machine);
    weight_cache_close(machine->weights);
    executable_release(machine->executable);
    packed_registry_release(machine->options.packed);
    memory_free(machine->device_spec);
    memory_free(machine->native_preload);
    *machine = (RunMachine){0};
}

Error *run_machine_start(RunMachine *machine, const CommandContext *context) {
    const char *name = command_option(context, "function");
    uint32_t function, count;
    Value *values;
    TRY(executable_find_function(machine->executable, name ? name : "main", &function));
    TRY(run_inputs_read(context, machine->executable, &function, &values, &count));
    Error *error = execution_create(
        machine->residency, &machine->options, function, values, count, &machine->execution);
    array_values_release(values, count);
    return error;
}

Error *run_machine_start_job(RunMachine *machine) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    const RunJob *job = machine->job;
    uint32_t function;
    Value *values;
    TRY(executable_find_function(machine->executable, job->function, &function));
    TRY(run_job_read_inputs(job, machine->pool, &inputs));
    const Function *of = &machine->executable->functions[function];
    TRY(array_values_bind(&inputs, of, &values));
    machine->options.philox_key = job->random_key;
    Error *error = execution_create(machine->residency, &machine->options, function, values,
        of->parameter_count, &machine->execution);
    array_values_release(values, of->parameter_count);
    return error;
}

Error *run_machine_resume(RunMachine *machine, const Container *container) {
    char *words;
    TRY(checkpoint_class_find_change(container, machine->residency->devices[SLOT_DEVICE], &words));
    if (words) warn(machine, words);
    memory_free(words);
    return checkpoint_read(container, machine->pool, CHUNK_VERIFY_SHA256, machine->residency,
        &machine->options, NULL, &machine->execution);
}

Error *run_machine_checkpoint(RunMachine *machine, const char *path, uint64_t *out_bytes) {
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(machine->execution, &snapshot));
    Error *error = machine->job
                       ? run_job_write(machine->job, snapshot, machine->pool, path, out_bytes)
                       : checkpoint_write_file(snapshot, machine->pool, path, out_bytes);
    return error_wrap(error, "checkpoint %s", path);
}

static Error *checkpoint_to_memory(RunMachine *machine, ByteWriter *out_file) {
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(machine->execution, &snapshot));
    return checkpoint_write_memory(snapshot, machine->pool, out_file);
}

Error *run_machine_pause(RunMachine *machine) {
    ByteWriter OWN_BYTES(file) = {0};
    OWN(Container, container) = NULL;
    TRY(checkpoint_to_memory(machine, &file));
    run_signals_watch(NULL);
    close_devices(machine);
    (void)raise(SIGSTOP); /* returns after SIGCONT */
    TRY(make_resident(machine));
    TRY(container_open_memory(CONTAINER_CHECKPOINT, file.data, file.size, &container));
    return run_machine_resume(machine, container);
}

Error *run_machine_finish(Execution *execution) {
    RunResult result = {.kind = RUN_SLICE_ENDED};
    while (result.kind != RUN_FINISHED) {
        Value yielded;
        uint64_t sequence;
        TRY(execution_run(execution, (Budget){0}, &result));
        while (execution_take_yield(execution, &yielded, &sequence)) value_release(&yielded);
        if (result.kind == RUN_NEEDS_MEMORY)
            FAIL(EXHAUSTED, "%llu bytes are not free on the device",
                (unsigned long long)result.bytes);
    }
    return NULL;
}

uint64_t run_machine_peak_bytes(const RunMachine *machine) {
    return machine->execution ? execution_get_peak_bytes(machine->execution) : 0;
}
