#include "scheduler/jobs/unused_inputs.h"

#include <string.h>

#include "base/allocator.h"
#include "serialize/container/value_bytes.h"
#include "store/chunks/chunk_reader.h"
#include "store/jobs/stored_content.h"

/* One array: the place of its chunks among the stored ones, and how many of its bytes are left
 * out. */
typedef struct Cut {
    size_t first_chunk;
    uint64_t bytes;
} Cut;

struct UnusedInputs {
    Store *store;
    TenantId tenant;
    StoredContent *content;
    ChunkReader *reader; /* only during a call: an open one holds the store's log */
    ArrayList arrays;    /* as they are stored; those in chunks have no data in memory */
    NamedArray *views;   /* of arrays: the unused items */
    Cut *cuts;
    void **pieces; /* chunks of the array that is written, while they are encoded */
    size_t piece_array;
    const ArrayBundle *bundle; /* of unused_inputs_source */
    size_t next;               /* the chunk that is probably asked for next */
};

void unused_inputs_close(UnusedInputs *inputs) {
    if (!inputs) return;
    memory_free(inputs->pieces);
    memory_free(inputs->views); /* the arrays are the list's */
    memory_free(inputs->cuts);
    array_list_deinit(&inputs->arrays);
    chunk_reader_close(inputs->reader);
    stored_content_close(inputs->content);
    memory_free(inputs);
}

static void end_reading(UnusedInputs *inputs) {
    chunk_reader_close(inputs->reader);
    inputs->reader = NULL;
}

/* ---- what is left ---- */

/* Keeps the items after the first `used` ones; the data are not moved. */
static Error *cut_front(NamedArray *view, int64_t used, uint64_t *out_bytes) {
    int64_t count = view->shape.rank > 0 ? view->shape.dims[0] : 0;
    if (used < 0 || used > count)
        FAIL(CORRUPT, "input %s has %lld items, %lld are used", view->name, (long long)count,
            (long long)used);
    if (used == 0) return NULL;
    if (view->texts) view->texts += shape_count_unchecked(&view->shape) / count * used;
    *out_bytes = view->size / (uint64_t)count * (uint64_t)used;
    if (view->data) view->data += *out_bytes;
    view->size -= *out_bytes;
    view->shape.dims[0] -= used;
    return NULL;
}

/* Reads bytes of an array from `at` on, out of its stored chunks. */
static Error *read_bytes(
    const UnusedInputs *self, size_t array, uint64_t at, uint64_t size, uint8_t *out) {
    ByteWriter OWN_BYTES(stored) = {0};
    size_t count;
    void *raw;
    const ChunkRef *refs = stored_content_chunks(self->content, &count);
    const ChunkSource source = chunk_reader_source(self->reader);
    Error *error = NULL;
    TRY(memory_alloc(CHUNK_SIZE, 1, &raw));
    while (size > 0 && !error) {
        const ChunkRef *ref = &refs[self->cuts[array].first_chunk + at / CHUNK_SIZE];
        const uint64_t from = at % CHUNK_SIZE, here = ref->raw_size - from;
        const uint64_t part = here < size ? here : size;
        error = source.get(source.self, ref, &stored);
        if (!error) error = byte_writer_check(&stored);
        if (!error) error = chunk_decode(stored.data, stored.size, ref, CHUNK_VERIFY_XXH3, raw);
        if (!error) memcpy(out, (const uint8_t *)raw + from, (size_t)part);
        out += part;
        at += part;
        size -= part;
    }
    memory_free(raw);
    return error;
}

/* The rest of an array in chunks may be so small that it goes into the bundle's bytes. */
static Error *cut_array(
    UnusedInputs *self, bool is_shared, size_t index, int64_t used, size_t *inout_chunk) {
    const NamedArray *whole = &self->arrays.items[index];
    NamedArray *view = &self->views[index];
    Cut *cut = &self->cuts[index];
    const bool in_chunks = whole->size > ARRAY_BUNDLE_INLINE_SIZE;
    *view = *whole;
    cut->first_chunk = *inout_chunk;
    if (in_chunks) *inout_chunk += chunk_count(whole->size, CHUNK_SIZE);
    if (!is_shared) TRY(cut_front(view, used, &cut->bytes));
    if (!in_chunks || view->size > ARRAY_BUNDLE_INLINE_SIZE) return NULL;
    return read_bytes(self, index, cut->bytes, view->size, view->data);
}

static Error *open_arrays(UnusedInputs *self, const JobPolicy *policy, int64_t used) {
    const BatchOptions options = job_policy_batch_options(policy);
    size_t size, chunks, chunk = 0;
    void *memory;
    const uint8_t *bytes = stored_content_bytes(self->content, &size);
    const ChunkRef *refs = stored_content_chunks(self->content, &chunks);
    TRY(array_bundle_read_form(bytes, size, refs, chunks, UINT64_MAX, &self->arrays));
    TRY(memory_alloc(self->arrays.count, sizeof(NamedArray), &memory));
    self->views = memory;
    TRY(memory_alloc(self->arrays.count, sizeof(Cut), &memory));
    self->cuts = memory;
    for (size_t i = 0; i < self->arrays.count; i++) {
        const bool is_shared = batch_options_share(&options, self->arrays.items[i].name);
        TRY(cut_array(self, is_shared, i, used, &chunk));
    }
    return NULL;
}

