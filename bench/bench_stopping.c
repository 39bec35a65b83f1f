/* bench_stopping SPEC [MiB of live tensors]: what stopping costs on a device: the switch between
 * two executions, the copy of live tensors to the host, a durable checkpoint and its restore.
 * Prints rows of a Markdown table: what, device, result, target. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "bench/bench_program.h"
#include "kernels/registry/device_registry.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/container/executable_file.h"
#include "vm/assembly/assembly.h"

enum {
    REPEAT = 5,
    TENSORS = 16,
    SLICES = 200,
    SLICE_INSTRUCTIONS = 64,
    PATH_SIZE = 4096,
    MEBIBYTES_MAX = 1024
};

typedef struct Bench {
    const char *spec;
    uint64_t mebibytes; /* live; 0: what the device has room for */
    uint64_t tensor_elements;
    Device *host, *device;
    WorkerPool *pool;
    Residency *residency;
    char path[PATH_SIZE];
} Bench;

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
}

static void keep_min(double *best, double seconds) {
    if (*best == 0 || seconds < *best) *best = seconds;
}

static void print_row(
    const Bench *bench, const char *what, const char *result, const char *target) {
    printf("| %s | %s | %s | %s |\n", what, bench->spec, result, target);
}

/* spin never returns; hold keeps TENSORS tensors alive that a device made. */
static Error *write_program(const Bench *bench, TextBuilder *out) {
    text_append(out, "constant @x = float32[4] {1, 2, 3, 4}\nprimitive %relu = Relu\n");
    text_appendf(out, "primitive %%normal = RandomNormal {shape=[%llu]}\n",
        (unsigned long long)bench->tensor_elements);
    text_append(out, "function spin() exported last_uses {\n InvokePacked %relu @x -> r0\nhead:\n");
    for (int i = 0; i < SLICE_INSTRUCTIONS; i++) text_append(out, " InvokePacked %relu r0 -> r0\n");
    text_append(out, " Goto head\n}\nfunction hold() exported last_uses {\n");
    for (int i = 0; i < TENSORS; i++) text_appendf(out, " InvokePacked %%normal -> r%d\n", i);
    text_append(out, " AllocADT 0");
    for (int i = 0; i < TENSORS; i++) text_appendf(out, ", r%d", i);
    text_append(out, " -> r16\n Ret r16\n}\n");
    return text_builder_check(out);
}

static Error *start(const Bench *bench, const char *name, uint64_t instructions, Execution **out) {
    static const ExecutionOptions options = {0};
    uint32_t function;
    RunResult result;
    OWN(Execution, execution) = NULL;
    TRY(executable_find_function(bench->residency->executable, name, &function));
    TRY(execution_create(bench->residency, &options, function, NULL, 0, &execution));
    TRY(execution_run(execution, (Budget){instructions}, &result));
    if (result.kind == RUN_NEEDS_MEMORY)
        FAIL(EXHAUSTED, "%llu bytes are not free on the device", (unsigned long long)result.bytes);
    if (result.kind != RUN_SUSPENDED) FAIL(INTERNAL, "%s ends early", name);
    *out = TAKE(execution);
    return NULL;
}

