#include "scheduler/jobs/intake_inputs.h"

#include "serialize/arrays/npz_ports.h"
#include "serialize/arrays/npz_stream.h"

enum {
    WHOLE_MAX = 4 << 20,    /* inputs of so many bytes are read at once: the job begins with them */
    ALWAYS_MAX = 16 << 20,  /* inputs of up to so many bytes pass whatever host_bytes is */
    WINDOW_MAX = 112 << 20, /* of a stream: chunks raw and encoded, and two transactions of them */
};
static const uint64_t UNPACKED_MAX = (uint64_t)64 << 30;

Error *intake_inputs_budget(MemoryBudget **out_budget) {
    enum { MEMORY_PART = 16, BYTES_MIN = 128 << 20, BYTES_MAX = 1 << 30 };
    return memory_budget_create("unpacking inputs",
        memory_budget_part_of_machine(MEMORY_PART, BYTES_MIN, BYTES_MAX), 0, out_budget);
}

uint64_t intake_inputs_share(const MemoryBudget *budget, int64_t host_bytes) {
    const uint64_t least = (uint64_t)32 << 20, half = memory_budget_bytes(budget) / 2;
    uint64_t share = half;
    if (host_bytes != QUOTA_UNLIMITED && (uint64_t)host_bytes < share) share = (uint64_t)host_bytes;
    if (share < least) share = least;
    return share < half ? share : half;
}

Error *intake_inputs_open(const void *data, size_t size, IntakeInputs *out) {
    *out = (IntakeInputs){0};
    return data ? npz_file_open(data, size, UNPACKED_MAX, &out->file) : NULL;
}

void intake_inputs_close(IntakeInputs *inputs) {
    npz_stream_close(inputs->stream);
    array_list_deinit(&inputs->arrays);
    npz_file_close(&inputs->file);
    memory_charge_end(&inputs->charge);
    *inputs = (IntakeInputs){0};
}

Error *intake_inputs_check(
    const IntakeInputs *inputs, const Function *function, bool items, const Tenant *tenant) {
    TRY(npz_ports_check(&inputs->file, function, items));
    int64_t quota = tenant->quotas[QUOTA_HOST_BYTES];
    if (inputs->file.bytes <= ALWAYS_MAX) return NULL;
    if (quota != QUOTA_UNLIMITED && inputs->file.bytes > (uint64_t)quota)
        FAIL(EXHAUSTED, "over the tenant's quota host_bytes: the inputs are %llu bytes, of %lld",
            (unsigned long long)inputs->file.bytes, (long long)quota);
    return NULL;
}

static Error *outline(const NpzArray *from, ArrayList *arrays) {
    NamedArray array = {0};
    Error *error = npz_array_outline(from, &array);
    if (error_code(error) == ERROR_OUT_OF_MEMORY) error = error_recode(error, ERROR_EXHAUSTED);
    TRY(error);
    return array_list_add(arrays, &array);
}

static Error *read(const NpzArray *from, ArrayList *arrays) {
    NamedArray array = {0};
    TRY(npz_array_read(from, &array));
    return array_list_add(arrays, &array);
}

/* Where the number of a list's items stands, the number is needed. */
static bool is_tiny(const NpzArray *array) {
    return array->dtype == DTYPE_INT64 && array->bytes == sizeof(int64_t);
}

Error *intake_inputs_outline(const IntakeInputs *inputs, ArrayList *out_arrays) {
    const NpzFile *file = &inputs->file;
    for (size_t i = 0; i < file->count; i++)
        TRY(is_tiny(&file->items[i]) ? read(&file->items[i], out_arrays)
                                     : outline(&file->items[i], out_arrays));
    return NULL;
}

static bool streams(const NpzFile *file, const NpzArray *array) {
    return file->bytes > WHOLE_MAX && array->bytes > ARRAY_BUNDLE_INLINE_SIZE &&
           npz_array_is_streamable(array);
}

/* share: a larger window takes the whole share, and so is the tenant's only one. */
static uint64_t memory_wanted(const NpzFile *file, uint64_t share) {
    uint64_t whole = 0, window = 0;
    for (size_t i = 0; i < file->count; i++)
        if (!streams(file, &file->items[i]))
            whole += npz_array_read_bytes(&file->items[i]);
        else if (window < WINDOW_MAX)
            window += 2 * file->items[i].bytes;
    if (window > WINDOW_MAX) window = WINDOW_MAX;
    if (whole >= share) return whole;
    return window < share - whole ? whole + window : share;
}

Error *intake_inputs_charge(IntakeInputs *inputs, MemoryBudget *budget, const Tenant *tenant) {
    const NpzFile *file = &inputs->file;
    uint64_t share = intake_inputs_share(budget, tenant->quotas[QUOTA_HOST_BYTES]);
    return memory_budget_take(
        budget, tenant->id, share, memory_wanted(file, share), &inputs->charge);
}

Error *intake_inputs_read(IntakeInputs *inputs) {
    const NpzFile *file = &inputs->file;
    for (size_t i = 0; i < file->count; i++) {
        bool streamed = streams(file, &file->items[i]);
        inputs->streams |= streamed;
        TRY(streamed ? outline(&file->items[i], &inputs->arrays)
                     : read(&file->items[i], &inputs->arrays));
    }
    return NULL;
}

static Error *open_stream(void *self, size_t index, RawChunks *out_chunks) {
    IntakeInputs *inputs = self;
    const NpzArray *array = &inputs->file.items[index];
    if (!streams(&inputs->file, array)) return NULL;
    TRY_WRAP(npz_stream_open(array, &inputs->stream), "member %s.npy", array->name);
    *out_chunks = npz_stream_chunks(inputs->stream);
    return NULL;
}

static Error *close_stream(void *self, size_t index) {
    IntakeInputs *inputs = self;
    Error *error = npz_stream_finish(inputs->stream);
    npz_stream_close(inputs->stream);
    inputs->stream = NULL;
    return error_wrap(error, "member %s.npy", inputs->file.items[index].name);
}

Error *intake_inputs_write(
    IntakeInputs *inputs, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle) {
    const ArrayStreams source = {open_stream, close_stream, inputs};
    return array_bundle_write_streams(&inputs->arrays, source, pool, sink, out_bundle);
}
