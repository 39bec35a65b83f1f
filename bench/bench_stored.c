/* bench_stored FOLDER [MiB]: durable checkpoints of a job into the store: a first one, a second one
 * of the job after 1/20 of its bytes have changed, and what else the execution gets done meanwhile
 * on a core of its own; beside them a plain write of the same bytes.
 * bench_stored FOLDER MODEL.lvx INPUTS.npz: the same of a decode loop, the second checkpoint 16
 * tokens behind the first. INPUTS: an array of one number, max_new_tokens; the others as they are.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/file.h"
#include "bench/bench_other.h"
#include "bench/bench_program.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/executor/job_run.h"
#include "scheduler/node/model_loader.h"
#include "serialize/arrays/array_values.h"
#include "serialize/container/executable_file.h"
#include "serialize/arrays/npz.h"
#include "store/database/catalog.h"
#include "store/chunks/chunk_upload.h"
#include "store/jobs/job_checkpoints.h"
#include "store/jobs/jobs.h"
#include "vm/assembly/assembly.h"

enum { REPEAT = 3, TENSORS = 20, THREADS = 2, TOKENS_BETWEEN = 16, PATH_SIZE = 4096 };

typedef struct Bench {
    const char *folder;
    char home[PATH_SIZE];
    WorkerPool *pool; /* NULL: one thread */
    Device *device;
    Executable *executable;
    Residency *residency;
    Store *store;
    JobId job;
    Value inputs[TENSORS], changed; /* changed takes the place of the first */
    uint64_t bytes;
} Bench;

typedef struct Stored {
    double pause, seconds;
    uint64_t bytes_raw, bytes_new; /* live; written into the store */
} Stored;

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
}

/* ---- a home with one job ---- */

static Error *submit(Connection *catalog, void *context) {
    Bench *bench = context;
    JobContent inputs = {.bytes = "inputs", .size = 6};
    TRY(job_content_stage(NULL, TENANT_DEFAULT, &inputs));
    const JobSubmission submission = {.model = "m@1",
        .executable = bench->executable->identity,
        .release = JOB_RELEASE_LOG,
        .items_total = -1,
        .deadline = NAN,
        .policy = "policy",
        .policy_size = 6,
        .inputs = &inputs};
    return jobs_submit(catalog, TENANT_DEFAULT, &submission, &bench->job, NULL);
}

static Error *open_home(Bench *bench) {
    ModelVersion OWN_VERSION(version) = {0};
    TRY(store_open(bench->home, STORE_CREATE, &bench->store));
    TRY(model_loader_register(
        bench->store, TENANT_DEFAULT, bench->pool, "m", bench->executable, NULL, 0, &version));
    store_close(TAKE(bench->store)); /* nothing of the model is still to be written */
    TRY(store_open(bench->home, 0, &bench->store));
    return catalog_run_directly(bench->store, submit, bench);
}

static void remove_home(Bench *bench) {
    static const char *const files[] = {"catalog.db", "catalog.db-wal", "catalog.db-shm",
        "chunks.db", "chunks.db-wal", "chunks.db-shm", "lock"};
    char path[PATH_SIZE + 32];
    store_close(bench->store);
    bench->store = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", bench->home, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(bench->home);
}

/* ---- a checkpoint as the daemon stores it ---- */

typedef struct Counting {
    ChunkSink sink;
    uint64_t bytes;
} Counting;

static Error *find(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    Counting *counting = self;
    return counting->sink.find(counting->sink.self, refs, count, out_found);
}

static Error *put(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    Counting *counting = self;
    counting->bytes += stored_size;
    return counting->sink.put(counting->sink.self, ref, stored, stored_size);
}

typedef struct Adding {
    JobId job;
    const JobContent *content;
} Adding;

static Error *add_checkpoint(Connection *catalog, void *context) {
    const Adding *adding = context;
    int64_t number;
    return job_checkpoints_add(
        catalog, TENANT_DEFAULT, adding->job, adding->content, 0, 0, 2, &number);
}

