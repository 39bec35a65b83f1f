/* bench_residency FOLDER [SECONDS [MODELS [MiB [BYTES/S|SPEC]]]]: models that share a device too
 * small for them: a sim device with a paced link, or the device SPEC with its memory limited; then
 * rows of a Markdown table are printed. FOLDER is where the home goes and decides which disk is
 * measured.
 *
 * warm   random requests over a device with room for a quarter of the models: each activation
 *        beside copies of as many bytes over the same link.
 * cold   each model's cache file dropped from the page cache, then activated by a process that has
 *        not looked at it: beside a plain read of the same file, dropped just as well. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "bench/bench_program.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/executor/cached_images.h"
#include "scheduler/executor/resident_models.h"
#include "scheduler/node/model_loader.h"
#include "store/home/home.h"
#include "store/weights/weight_folder.h"

enum {
    MODELS_MAX = 200,
    SIDE = 1024, /* of a square float32 weight: 4 MiB */
    PIECE = 4 << 20,
    COLD_MODELS_MAX = 12,
    SAMPLES_MAX = 1 << 16,
    RESERVE = 16 << 20, /* of the device, beyond a quarter of the models */
};

typedef struct Bench {
    char home[4096], spec[128];
    const char *card; /* the SPEC of the command line; NULL: a sim device */
    uint64_t seconds, model_count, mebibytes, bandwidth;
    Store *store;
    WorkerPool *pool;
    Device *host, *device;
    WeightCache *cache;
    WeightImages images;
    ResidentModels *models;
    Digest identities[MODELS_MAX];
    uint64_t state; /* of the random numbers */
} Bench;