/* Slices of one execution after the other, or of both in turns: the work is the same. */
static Error *run_slices(Execution *const *executions, bool in_turns, double *out_seconds) {
    RunResult result;
    uint64_t start_ns = clock_now_ns(clock_real());
    if (!in_turns)
        for (int i = 0; i < 2; i++)
            TRY(execution_run(
                executions[i], (Budget){(uint64_t)SLICES / 2 * SLICE_INSTRUCTIONS}, &result));
    else
        for (int i = 0; i < SLICES; i++)
            TRY(execution_run(executions[i % 2], (Budget){SLICE_INSTRUCTIONS}, &result));
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

static Error *measure_switch(const Bench *bench) {
    char text[64];
    double straight = 0, turns = 0, seconds;
    OWN(Execution, first) = NULL;
    OWN(Execution, second) = NULL;
    TRY(start(bench, "spin", 2 * SLICE_INSTRUCTIONS, &first));
    TRY(start(bench, "spin", 2 * SLICE_INSTRUCTIONS, &second));
    Execution *const executions[] = {first, second};
    for (int i = 0; i < REPEAT; i++) {
        TRY(run_slices(executions, false, &seconds));
        keep_min(&straight, seconds);
        TRY(run_slices(executions, true, &seconds));
        keep_min(&turns, seconds);
    }
    (void)snprintf(text, sizeof text, "%.1f us", (turns - straight) / (SLICES - 2) * 1e6);
    print_row(bench, "switch between two executions", text, "50 us");
    return NULL;
}

/* As a checkpoint is read, but to nowhere. */
static Error *copy_out(
    const Bench *bench, const Snapshot *snapshot, void *buffer, double *out_seconds) {
    uint64_t start_ns = clock_now_ns(clock_real());
    if (snapshot->ready)
        TRY(bench->device->class_->event_synchronize(bench->device, snapshot->ready));
    for (uint32_t i = 0; i < snapshot->register_count; i++) {
        const Value *value = &snapshot->registers[i].value;
        if (value_is(value, OBJECT_TENSOR)) TRY(tensor_copy_to_host(value->tensor, buffer));
    }
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

static Error *restore(const Bench *bench, double *out_seconds) {
    static const ExecutionOptions options = {0};
    uint64_t start_ns = clock_now_ns(clock_real());
    OWN(Container, container) = NULL;
    OWN(Execution, execution) = NULL;
    TRY(container_open_path(CONTAINER_CHECKPOINT, bench->path, &container));
    TRY(checkpoint_read(
        container, bench->pool, CHUNK_VERIFY_SHA256, bench->residency, &options, NULL, &execution));
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

typedef struct CopyTimes {
    double pause, copy, save, load;
} CopyTimes;

static Error *time_copies(
    const Bench *bench, Execution *execution, void *buffer, CopyTimes *inout_best) {
    double seconds;
    uint64_t ignored, start_ns = clock_now_ns(clock_real());
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(execution, &snapshot));
    keep_min(&inout_best->pause, seconds_since(start_ns));
    TRY(copy_out(bench, snapshot, buffer, &seconds));
    keep_min(&inout_best->copy, seconds);
    bench_program_forget(snapshot);
    start_ns = clock_now_ns(clock_real());
    TRY(checkpoint_write_file(snapshot, bench->pool, bench->path, &ignored));
    keep_min(&inout_best->save, seconds_since(start_ns));
    TRY(restore(bench, &seconds));
    keep_min(&inout_best->load, seconds);
    return NULL;
}

static Error *measure_copies(const Bench *bench) {
    char what[128], text[64];
    CopyTimes best = {0};
    void *buffer;
    OWN(Execution, execution) = NULL;
    TRY(start(bench, "hold", TENSORS, &execution));
    uint64_t tensor_size = bench->tensor_elements * sizeof(float);
    TRY(memory_map(tensor_size, &buffer));
    Error *error = NULL;
    for (int i = 0; i < REPEAT && !error; i++) error = time_copies(bench, execution, buffer, &best);
    memory_unmap(buffer, tensor_size);
    (void)unlink(bench->path);
    TRY(error);
    double gigabytes = (double)tensor_size * TENSORS * 1e-9;
    uint32_t threads = bench->pool ? worker_pool_thread_count(bench->pool) + 1 : 1;
    (void)snprintf(text, sizeof text, "%.1f us", best.pause * 1e6);
    print_row(bench, "pause for a snapshot of 16 tensors", text, "50 us");
    (void)snprintf(text, sizeof text, "%.2f GB/s", gigabytes / best.copy);
    print_row(bench, "copy of live tensors to the host", text, "");
    (void)snprintf(
        what, sizeof what, "durable checkpoint of %.3g GB, %u threads", gigabytes, threads);
    (void)snprintf(text, sizeof text, "%.2f GB/s (%.2f x the copy)", gigabytes / best.save,
        best.copy / best.save);
    print_row(bench, what, text, "0.8 x the copy");
    (void)snprintf(text, sizeof text, "%.2f GB/s", gigabytes / best.load);
    print_row(bench, "its restore to the device", text, "");
    return NULL;
}

/* A quarter of its memory holds them twice, for a moment, with room to spare. */
static Error *choose_size(Bench *bench) {
    DeviceMemory memory;
    TRY(bench->device->class_->memory(bench->device, &memory));
    uint64_t most = memory.free_bytes / 4 / 1048576;
    if (bench->mebibytes == 0) bench->mebibytes = most < MEBIBYTES_MAX ? most : MEBIBYTES_MAX;
    if (bench->mebibytes == 0)
        FAIL(EXHAUSTED, "%llu bytes are free on the device", (unsigned long long)memory.free_bytes);
    bench->tensor_elements = bench->mebibytes * 1048576 / TENSORS / sizeof(float);
    return NULL;
}

static Error *run(Bench *bench) {
    TextBuilder OWN_TEXT(text) = {0};
    OWN(Executable, executable) = NULL;
    TRY(device_open("cpu", &bench->host));
    TRY(device_open(bench->spec, &bench->device));
    TRY(choose_size(bench));
    TRY(write_program(bench, &text));
    TRY(assembly_parse(text_builder_get(&text), text.size, &executable));
    TRY(executable_identify(executable, NULL));
    uint32_t cores = worker_pool_core_count();
    /* the calling thread works, too */
    if (cores > 1) TRY(worker_pool_create("bench", cores - 1, &bench->pool));
    TRY(residency_create(executable, bench->host, bench->device, NULL, &bench->residency));
    TRY(measure_switch(bench));
    return measure_copies(bench);
}

static void bench_deinit(Bench *bench) {
    residency_release(bench->residency);
    worker_pool_release(bench->pool);
    device_close(bench->device);
    device_close(bench->host);
}

int main(int argc, char **argv) {
    uint64_t mebibytes = 0;
    if (argc < 2 || argc > 3 || (argc == 3 && !text_parse_u64(argv[2], &mebibytes)) ||
        mebibytes > 1 << 20) {
        (void)fprintf(stderr, "usage: bench_stopping SPEC [MiB]\n");
        return 2;
    }
    Bench bench = {.spec = argv[1], .mebibytes = mebibytes};
    const char *folder = getenv("TMPDIR");
    (void)snprintf(bench.path, sizeof bench.path, "%s/bench_stopping.%d.lvc",
        folder ? folder : "/tmp", (int)getpid());
    Error *error = run(&bench);
    bench_deinit(&bench);
    if (error) (void)fprintf(stderr, "bench_stopping: %s\n", error_message(error));
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
