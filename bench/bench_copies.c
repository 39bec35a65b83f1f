/* bench_copies [MiB [BYTES/S|SPEC [THREADS]]]: a checkpoint of what lies on a sim device behind a
 * paced link, into a sink that forgets it: beside the copies alone, and hashing and encoding alone
 * of the same bytes in host memory. A checkpoint that overlaps both takes the longer of the two.
 * And what another execution on the device, whose kernels are paced too, gets done meanwhile. On
 * the device SPEC, as it is, the same as rows of a Markdown table: what, device, result, target. */
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "bench/bench_other.h"
#include "bench/bench_program.h"
#include "kernels/registry/device_registry.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/chunk/copy_ahead.h"
#include "serialize/container/executable_file.h"
#include "vm/assembly/assembly.h"
#include "vm/execution/snapshot.h"

enum { REPEAT = 5, TENSORS = 16, RESERVE_MEBIBYTES = 64 };

typedef struct Side {
    Device *device;
    Residency *residency;
    MemoryPool *pool;
    Value inputs[TENSORS];
} Side;

typedef struct Bench {
    const char *spec; /* NULL: a paced sim device */
    uint64_t mebibytes, bandwidth, threads;
    Device *cpu;
    Executable *executable;
    WorkerPool *workers;
    Side host, far;
} Bench;

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
}

/* Uniform in a binade: as little to find for a compressor as weights have. */
static void fill(float *data, uint64_t count, uint64_t state) {
    for (uint64_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[i] = (float)((double)(state >> 11) * 0x1p-53 - 0.5);
    }
}

static Error *make_tensor(Side *side, int64_t count, uint64_t state, Value *out) {
    MemoryAnswer answer;
    Shape shape = shape_make(1, &count);
    Tensor *tensor;
    void *data;
    TRY(tensor_create_in_pool(side->pool, SLOT_DEVICE, DTYPE_FLOAT32, &shape, &answer, &tensor));
    *out = value_object(OBJECT_TENSOR, tensor);
    tensor->written = true;
    TRY(memory_map(tensor_bytes(tensor), &data));
    fill(data, (uint64_t)count, state);
    Error *error = tensor_copy_from_host(tensor, data);
    memory_unmap(data, tensor_bytes(tensor));
    return error;
}

static Error *open_side(const Bench *bench, const char *spec, Side *side) {
    TRY(device_open(spec, &side->device));
    TRY(memory_pool_create(side->device, 0, &side->pool));
    TRY(residency_create(bench->executable, bench->cpu, side->device, NULL, &side->residency));
    const int64_t count = (int64_t)(bench->mebibytes * 1048576 / TENSORS / sizeof(float));
    for (uint32_t i = 0; i < TENSORS; i++)
        TRY(make_tensor(side, count, 88172645463325252u + i, &side->inputs[i]));
    return device_stream_synchronize(side->device, memory_pool_get_stream(side->pool));
}

static void close_side(Side *side) {
    for (uint32_t i = 0; i < TENSORS; i++) value_release(&side->inputs[i]);
    residency_release(side->residency);
    memory_pool_release(side->pool);
    device_close(side->device);
}

static Error *find_none(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    (void)self, (void)refs;
    memset(out_found, false, count);
    return NULL;
}

static Error *forget(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    (void)self, (void)ref, (void)stored, (void)stored_size;
    return NULL;
}

