/* bench_load FOLDER WEIGHTS.safetensors [MB]: loading a model's constants out of a store, warm.
 * The weights are repeated, each time with other low bits so that no chunk is stored twice, until
 * they are MB large. */
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/file.h"
#include "bench/bench_program.h"
#include "scheduler/node/model_loader.h"
#include "serialize/container/executable_file.h"
#include "serialize/arrays/safetensors.h"

enum { REPEAT = 7 };
#define WEIGHTS_SIZE_MAX ((size_t)4 << 30)

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
}

/* One more copy of an array as a constant, its lowest mantissa bits changed by the round. */
static Error *add_copy(ExecutableBuilder *builder, const NamedArray *array, uint32_t round) {
    Tensor *tensor;
    uint32_t index;
    TRY(tensor_create_on_host(device_host(), array->dtype, &array->shape, &tensor));
    memcpy(tensor_data(tensor), array->data, array->size);
    uint32_t *words = tensor_data(tensor);
    for (uint64_t i = 0; i < array->size / sizeof *words; i++) words[i] ^= round;
    return executable_builder_add_constant(builder, value_object(OBJECT_TENSOR, tensor), 1, &index);
}

static Error *build(const ArrayList *weights, uint64_t bytes_wanted, Executable **out) {
    OWN(ExecutableBuilder, builder) = NULL;
    uint64_t bytes = 0, operand = operand_make(OPERAND_IMMEDIATE, 0);
    uint32_t function;
    TRY(executable_builder_create(&builder));
    for (uint32_t round = 0; bytes < bytes_wanted; round++)
        for (size_t i = 0; i < weights->count && bytes < bytes_wanted; i++) {
            if (weights->items[i].dtype != DTYPE_FLOAT32) continue;
            TRY(add_copy(builder, &weights->items[i], round));
            bytes += weights->items[i].size;
        }
    TRY(executable_builder_add_function(
        builder, "main", FUNCTION_BYTECODE, FUNCTION_EXPORTED, 0, &function));
    TRY(executable_builder_begin_code(builder, function, 1));
    TRY(executable_builder_add_instruction(builder, OPCODE_RET, 0, REGISTER_NONE, &operand, 1));
    return executable_builder_finish(builder, out);
}

static Error *load(Store *store, const Digest *identity, WorkerPool *pool, ChunkVerify verify) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    OWN(Executable, executable) = NULL;
    TRY(model_loader_open(store, TENANT_DEFAULT, identity, &stored, &container));
    Error *error = executable_read(container, pool, verify, &executable);
    container_release(TAKE(container)); /* it reads from the stored executable */
    return error;
}

/* What a load can't do without: as many bytes copied into fresh memory, in pieces of a chunk. */
typedef struct FreshCopy {
    const uint8_t *from;
    uint8_t *to;
} FreshCopy;

static Error *copy_piece(void *context, size_t index) {
    const FreshCopy *copy = context;
    memcpy(copy->to + index * CHUNK_SIZE, copy->from, CHUNK_SIZE);
    return NULL;
}

static Error *copy_fresh(const uint8_t *piece, uint64_t bytes, WorkerPool *pool) {
    size_t count = chunk_count(bytes, CHUNK_SIZE);
    void *memory;
    TRY(memory_map(count * CHUNK_SIZE, &memory));
    FreshCopy copy = {piece, memory};
    Error *error = worker_pool_for_each(pool, count, copy_piece, &copy);
    memory_unmap(memory, count * CHUNK_SIZE);
    return error;
}

static void keep_best(double *best, uint64_t start_ns) {
    double seconds = seconds_since(start_ns);
    if (*best == 0 || seconds < *best) *best = seconds;
}

static void print_row(
    const char *what, uint32_t threads, uint64_t bytes, double best, double copy) {
    printf("  %-8s %u threads  %7.1f ms  %.2f GB/s  %.2f x\n", what, threads, best * 1e3,
        (double)bytes / best / 1e9, best / copy);
}

static Error *measure(Store *store, const Digest *identity, uint64_t bytes, uint32_t threads) {
    OWN(WorkerPool, pool) = NULL;
    void *piece;
    double copy = 0, xxh3 = 0, sha256 = 0;
    if (threads > 1) TRY(worker_pool_create("bench", threads - 1, &pool));
    TRY(memory_map(CHUNK_SIZE, &piece));
    memset(piece, 1, CHUNK_SIZE);
    for (int i = 0; i < REPEAT; i++) {
        uint64_t start_ns = clock_now_ns(clock_real());
        TRY(copy_fresh(piece, bytes, pool));
        keep_best(&copy, start_ns);
        start_ns = clock_now_ns(clock_real());
        TRY(load(store, identity, pool, CHUNK_VERIFY_XXH3));
        keep_best(&xxh3, start_ns);
        start_ns = clock_now_ns(clock_real());
        TRY(load(store, identity, pool, CHUNK_VERIFY_SHA256));
        keep_best(&sha256, start_ns);
    }
    memory_unmap(piece, CHUNK_SIZE);
    print_row("copy", threads, bytes, copy, copy);
    print_row("XXH3", threads, bytes, xxh3, copy);
    print_row("SHA-256", threads, bytes, sha256, copy);
    return NULL;
}

static Error *measure_all(Store *store, const Digest *identity, uint64_t bytes) {
    printf(
        "%.0f MB of constants out of a store, warm, best of %d; beside it a plain copy of as many "
        "bytes into fresh memory\n",
        (double)bytes / 1e6, REPEAT);
    for (uint32_t threads = 1; threads <= 2; threads++)
        TRY(measure(store, identity, bytes, threads));
    return NULL;
}

static Error *run(const char *folder, const char *path, uint64_t megabytes) {
    ArrayList OWN_ARRAYS(weights) = {0};
    OWN(Executable, executable) = NULL;
    OWN(Store, store) = NULL;
    OWN(WorkerPool, pool) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    uint8_t *data;
    size_t size;
    TRY(file_read(path, WEIGHTS_SIZE_MAX, &data, &size));
    TRY(safetensors_read(data, size, &weights));
    memory_unmap(data, size);
    TRY(build(&weights, megabytes * 1000000, &executable));
    TRY(worker_pool_create("bench", 2, &pool));
    TRY(store_open(folder, STORE_CREATE, &store));
    TRY(model_loader_register(store, TENANT_DEFAULT, pool, "bench", executable, NULL, 0, &version));
    Digest identity = executable->identity;
    uint64_t bytes = executable_constant_bytes(executable);
    executable_release(TAKE(executable));
    return measure_all(store, &identity, bytes);
}

int main(int argc, char **argv) {
    uint64_t megabytes = 438;
    if (argc < 3 || (argc > 3 && !text_parse_u64(argv[3], &megabytes))) {
        (void)fprintf(stderr, "usage: bench_load FOLDER WEIGHTS.safetensors [MB]\n");
        return 2;
    }
    Error *error = run(argv[1], argv[2], megabytes);
    if (error) (void)fprintf(stderr, "bench_load: %s\n", error_message(error));
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