static Error *store_snapshot(Bench *bench, const JobSnapshot *snapshot, Stored *inout) {
    OWN(ChunkUpload, upload) = NULL;
    ByteWriter OWN_BYTES(bytes) = {0};
    ChunkRef *chunks = NULL;
    size_t count;
    TRY(chunk_upload_open(bench->store, TENANT_DEFAULT, &upload));
    Counting counting = {.sink = chunk_upload_sink(upload)};
    TRY(job_snapshot_write(
        snapshot, bench->pool, (ChunkSink){find, put, &counting}, &bytes, &chunks, &count));
    JobContent content = {
        .bytes = bytes.data, .size = bytes.size, .chunks = chunks, .chunk_count = count};
    Error *error = job_content_stage(upload, TENANT_DEFAULT, &content);
    if (!error)
        error = catalog_run_directly(bench->store, add_checkpoint, &(Adding){bench->job, &content});
    memory_free(chunks);
    inout->bytes_raw = content.bytes_raw;
    inout->bytes_new = counting.bytes + bytes.size;
    return error;
}

/* first: as if there had been none before. */
static Error *checkpoint(Bench *bench, Execution *execution, bool first, Stored *out) {
    JobSnapshot OWN_SNAPSHOT(snapshot) = {0};
    uint64_t start_ns = clock_now_ns(clock_real());
    TRY(snapshot_take(execution, &snapshot.execution));
    out->pause = seconds_since(start_ns);
    if (first) bench_program_forget(snapshot.execution);
    TRY(store_snapshot(bench, &snapshot, out));
    out->seconds = seconds_since(start_ns);
    return NULL;
}

static void keep_least(Stored *least, const Stored *one) {
    if (least->seconds > 0 && least->seconds <= one->seconds) return;
    *least = *one;
}

static void print(const char *what, const Stored *it, const Stored *first) {
    printf("  %-18s %7.3f s  pause %5.1f us  %8.2f MB live  %8.2f MB written", what, it->seconds,
        it->pause * 1e6, (double)it->bytes_raw * 1e-6, (double)it->bytes_new * 1e-6);
    if (first)
        printf("  %.3f of the first's time, %.3f of its bytes", it->seconds / first->seconds,
            (double)it->bytes_new / (double)first->bytes_new);
    printf("\n");
}

/* ---- some tensors ---- */