static Error *checkpoint(const Bench *bench, const Side *side, double *out_seconds) {
    static const ExecutionOptions options = {0};
    static const ChunkSink nowhere = {find_none, forget, NULL};
    RunResult result;
    Digest identity;
    OWN(Execution, execution) = NULL;
    OWN(Snapshot, snapshot) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    TRY(execution_create(side->residency, &options, 0, side->inputs, TENSORS, &execution));
    TRY(execution_run(execution, (Budget){1}, &result));
    uint64_t start_ns = clock_now_ns(clock_real());
    TRY(snapshot_take(execution, &snapshot));
    bench_program_forget(snapshot);
    TRY(checkpoint_write(snapshot, bench->workers, nowhere, &manifest, &identity));
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

/* The same bytes over the link, and nothing done with them. */
static Error *copy(const Bench *bench, double *out_seconds) {
    DeviceRange ranges[TENSORS];
    OWN(CopyAhead, copies) = NULL;
    (void)bench;
    for (uint32_t i = 0; i < TENSORS; i++)
        ranges[i] = (DeviceRange){tensor_address(bench->far.inputs[i].tensor),
            tensor_bytes(bench->far.inputs[i].tensor), CHUNK_SIZE};
    uint64_t start_ns = clock_now_ns(clock_real());
    TRY(copy_ahead_create(bench->far.device, NULL, ranges, TENSORS, &copies));
    for (uint32_t i = 0; i < TENSORS; i++) {
        RawChunks reader = copy_ahead_next(copies);
        for (size_t c = 0; c < chunk_count(ranges[i].size, CHUNK_SIZE); c++) {
            const void *data;
            TRY(reader.get(reader.self, c, &data));
            reader.done(reader.self, c);
        }
    }
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

/* ---- the other execution ---- */

static const char OTHER[] = "primitive %add = Add\n"
                            "function main(1) exported {\nhead:\n InvokePacked %add r0, r0 -> r1\n"
                            " Goto head\n}\n";
enum { OTHER_INSTRUCTIONS = 8, OTHER_ELEMENTS = 64 << 10 };

typedef struct Beside {
    Bench *bench;
    double seconds; /* of all checkpoints */
} Beside;

static Error *checkpoint_beside(void *context) {
    Beside *beside = context;
    double seconds;
    for (int i = 0; i < REPEAT; i++) {
        TRY(checkpoint(beside->bench, &beside->bench->far, &seconds));
        beside->seconds += seconds;
    }
    return NULL;
}

/* How much of its rate the other execution keeps while checkpoints are written. */
static Error *measure_other(Bench *bench) {
    static const ExecutionOptions options = {0};
    OWN(Executable, executable) = NULL;
    OWN(Residency, residency) = NULL;
    OWN(Execution, execution) = NULL;
    Beside beside = {.bench = bench};
    Value input = value_nil();
    double kept;
    TRY(make_tensor(&bench->far, OTHER_ELEMENTS, 1, &input));
    TRY(assembly_parse(OTHER, sizeof OTHER - 1, &executable));
    TRY(residency_create(executable, bench->cpu, bench->far.device, NULL, &residency));
    Error *error = execution_create(residency, &options, 0, &input, 1, &execution);
    value_release(&input);
    TRY(error);
    TRY(bench_other_compare(execution, OTHER_INSTRUCTIONS, checkpoint_beside, &beside, &kept));
    if (bench->spec)
        printf("| another execution beside checkpoints of %.3f s | %s | %.2f of its rate alone | "
               "|\n",
            beside.seconds / REPEAT, bench->spec, kept);
    else
        printf("  another execution beside %d checkpoints of %.3f s: %.2f of its rate alone\n",
            REPEAT, beside.seconds / REPEAT, kept);
    return NULL;
}

static void keep_min(double *best, double seconds) {
    if (*best == 0 || seconds < *best) *best = seconds;
}

static void print_row(const Bench *bench, const char *what, double seconds) {
    double rate = (double)(bench->mebibytes << 20) / seconds;
    printf("  %-26s %7.3f s  %6.2f GB/s  %.2f of the link\n", what, seconds, rate * 1e-9,
        rate / (double)bench->bandwidth);
}

typedef struct Times {
    double copied, encoded, stored; /* seconds, the best */
} Times;

static double longer(const Times *times) {
    return times->copied > times->encoded ? times->copied : times->encoded;
}

static void print_link(const Bench *bench, const Times *times) {
    printf("%llu MiB, %llu threads, best of %d\n", (unsigned long long)bench->mebibytes,
        (unsigned long long)bench->threads, REPEAT);
    print_row(bench, "copies alone", times->copied);
    print_row(bench, "hashing, encoding alone", times->encoded);
    print_row(bench, "checkpoint", times->stored);
    printf("  checkpoint / the longer of the two: %.2f; / their sum: %.2f\n",
        times->stored / longer(times), times->stored / (times->copied + times->encoded));
}

static void print_spec(const Bench *bench, const Times *times) {
    double gigabytes = (double)(bench->mebibytes << 20) * 1e-9;
    printf("| checkpoint of %.3g GB, %llu threads, written nowhere | %s | %.2f GB/s; copies alone "
           "%.2f, hashing and encoding alone %.2f: %.2f x the longer of the two | |\n",
        gigabytes, (unsigned long long)bench->threads, bench->spec, gigabytes / times->stored,
        gigabytes / times->copied, gigabytes / times->encoded, times->stored / longer(times));
}

static Error *measure(const Bench *bench) {
    Times best = {0};
    double seconds;
    for (int i = 0; i < REPEAT; i++) {
        TRY(copy(bench, &seconds));
        keep_min(&best.copied, seconds);
        TRY(checkpoint(bench, &bench->host, &seconds));
        keep_min(&best.encoded, seconds);
        TRY(checkpoint(bench, &bench->far, &seconds));
        keep_min(&best.stored, seconds);
    }
    if (bench->spec)
        print_spec(bench, &best);
    else
        print_link(bench, &best);
    return NULL;
}

static Error *run(Bench *bench) {
    char spec[96];
    (void)snprintf(spec, sizeof spec, "sim:0,memory=%lluMiB,bandwidth=%llu,speed=0.05",
        (unsigned long long)bench->mebibytes * 2 + RESERVE_MEBIBYTES,
        (unsigned long long)bench->bandwidth);
    TRY(device_open("cpu", &bench->cpu));
    TRY(bench_program_hold(TENSORS, &bench->executable));
    TRY(executable_identify(bench->executable, NULL));
    if (bench->threads > 1)
        TRY(worker_pool_create("bench", (uint32_t)bench->threads - 1, &bench->workers));
    TRY(open_side(bench, "cpu", &bench->host));
    TRY(open_side(bench, bench->spec ? bench->spec : spec, &bench->far));
    TRY(measure(bench));
    return measure_other(bench);
}

int main(int argc, char **argv) {
    static Bench bench = {.mebibytes = 512, .bandwidth = (uint64_t)4 << 30, .threads = 2};
    bool good = argc <= 4 && (argc < 2 || text_parse_u64(argv[1], &bench.mebibytes)) &&
                (argc < 4 || text_parse_u64(argv[3], &bench.threads));
    if (argc > 2 && !text_parse_u64(argv[2], &bench.bandwidth)) bench.spec = argv[2];
    if (!good || bench.mebibytes < TENSORS || bench.threads < 1 ||
        bench.threads > WORKER_POOL_THREADS_MAX) {
        (void)fprintf(stderr, "usage: bench_copies [MiB [BYTES/S|SPEC [THREADS]]]\n");
        return 2;
    }
    Error *error = run(&bench);
    if (error) (void)fprintf(stderr, "bench_copies: %s\n", error_message(error));
    close_side(&bench.far);
    close_side(&bench.host);
    worker_pool_release(bench.workers);
    executable_release(bench.executable);
    device_close(bench.cpu);
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