Error *unused_inputs_open(Store *store, const Job *job, const JobPolicy *policy, int64_t used,
    UnusedInputs **out_inputs) {
    OWN(UnusedInputs, inputs) = NULL;
    TRY(memory_alloc(1, sizeof *inputs, (void **)&inputs));
    inputs->store = store;
    inputs->tenant = job->tenant;
    TRY(stored_content_open(store, job->tenant, job->id, JOB_CONTENT_INPUTS, 0, &inputs->content));
    TRY(chunk_reader_open(store, job->tenant, &inputs->reader));
    TRY(open_arrays(inputs, policy, used));
    end_reading(inputs);
    *out_inputs = TAKE(inputs);
    return NULL;
}

uint64_t unused_inputs_bytes(const UnusedInputs *inputs) {
    size_t size, chunks;
    (void)stored_content_bytes(inputs->content, &size);
    (void)stored_content_chunks(inputs->content, &chunks);
    return 3 * (size + chunks * sizeof(ChunkRef)) +
           inputs->arrays.count * (2 * sizeof(NamedArray) + sizeof(Cut));
}

/* ---- its chunks ---- */

static Error *make_piece(const UnusedInputs *self, size_t array, size_t index, void **out) {
    const uint64_t size = self->views[array].size;
    const uint32_t bytes = chunk_raw_size(size, CHUNK_SIZE, index);
    void *piece;
    TRY(memory_alloc(bytes, 1, &piece));
    Error *error = read_bytes(
        self, array, self->cuts[array].bytes + (uint64_t)index * CHUNK_SIZE, bytes, piece);
    if (error)
        memory_free(piece);
    else
        *out = piece;
    return error;
}

static Error *get_piece(void *context, size_t index, const void **out_data) {
    UnusedInputs *self = context;
    TRY(make_piece(self, self->piece_array, index, &self->pieces[index]));
    *out_data = self->pieces[index];
    return NULL;
}

static void drop_piece(void *context, size_t index) {
    UnusedInputs *self = context;
    memory_free(self->pieces[index]);
    self->pieces[index] = NULL;
}

static Error *open_stream(void *context, size_t index, RawChunks *out_chunks) {
    UnusedInputs *self = context;
    void *memory;
    TRY(memory_alloc(chunk_count(self->views[index].size, CHUNK_SIZE), sizeof(void *), &memory));
    self->pieces = memory;
    self->piece_array = index;
    *out_chunks = (RawChunks){get_piece, drop_piece, self};
    return NULL;
}

static Error *close_stream(void *context, size_t index) {
    UnusedInputs *self = context;
    const size_t count = chunk_count(self->views[index].size, CHUNK_SIZE);
    for (size_t i = 0; i < count; i++) memory_free(self->pieces[i]); /* of a failed write */
    memory_free(self->pieces);
    self->pieces = NULL;
    return NULL;
}

Error *unused_inputs_write(
    UnusedInputs *inputs, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle) {
    const ArrayList views = {inputs->views, inputs->arrays.count, inputs->arrays.count};
    const ArrayStreams streams = {open_stream, close_stream, inputs};
    TRY(chunk_reader_open(inputs->store, inputs->tenant, &inputs->reader));
    Error *error = array_bundle_write_streams(&views, streams, pool, sink, out_bundle);
    end_reading(inputs);
    return error;
}

static Error *find_chunk(UnusedInputs *self, const ChunkRef *ref, size_t *out_index) {
    const size_t count = self->bundle->chunk_count;
    for (size_t i = 0; i < count; i++) {
        const size_t index = (self->next + i) % count;
        if (!digest_equal(&self->bundle->chunks[index].hash, &ref->hash)) continue;
        *out_index = index;
        self->next = index + 1;
        return NULL;
    }
    FAIL(NOT_FOUND, "no such chunk among the inputs that are left");
}

static Error *get_chunk(void *context, const ChunkRef *ref, ByteWriter *inout_stored) {
    UnusedInputs *self = context;
    size_t index, array = 0;
    void *piece;
    TRY(find_chunk(self, ref, &index));
    for (;; array++) {
        const uint64_t size = self->views[array].size;
        const size_t count = size > ARRAY_BUNDLE_INLINE_SIZE ? chunk_count(size, CHUNK_SIZE) : 0;
        if (index < count) break;
        index -= count;
    }
    TRY(chunk_reader_open(self->store, self->tenant, &self->reader));
    Error *error = make_piece(self, array, index, &piece);
    end_reading(self);
    TRY(error);
    inout_stored->size = 0;
    error = chunk_encode(
        piece, ref->raw_size, value_bytes_filter(self->views[array].dtype), inout_stored);
    memory_free(piece);
    return error;
}

ChunkSource unused_inputs_source(UnusedInputs *inputs, const ArrayBundle *bundle) {
    inputs->bundle = bundle;
    inputs->next = 0;
    return (ChunkSource){get_chunk, inputs};
}