static Error *make_tensor(Bench *bench, int64_t count, uint64_t state, Value *out) {
    Shape shape = shape_make(1, &count);
    Tensor *tensor;
    TRY(tensor_create_on_host(bench->device, DTYPE_FLOAT32, &shape, &tensor));
    float *data = tensor_data(tensor);
    for (int64_t i = 0; i < count; i++) { /* a sum of four uniform ones is nearly normal */
        double sum = -2;
        for (int j = 0; j < 4; j++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += (double)(state >> 11) * 0x1p-53;
        }
        data[i] = (float)sum;
    }
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static Error *start(const Bench *bench, bool changed, Execution **out) {
    static const ExecutionOptions options = {0};
    RunResult result;
    Value inputs[TENSORS];
    OWN(Execution, execution) = NULL;
    memcpy(inputs, bench->inputs, sizeof inputs);
    if (changed) inputs[0] = bench->changed;
    TRY(execution_create(bench->residency, &options, 0, inputs, TENSORS, &execution));
    TRY(execution_run(execution, (Budget){1}, &result));
    *out = TAKE(execution);
    return NULL;
}

static Error *write_plainly(const Bench *bench, double *inout_least) {
    char path[PATH_SIZE + 16];
    (void)snprintf(path, sizeof path, "%s/plain", bench->folder);
    uint64_t start_ns = clock_now_ns(clock_real());
    OWN(FileOutput, output) = NULL;
    TRY(file_output_create(path, &output));
    for (uint32_t i = 0; i < TENSORS; i++)
        TRY(file_output_write(
            output, tensor_data(bench->inputs[i].tensor), tensor_bytes(bench->inputs[i].tensor)));
    TRY(file_output_commit(output));
    double seconds = seconds_since(start_ns);
    if (*inout_least == 0 || seconds < *inout_least) *inout_least = seconds;
    (void)unlink(path);
    return NULL;
}

/* What the first one noted of the replaced tensor is not known of the new one. */
static Error *measure_once(Bench *bench, Stored *first, Stored *second) {
    OWN(Execution, before) = NULL;
    OWN(Execution, after) = NULL;
    TRY(start(bench, false, &before));
    TRY(start(bench, true, &after));
    TRY(checkpoint(bench, before, true, first));
    storage_forget_annotation(bench->changed.tensor->storage);
    return checkpoint(bench, after, false, second);
}

static Error *measure(Bench *bench) {
    Stored first = {0}, second = {0};
    double plain = 0;
    for (int i = 0; i < REPEAT; i++) {
        Stored one, two;
        TRY(write_plainly(bench, &plain));
        TRY(open_home(bench));
        Error *error = measure_once(bench, &one, &two);
        remove_home(bench);
        TRY(error);
        keep_least(&first, &one);
        keep_least(&second, &two);
    }
    printf("%d threads, %.0f MB live, least of %d\n", bench->pool ? THREADS : 1,
        (double)bench->bytes * 1e-6, REPEAT);
    printf("  plain write, fsync %7.3f s\n", plain);
    print("first checkpoint", &first, NULL);
    printf("  = %.2f x the plain write\n", first.seconds / plain);
    print("1/20 changed", &second, &first);
    return NULL;
}

/* ---- what runs meanwhile ---- */

static const char OTHER[] =
    "primitive %add = Add\n"
    "function main(a: float32[n]) exported {\nhead:\n InvokePacked %add r0, r0 -> r1\n"
    " Goto head\n}\n";
enum { OTHER_INSTRUCTIONS = 64, OTHER_ELEMENTS = 16 << 10 };

typedef struct Beside {
    Bench *bench;
    Execution *execution;
    Stored stored;
} Beside;

static Error *store_beside(void *context) {
    Beside *beside = context;
    return checkpoint(beside->bench, beside->execution, true, &beside->stored);
}

static Error *compare_rates(Bench *bench, Execution *other) {
    OWN(Execution, execution) = NULL;
    double kept;
    TRY(start(bench, false, &execution));
    Beside beside = {.bench = bench, .execution = execution};
    TRY(bench_other_compare(other, OTHER_INSTRUCTIONS, store_beside, &beside, &kept));
    printf("  an execution beside a checkpoint of %.3f s by one thread: %.3f of its rate alone\n",
        beside.stored.seconds, kept);
    return NULL;
}

static Error *measure_other(Bench *bench) {
    static const ExecutionOptions options = {.threads = 1};
    OWN(Executable, executable) = NULL;
    OWN(Residency, residency) = NULL;
    OWN(Execution, execution) = NULL;
    Value input;
    TRY(make_tensor(bench, OTHER_ELEMENTS, 1, &input));
    TRY(assembly_parse(OTHER, sizeof OTHER - 1, &executable));
    TRY(residency_create(executable, bench->device, bench->device, NULL, &residency));
    Error *error = execution_create(residency, &options, 0, &input, 1, &execution);
    value_release(&input);
    TRY(error);
    for (int i = 0; i < REPEAT; i++) {
        TRY(open_home(bench));
        error = compare_rates(bench, execution);
        remove_home(bench);
        TRY(error);
    }
    return NULL;
}

static Error *run_tensors(Bench *bench, uint64_t mebibytes) {
    const int64_t count = (int64_t)(mebibytes * 1048576 / TENSORS / sizeof(float));
    for (uint32_t i = 0; i < TENSORS; i++) {
        TRY(make_tensor(bench, count, 88172645463325252u + i, &bench->inputs[i]));
        bench->bytes += tensor_bytes(bench->inputs[i].tensor);
    }
    TRY(make_tensor(bench, count, 31415926535u, &bench->changed));
    TRY(bench_program_hold(TENSORS, &bench->executable));
    TRY(residency_create(bench->executable, bench->device, bench->device, NULL, &bench->residency));
    TRY(measure(bench));
    TRY(measure_other(bench));
    TRY(worker_pool_create("bench", THREADS - 1, &bench->pool)); /* the calling thread works, too */
    TRY(measure(bench));
    for (uint32_t i = 0; i < TENSORS; i++) value_release(&bench->inputs[i]);
    value_release(&bench->changed);
    return NULL;
}

/* ---- a decode loop ---- */

static Error *start_decoding(
    const Bench *bench, const char *path, int64_t tokens, Execution **out) {
    static const ExecutionOptions options = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    const Function *function;
    uint32_t index;
    uint8_t *data;
    size_t size;
    Value *values;
    TRY(executable_find_function(bench->executable, "main", &index));
    function = &bench->executable->functions[index];
    TRY(file_read(path, SIZE_MAX / 2, &data, &size));
    Error *error = npz_read(data, size, UINT64_MAX / 2, &arrays);
    memory_unmap(data, size);
    TRY(error);
    for (size_t i = 0; i < arrays.count; i++)
        if (strcmp(arrays.items[i].name, "max_new_tokens") == 0)
            memcpy(arrays.items[i].data, &tokens, sizeof tokens);
    TRY(array_values_bind(&arrays, function, &values));
    error =
        execution_create(bench->residency, &options, index, values, function->parameter_count, out);
    array_values_release(values, function->parameter_count);
    return error;
}

/* 0: to its end. */
static Error *decode(Execution *execution, uint64_t instructions) {
    RunResult result = {.kind = RUN_SLICE_ENDED};
    uint64_t done = execution_get_counters(execution).instructions;
    Budget budget = {instructions > done ? instructions - done : 0};
    while (result.kind == RUN_SLICE_ENDED) TRY(execution_run(execution, budget, &result));
    if (result.kind != (instructions ? RUN_SUSPENDED : RUN_FINISHED))
        FAIL(INTERNAL, "a run that ended with %d", (int)result.kind);
    return NULL;
}

static Error *count_instructions(
    const Bench *bench, const char *inputs, int64_t tokens, uint64_t *out) {
    OWN(Execution, execution) = NULL;
    TRY(start_decoding(bench, inputs, tokens, &execution));
    TRY(decode(execution, 0));
    *out = execution_get_counters(execution).instructions;
    return NULL;
}

static Error *checkpoint_twice(
    Bench *bench, const char *inputs, uint64_t first_at, uint64_t between) {
    OWN(Execution, execution) = NULL;
    Stored first, second;
    TRY(start_decoding(bench, inputs, 2 * TOKENS_BETWEEN, &execution));
    TRY(decode(execution, first_at));
    TRY(checkpoint(bench, execution, false, &first));
    TRY(decode(execution, first_at + between));
    TRY(checkpoint(bench, execution, false, &second));
    print("first checkpoint", &first, NULL);
    print("16 tokens later", &second, &first);
    double grown = (double)second.bytes_raw - (double)first.bytes_raw;
    printf("  live bytes grew by %.3f MB; written: %.2f x as many\n", grown * 1e-6,
        (double)second.bytes_new / grown);
    return NULL;
}

static Error *run_decoding(Bench *bench, const char *model, const char *inputs) {
    uint64_t short_run, long_run;
    TRY(worker_pool_create("bench", THREADS - 1, &bench->pool));
    TRY(executable_read_file(model, bench->pool, &bench->executable));
    TRY(residency_create(
        bench->executable, bench->device, bench->device, bench->pool, &bench->residency));
    TRY(count_instructions(bench, inputs, TOKENS_BETWEEN, &short_run));
    TRY(count_instructions(bench, inputs, 2 * TOKENS_BETWEEN, &long_run));
    uint64_t a_token = (long_run - short_run) / TOKENS_BETWEEN;
    for (int i = 0; i < REPEAT; i++) {
        TRY(open_home(bench));
        Error *error =
            checkpoint_twice(bench, inputs, short_run - 8 * a_token, TOKENS_BETWEEN * a_token);
        remove_home(bench);
        TRY(error);
    }
    return NULL;
}

int main(int argc, char **argv) {
    static Bench bench;
    uint64_t mebibytes = 1024;
    bool decodes = argc == 4;
    if (argc < 2 || argc > 4 || (argc == 3 && !text_parse_u64(argv[2], &mebibytes))) {
        (void)fprintf(stderr, "usage: bench_stored FOLDER [MiB | MODEL.lvx INPUTS.npz]\n");
        return 2;
    }
    bench.folder = argv[1];
    (void)snprintf(bench.home, sizeof bench.home, "%s/home", argv[1]);
    Error *error = device_open("cpu", &bench.device);
    if (!error)
        error = decodes ? run_decoding(&bench, argv[2], argv[3]) : run_tensors(&bench, mebibytes);
    if (error) (void)fprintf(stderr, "bench_stored: %s\n", error_message(error));
    worker_pool_release(bench.pool);
    residency_release(bench.residency);
    executable_release(bench.executable);
    device_close(bench.device);
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
