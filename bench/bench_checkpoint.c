/* bench_checkpoint FOLDER [MiB]: a durable checkpoint and its restore, beside a plain write and
 * read of the same bytes. Half of the live bytes are float32 from N(0, 1), half float16 like a KV
 * cache (a scale per channel). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/file.h"
#include "bench/bench_program.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/dtype_scalar.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/container/executable_file.h"
#include "vm/execution/snapshot.h"

enum { REPEAT = 5, CHANNELS = 64, TENSORS = 16 };

typedef struct Bench {
    char path[4096];
    WorkerPool *pool;
    uint32_t threads;
    Device *device;
    Residency *residency;
    Value inputs[TENSORS];
    uint64_t bytes;
} Bench;

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
}

/* A cheap normal variate: the sum of twelve uniform ones, from a xorshift generator. */
static float normal(uint64_t *state) {
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return (float)sum;
}

static Error *make_tensor(Bench *bench, uint32_t index, uint64_t bytes) {
    bool half = index % 2 == 1;
    int64_t count = (int64_t)(bytes / (half ? 2 : 4));
    Shape shape = shape_make(1, &count);
    Tensor *tensor;
    TRY(tensor_create_on_host(
        bench->device, half ? DTYPE_FLOAT16 : DTYPE_FLOAT32, &shape, &tensor));
    uint64_t state = 88172645463325252u + index;
    float scales[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) scales[i] = expf(normal(&state));
    for (int64_t i = 0; i < count; i++) {
        float value = normal(&state);
        if (half)
            ((uint16_t *)tensor_data(tensor))[i] =
                dtype_scalar_float16(value * scales[i % CHANNELS]);
        else
            ((float *)tensor_data(tensor))[i] = value;
    }
    bench->inputs[index] = value_object(OBJECT_TENSOR, tensor);
    bench->bytes += bytes;
    return NULL;
}

static Error *start(const Bench *bench, Execution **out) {
    static const ExecutionOptions options = {0};
    RunResult result;
    OWN(Execution, execution) = NULL;
    TRY(execution_create(bench->residency, &options, 0, bench->inputs, TENSORS, &execution));
    TRY(execution_run(execution, (Budget){1}, &result));
    *out = TAKE(execution);
    return NULL;
}

/* Nothing is replaced: to free a file of a gigabyte takes 0.1 s. */
static void make_way(const Bench *bench) { (void)unlink(bench->path); }

static Error *plain_write(const Bench *bench, double *out_seconds) {
    make_way(bench);
    uint64_t start_ns = clock_now_ns(clock_real());
    OWN(FileOutput, output) = NULL;
    TRY(file_output_create(bench->path, &output));
    for (uint32_t i = 0; i < TENSORS; i++)
        TRY(file_output_write(
            output, tensor_data(bench->inputs[i].tensor), tensor_bytes(bench->inputs[i].tensor)));
    TRY(file_output_commit(output));
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

static Error *plain_read(const Bench *bench, double *out_seconds) {
    uint64_t start_ns = clock_now_ns(clock_real());
    uint8_t *data;
    size_t size;
    TRY(file_read(bench->path, SIZE_MAX / 2, &data, &size));
    *out_seconds = seconds_since(start_ns);
    memory_unmap(data, size);
    return NULL;
}

static Error *checkpoint(const Bench *bench, Execution *execution, double *out_pause,
    double *out_seconds, uint64_t *out_bytes) {
    make_way(bench);
    uint64_t start_ns = clock_now_ns(clock_real());
    OWN(Snapshot, snapshot) = NULL;
    TRY(snapshot_take(execution, &snapshot));
    *out_pause = seconds_since(start_ns);
    bench_program_forget(snapshot);
    TRY(checkpoint_write_file(snapshot, bench->pool, bench->path, out_bytes));
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

static Error *restore(const Bench *bench, ChunkVerify verify, double *out_seconds) {
    static const ExecutionOptions options = {0};
    uint64_t start_ns = clock_now_ns(clock_real());
    OWN(Container, container) = NULL;
    OWN(Execution, execution) = NULL;
    TRY(container_open_path(CONTAINER_CHECKPOINT, bench->path, &container));
    TRY(checkpoint_read(
        container, bench->pool, verify, bench->residency, &options, NULL, &execution));
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

static void keep_min(double *best, double seconds) {
    if (*best == 0 || seconds < *best) *best = seconds;
}

static Error *measure(Bench *bench) {
    double write = 0, read = 0, pause = 0, save = 0, load = 0, load_fast = 0, seconds, paused;
    uint64_t bytes = 0;
    for (int i = 0; i < REPEAT; i++) {
        OWN(Execution, execution) = NULL;
        TRY(start(bench, &execution));
        TRY(plain_write(bench, &seconds));
        keep_min(&write, seconds);
        TRY(plain_read(bench, &seconds));
        keep_min(&read, seconds);
        TRY(checkpoint(bench, execution, &paused, &seconds, &bytes));
        keep_min(&pause, paused);
        keep_min(&save, seconds);
        TRY(restore(bench, CHUNK_VERIFY_SHA256, &seconds));
        keep_min(&load, seconds);
        TRY(restore(bench, CHUNK_VERIFY_XXH3, &seconds));
        keep_min(&load_fast, seconds);
    }
    printf("%u threads, %.0f MiB live, best of %d\n", bench->threads,
        (double)bench->bytes / 1048576.0, REPEAT);
    printf("  plain write + fsync    %7.3f s\n", write);
    printf("  checkpoint, durable    %7.3f s   %.2f x plain write   ratio %.3f   pause %.1f us\n",
        save, save / write, (double)bench->bytes / (double)bytes, pause * 1e6);
    printf("  plain read             %7.3f s\n", read);
    printf("  restore, SHA-256       %7.3f s   %.2f x plain read\n", load, load / read);
    printf("  restore, XXH3          %7.3f s   %.2f x plain read\n", load_fast, load_fast / read);
    return NULL;
}

static Error *run_with_threads(Bench *bench, uint32_t threads) {
    bench->threads = threads;
    /* the calling thread works, too */
    if (threads > 1) TRY(worker_pool_create("bench", threads - 1, &bench->pool));
    Error *error = measure(bench);
    worker_pool_release(TAKE(bench->pool));
    return error;
}

static Error *run(const char *folder, uint64_t mebibytes) {
    static Bench bench;
    OWN(Executable, executable) = NULL;
    (void)snprintf(bench.path, sizeof bench.path, "%s/bench.lvc", folder);
    TRY(device_open("cpu", &bench.device));
    for (uint32_t i = 0; i < TENSORS; i++)
        TRY(make_tensor(&bench, i, mebibytes * 1048576 / TENSORS));
    TRY(bench_program_hold(TENSORS, &executable));
    TRY(executable_identify(executable, NULL));
    TRY(residency_create(executable, bench.device, bench.device, NULL, &bench.residency));
    TRY(run_with_threads(&bench, 1));
    TRY(run_with_threads(&bench, 2));
    (void)unlink(bench.path);
    for (uint32_t i = 0; i < TENSORS; i++) value_release(&bench.inputs[i]);
    residency_release(bench.residency);
    device_close(bench.device);
    return NULL;
}

int main(int argc, char **argv) {
    uint64_t mebibytes = 1024;
    if (argc < 2 || (argc > 2 && !text_parse_u64(argv[2], &mebibytes))) {
        (void)fprintf(stderr, "usage: bench_checkpoint FOLDER [MiB]\n");
        return 2;
    }
    Error *error = run(argv[1], mebibytes);
    if (error) (void)fprintf(stderr, "bench_checkpoint: %s\n", error_message(error));
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