static uint64_t random_number(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double seconds_since(uint64_t start_ns) {
    return (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
}

/* ---- models ---- */

static Error *add_weight(Bench *bench, ExecutableBuilder *builder, uint32_t *out_index) {
    const int64_t sides[] = {SIDE, SIDE};
    Shape shape = shape_make(2, sides);
    Tensor *tensor;
    TRY(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &tensor));
    float *data = tensor_data(tensor);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        data[i] = (float)((double)(random_number(&bench->state) >> 40) * 0x1p-24 - 0.5);
    return executable_builder_add_constant(
        builder, value_object(OBJECT_TENSOR, tensor), SLOT_DEVICE, out_index);
}

/* main(x) = x @ w0 @ w1 … */
static Error *build(Bench *bench, Executable **out) {
    OWN(ExecutableBuilder, builder) = NULL;
    OWN(Attributes, attributes) = NULL;
    uint32_t layers = (uint32_t)(bench->mebibytes * 1048576 / (SIDE * SIDE * sizeof(float)));
    uint32_t function, primitive, weight;
    TRY(executable_builder_create(&builder));
    TRY(attributes_create(&attributes));
    TRY(executable_builder_add_primitive(
        builder, "MatMul", operator_find("MatMul")->version, attributes, &primitive));
    TRY(executable_builder_add_function(
        builder, "main", FUNCTION_BYTECODE, FUNCTION_EXPORTED, 1, &function));
    TRY(executable_builder_begin_code(builder, function, layers + 1));
    for (uint32_t i = 0; i < layers; i++) {
        TRY(add_weight(bench, builder, &weight));
        const uint64_t operands[] = {operand_make(OPERAND_IMMEDIATE, primitive),
            operand_make(OPERAND_IMMEDIATE, 1), operand_make(OPERAND_REGISTER, i),
            operand_make(OPERAND_CONSTANT, weight), operand_make(OPERAND_REGISTER, i + 1)};
        TRY(executable_builder_add_instruction(
            builder, OPCODE_INVOKE_PACKED, INSTRUCTION_ALLOC, REGISTER_NONE, operands, 5));
    }
    const uint64_t result = operand_make(OPERAND_REGISTER, layers);
    TRY(executable_builder_add_instruction(builder, OPCODE_RET, 0, REGISTER_NONE, &result, 1));
    return executable_builder_finish(builder, out);
}

static Error *register_models(Bench *bench) {
    for (uint64_t i = 0; i < bench->model_count; i++) {
        OWN(Executable, executable) = NULL;
        ModelVersion OWN_VERSION(version) = {0};
        TRY(build(bench, &executable));
        TRY(model_loader_register(
            bench->store, TENANT_DEFAULT, bench->pool, "m", executable, NULL, 0, &version));
        bench->identities[i] = executable->identity;
    }
    return NULL;
}

/* As a daemon that has just started. */
static Error *open_models(Bench *bench, const char *spec) {
    TRY(device_open(spec, &bench->device));
    TRY(weight_cache_open(bench->home, 0, &bench->cache));
    bench->images = cached_images(bench->cache);
    const ResidentModelsOptions options = {.store = bench->store,
        .host = bench->host,
        .pool = bench->pool,
        .images = &bench->images,
        .idle_bytes_max = (uint64_t)4 << 30};
    return resident_models_create(&options, &bench->models);
}

static void close_models(Bench *bench) {
    resident_models_destroy(TAKE(bench->models));
    weight_cache_close(TAKE(bench->cache));
    device_close(TAKE(bench->device));
}

static Error *activate(Bench *bench, uint64_t model, double *out_seconds) {
    uint64_t start_ns = clock_now_ns(clock_real());
    TRY(resident_models_load(
        bench->models, TENANT_DEFAULT, &bench->identities[model], 0, bench->device));
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

/* ---- figures ---- */

typedef struct Samples {
    double values[SAMPLES_MAX];
    size_t count;
} Samples;

static void add_sample(Samples *samples, double value) {
    if (samples->count < SAMPLES_MAX) samples->values[samples->count++] = value;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double percentile(Samples *samples, double share) {
    if (samples->count == 0) return 0;
    qsort(samples->values, samples->count, sizeof(double), compare);
    return samples->values[(size_t)((double)(samples->count - 1) * share)];
}

static void print_row(const char *what, Samples *samples) {
    printf("  %-34s %6zu   median %.3f   p95 %.3f   max %.3f\n", what, samples->count,
        percentile(samples, 0.5), percentile(samples, 0.95), percentile(samples, 1));
}

static void print_ratio(
    const Bench *bench, const char *what, Samples *samples, const char *target) {
    print_row(what, samples);
    if (bench->card)
        printf("| %llu MiB of weights, %s | %s | median %.2f, 95th percentile %.2f, %zu times "
               "| %s |\n",
            (unsigned long long)bench->mebibytes, what, bench->card, percentile(samples, 0.5),
            percentile(samples, 0.95), samples->count, target);
}

/* ---- warm ---- */

/* Which models are on the device, the one used longest ago first. */
typedef struct Residents {
    uint64_t models[MODELS_MAX];
    size_t count, room;
} Residents;

static bool use(Residents *residents, uint64_t model) {
    for (size_t i = 0; i < residents->count; i++) {
        if (residents->models[i] != model) continue;
        memmove(&residents->models[i], &residents->models[i + 1],
            (residents->count - i - 1) * sizeof(uint64_t));
        residents->models[residents->count - 1] = model;
        return true;
    }
    return false;
}

static void make_room(Bench *bench, Residents *residents) {
    if (residents->count < residents->room) return;
    resident_models_evict(
        bench->models, TENANT_DEFAULT, &bench->identities[residents->models[0]], 0);
    memmove(residents->models, residents->models + 1, --residents->count * sizeof(uint64_t));
}

typedef struct LinkCopy {
    Device *device;
    uint64_t address;
    const uint8_t *from;
} LinkCopy;

static Error *copy_piece(void *context, size_t index) {
    const LinkCopy *copy = context;
    return copy->device->class_->copy_from_host(
        copy->device, NULL, copy->address + index * PIECE, copy->from + index * PIECE, PIECE);
}

/* As many bytes into fresh memory of the device: what no activation can do without. */
static Error *pure_copy(Bench *bench, const uint8_t *from, double *out_seconds) {
    Device *device = bench->device;
    uint64_t bytes = bench->mebibytes << 20, start_ns = clock_now_ns(clock_real());
    LinkCopy copy = {.device = device, .from = from};
    TRY(device->class_->alloc(device, NULL, bytes, &copy.address));
    Error *error = worker_pool_for_each(bench->pool, (size_t)(bytes / PIECE), copy_piece, &copy);
    *out_seconds = seconds_since(start_ns);
    device->class_->free(device, NULL, copy.address, bytes);
    return error;
}

static Error *request_models(
    Bench *bench, const uint8_t *from, uint64_t until_ns, Samples *ratios, uint64_t *out_requests) {
    Residents residents = {.room = bench->model_count / 4};
    for (*out_requests = 0; clock_now_ns(clock_real()) < until_ns; ++*out_requests) {
        double copied, activated;
        uint64_t model = random_number(&bench->state) % bench->model_count;
        if (use(&residents, model)) continue;
        make_room(bench, &residents);
        TRY(pure_copy(bench, from, &copied));
        TRY(activate(bench, model, &activated));
        residents.models[residents.count++] = model;
        add_sample(ratios, activated / copied);
    }
    return NULL;
}

static Error *measure_first(Bench *bench) {
    static Samples seconds;
    for (uint64_t i = 0; i < bench->model_count; i++) {
        double activated;
        TRY(activate(bench, i, &activated));
        add_sample(&seconds, activated);
        resident_models_evict(bench->models, TENANT_DEFAULT, &bench->identities[i], 0);
    }
    print_row("first activation, seconds", &seconds);
    return NULL;
}

static Error *measure_warm(Bench *bench) {
    static Samples ratios;
    void *from;
    uint64_t requests, bytes = bench->mebibytes << 20;
    TRY(open_models(bench, bench->spec));
    TRY(measure_first(bench));
    TRY(memory_map(bytes, &from));
    memset(from, 1, bytes);
    uint64_t until_ns = clock_now_ns(clock_real()) + bench->seconds * 1000000000;
    Error *error = request_models(bench, from, until_ns, &ratios, &requests);
    memory_unmap(from, bytes);
    TRY(error);
    WeightCacheCounts counts = weight_cache_count(bench->cache);
    printf("  %llu requests, none failed; %llu found in the cache, %llu not\n",
        (unsigned long long)requests, (unsigned long long)counts.hits,
        (unsigned long long)counts.misses);
    print_ratio(bench, "host-resident / pure copy", &ratios, "1.2 x");
    close_models(bench);
    return NULL;
}

/* ---- cold ---- */

typedef struct Cold {
    int folder;
    const Digest *identity;
    int descriptor; /* its cache file; -1: there is none */
} Cold;

static Error *open_file(void *context, const char *name) {
    Cold *cold = context;
    WeightKey key;
    bool is_it =
        weight_file_parse_name(name, &key) && digest_equal(&key.executable, cold->identity);
    if (is_it && cold->descriptor < 0)
        cold->descriptor = openat(cold->folder, name, O_RDONLY | O_CLOEXEC);
    return NULL;
}

static Error *open_cache_file(const Bench *bench, uint64_t model, int *out_descriptor) {
    char *path;
    Cold cold = {.identity = &bench->identities[model], .descriptor = -1};
    TRY(home_path(bench->home, WEIGHT_FOLDER, &path));
    Error *error = weight_folder_open(path, &cold.folder);
    memory_free(path);
    TRY(error);
    error = weight_folder_list(cold.folder, open_file, &cold);
    (void)close(cold.folder);
    TRY(error);
    if (cold.descriptor < 0) FAIL(NOT_FOUND, "model %llu is not cached", (unsigned long long)model);
    *out_descriptor = cold.descriptor;
    return NULL;
}

static Error *drop(int descriptor) {
    if (fsync(descriptor) != 0 || posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) != 0)
        FAIL(IO, "the page cache keeps a file: %s", strerror(errno));
    return NULL;
}

static Error *plain_read(int descriptor, void *buffer, double *out_seconds) {
    uint64_t start_ns = clock_now_ns(clock_real());
    for (off_t offset = 0;;) {
        ssize_t size = pread(descriptor, buffer, PIECE, offset);
        if (size < 0) FAIL(IO, "read: %s", strerror(errno));
        if (size == 0) break;
        offset += size;
    }
    *out_seconds = seconds_since(start_ns);
    return NULL;
}

static Error *measure_model(
    Bench *bench, uint64_t model, int descriptor, Samples *ratios, Samples *rates) {
    void *buffer;
    double read_s = 0, activated;
    TRY(memory_map(PIECE, &buffer));
    Error *error = drop(descriptor);
    if (!error) error = plain_read(descriptor, buffer, &read_s);
    memory_unmap(buffer, PIECE);
    TRY(error);
    TRY(drop(descriptor));
    TRY(activate(bench, model, &activated));
    resident_models_evict(bench->models, TENANT_DEFAULT, &bench->identities[model], 0);
    add_sample(ratios, activated / read_s);
    add_sample(rates, (double)(bench->mebibytes << 20) / read_s * 1e-9);
    return NULL;
}

static Error *measure_cold(Bench *bench, const char *spec, const char *what) {
    static Samples ratios, rates;
    ratios.count = rates.count = 0;
    for (uint64_t i = 0; i < bench->model_count && i < COLD_MODELS_MAX; i++) {
        int descriptor;
        TRY(open_models(bench, spec));
        TRY(open_cache_file(bench, i, &descriptor));
        Error *error = measure_model(bench, i, descriptor, &ratios, &rates);
        (void)close(descriptor);
        TRY(error);
        close_models(bench);
    }
    print_row("the disk, GB/s", &rates);
    print_ratio(bench, what, &ratios, "1.5 x");
    return NULL;
}

/* ---- */

static Error *run(Bench *bench) {
    uint64_t memory = bench->model_count / 4 * (bench->mebibytes << 20) + RESERVE;
    memory += bench->mebibytes << 20; /* of the pure copy */
    if (bench->card)
        (void)snprintf(bench->spec, sizeof bench->spec, "%s,memory=%llu", bench->card,
            (unsigned long long)memory);
    else
        (void)snprintf(bench->spec, sizeof bench->spec, "sim:0,memory=%llu,bandwidth=%llu",
            (unsigned long long)memory, (unsigned long long)bench->bandwidth);
    printf("%llu models of %llu MiB; %s\n", (unsigned long long)bench->model_count,
        (unsigned long long)bench->mebibytes, bench->spec);
    TRY(store_open(bench->home, STORE_CREATE, &bench->store));
    TRY(device_open("cpu", &bench->host));
    TRY(worker_pool_create("bench", 1, &bench->pool)); /* the calling thread works, too */
    TRY(register_models(bench));
    TRY(measure_warm(bench));
    TRY(measure_cold(bench, bench->spec, "disk-resident / read, over the link"));
    if (bench->card) return NULL;
    return measure_cold(bench, "cpu", "disk-resident / read, on cpu");
}

static void end(Bench *bench) {
    close_models(bench);
    worker_pool_release(bench->pool);
    device_close(bench->host);
    store_close(bench->store);
}

int main(int argc, char **argv) {
    static Bench bench = {.seconds = 60,
        .model_count = 40,
        .mebibytes = 64,
        .bandwidth = (uint64_t)4 << 30,
        .state = 88172645463325252u};
    uint64_t *const numbers[] = {&bench.seconds, &bench.model_count, &bench.mebibytes};
    bool good = argc >= 2 && argc <= 6;
    for (int i = 2; good && i < argc && i < 5; i++) good = text_parse_u64(argv[i], numbers[i - 2]);
    if (argc > 5 && !text_parse_u64(argv[5], &bench.bandwidth)) bench.card = argv[5];
    if (!good || bench.model_count < 4 || bench.model_count > MODELS_MAX || bench.mebibytes < 4 ||
        bench.mebibytes % 4 != 0) {
        (void)fprintf(
            stderr, "usage: bench_residency FOLDER [SECONDS [MODELS [MiB [BYTES/S|SPEC]]]]\n");
        return 2;
    }
    (void)snprintf(bench.home, sizeof bench.home, "%s/home", argv[1]);
    Error *error = run(&bench);
    if (error) (void)fprintf(stderr, "bench_residency: %s\n", error_message(error));
    end(&bench);
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
