#include "serialize/arrays/array_bundle.h"

#include <string.h>

#include "base/allocator.h"
#include "serialize/container/value_bytes.h"

enum { VERSION = 1, ARRAY_BYTES_MIN = 7 };
static const uint8_t magic[4] = {'L', 'V', 'A', 'B'};

typedef enum DataForm { /* stored */
    FORM_INLINE = 0,
    FORM_CHUNKS = 1,
    FORM_TEXTS = 2,
} DataForm;

void array_bundle_deinit(ArrayBundle *bundle) {
    byte_writer_deinit(&bundle->bytes);
    memory_free(bundle->chunks);
    *bundle = (ArrayBundle){0};
}

typedef struct BundleWriter {
    const ArrayList *arrays;
    ArrayStreams streams; /* open NULL: no array is a stream */
    WorkerPool *pool;
    ChunkSink sink;
    ArrayBundle bundle;
} BundleWriter;

static Error *write_stream(
    BundleWriter *self, size_t index, RawChunks chunks, uint64_t size, ChunkRef *refs) {
    ChunkFilter filter = value_bytes_filter(self->arrays->items[index].dtype);
    Error *error = chunk_write_read(self->pool, chunks, size, CHUNK_SIZE, filter, self->sink, refs);
    Error *close_error = self->streams.close(self->streams.self, index);
    if (!error) return close_error;
    error_free(close_error); /* closing a stream before its end may fail */
    return error;
}

static Error *write_chunks(BundleWriter *self, size_t index) {
    const NamedArray *array = &self->arrays->items[index];
    ArrayBundle *bundle = &self->bundle;
    size_t count = chunk_count(array->size, CHUNK_SIZE);
    void *memory = bundle->chunks;
    RawChunks chunks = {0};
    TRY(memory_resize(&memory, bundle->chunk_count + count, sizeof(ChunkRef)));
    bundle->chunks = memory;
    ChunkRef *refs = bundle->chunks + bundle->chunk_count;
    if (self->streams.open) TRY(self->streams.open(self->streams.self, index, &chunks));
    if (chunks.get)
        TRY(write_stream(self, index, chunks, array->size, refs));
    else
        TRY(chunk_write_data(self->pool, array->data, array->size, CHUNK_SIZE,
            value_bytes_filter(array->dtype), (KnownChunks){0}, self->sink, refs));
    bundle->chunk_count += count;
    byte_write_u8(&bundle->bytes, FORM_CHUNKS);
    return NULL;
}

static void write_texts(const NamedArray *array, ByteWriter *writer) {
    int64_t count = shape_count_unchecked(&array->shape);
    byte_write_u8(writer, FORM_TEXTS);
    for (int64_t i = 0; i < count; i++) byte_write_text(writer, array->texts[i]);
}

static Error *write_array(BundleWriter *self, size_t index) {
    const NamedArray *array = &self->arrays->items[index];
    ByteWriter *writer = &self->bundle.bytes;
    if (strlen(array->name) > ARRAY_BUNDLE_NAME_MAX)
        FAIL(INVALID, "an array's name of more than %d bytes", ARRAY_BUNDLE_NAME_MAX);
    byte_write_text(writer, array->name);
    byte_write_u8(writer, (uint8_t)array->dtype);
    value_bytes_write_shape(writer, &array->shape);
    if (array->dtype == DTYPE_STRING)
        write_texts(array, writer);
    else if (array->size > ARRAY_BUNDLE_INLINE_SIZE)
        TRY(write_chunks(self, index));
    else {
        byte_write_u8(writer, FORM_INLINE);
        byte_write_bytes(writer, array->data, (size_t)array->size);
    }
    return byte_writer_check(writer);
}

static Error *write_bundle(BundleWriter *self) {
    const ArrayList *arrays = self->arrays;
    ByteWriter *bytes = &self->bundle.bytes;
    if (arrays->count > ARRAY_BUNDLE_ARRAYS_MAX)
        FAIL(INVALID, "%zu arrays; %d at most are stored together", arrays->count,
            ARRAY_BUNDLE_ARRAYS_MAX);
    byte_write_bytes(bytes, magic, sizeof magic);
    byte_write_u32(bytes, VERSION);
    byte_write_u32(bytes, (uint32_t)arrays->count);
    for (size_t i = 0; i < arrays->count; i++)
        TRY_WRAP(write_array(self, i), "array %s", arrays->items[i].name);
    return byte_writer_check(bytes);
}

Error *array_bundle_write_streams(const ArrayList *arrays, ArrayStreams streams, WorkerPool *pool,
    ChunkSink sink, ArrayBundle *out_bundle) {
    BundleWriter self = {.arrays = arrays, .streams = streams, .pool = pool, .sink = sink};
    Error *error = write_bundle(&self);
    if (error)
        array_bundle_deinit(&self.bundle);
    else
        *out_bundle = self.bundle;
    return error;
}

Error *array_bundle_write(
    const ArrayList *arrays, WorkerPool *pool, ChunkSink sink, ArrayBundle *out_bundle) {
    return array_bundle_write_streams(arrays, (ArrayStreams){0}, pool, sink, out_bundle);
}

typedef struct BundleReader {
    ByteReader reader;
    const ChunkRef *chunks; /* chunks of the arrays that are still to read */
    size_t chunk_count;
    uint64_t bytes_left;
    ArrayList *arrays;
    ChunkRun *runs; /* chunks that are read once all arrays are known */
    size_t run_count;
} BundleReader;

static Error *take_chunks(BundleReader *self, const NamedArray *array) {
    /* check_size has checked that the chunks exist */
    size_t count = chunk_count(array->size, CHUNK_SIZE);
    for (size_t i = 0; i < count; i++) {
        uint32_t expected = chunk_raw_size(array->size, CHUNK_SIZE, i);
        if (self->chunks[i].raw_size != expected)
            FAIL(CORRUPT, "chunk %zu of %u bytes instead of %u", i, self->chunks[i].raw_size,
                expected);
    }
    self->runs[self->run_count++] = (ChunkRun){self->chunks, count, array->data};
    self->chunks += count;
    self->chunk_count -= count;
    return NULL;
}

static void release_texts(char **texts, size_t count) {
    for (size_t i = 0; i < count; i++) memory_free(texts[i]);
    memory_free(texts);
}

static Error *read_texts(
    BundleReader *self, const char *name, const Shape *shape, NamedArray *out) {
    enum { TEXT_BYTES_MIN = 4 };
    int64_t count;
    void *memory;
    TRY(error_recode(shape_count(shape, &count), ERROR_CORRUPT));
    if ((uint64_t)count > byte_reader_left(&self->reader) / TEXT_BYTES_MIN)
        FAIL(CORRUPT, "%lld strings are announced, but not there", (long long)count);
    TRY(memory_alloc((size_t)count, sizeof(char *), &memory));
    char **texts = memory;
    Error *error = NULL;
    for (int64_t i = 0; i < count && !error; i++)
        error = byte_read_text(&self->reader, ARRAY_BUNDLE_TEXT_MAX, &texts[i]);
    if (!error) error = named_array_init_texts(out, name, shape, (const char *const *)texts);
    release_texts(texts, (size_t)count);
    return error;
}

static Error *check_size(BundleReader *self, DType dtype, const Shape *shape, uint8_t form) {
    uint64_t size;
    TRY(error_recode(shape_bytes(shape, dtype, &size), ERROR_CORRUPT));
    if ((form == FORM_CHUNKS) != (size > ARRAY_BUNDLE_INLINE_SIZE))
        FAIL(CORRUPT, "%llu bytes stand in the wrong place", (unsigned long long)size);
    if (form == FORM_INLINE && size > byte_reader_left(&self->reader))
        FAIL(CORRUPT, "%llu bytes are announced, but not there", (unsigned long long)size);
    if (form == FORM_CHUNKS && chunk_count(size, CHUNK_SIZE) > self->chunk_count)
        FAIL(CORRUPT, "%llu bytes are announced, but %zu chunks are left", (unsigned long long)size,
            self->chunk_count);
    if (size > self->bytes_left) FAIL(EXHAUSTED, "the arrays are too large together");
    self->bytes_left -= size;
    return NULL;
}

static Error *read_data(
    BundleReader *self, const char *name, DType dtype, const Shape *shape, NamedArray *out) {
    uint8_t form;
    TRY(byte_read_u8(&self->reader, &form));
    if ((form == FORM_TEXTS) != (dtype == DTYPE_STRING) || form > FORM_TEXTS)
        FAIL(CORRUPT, "data of form %u", form);
    if (form == FORM_TEXTS) return read_texts(self, name, shape, out);
    TRY(check_size(self, dtype, shape, form));
    TRY(named_array_init(out, name, dtype, shape));
    if (form == FORM_CHUNKS) return take_chunks(self, out);
    const uint8_t *bytes;
    TRY(byte_read_view(&self->reader, (size_t)out->size, &bytes));
    if (out->size > 0) memcpy(out->data, bytes, (size_t)out->size);
    return NULL;
}

static Error *read_array(BundleReader *self) {
    DType dtype;
    Shape shape;
    char *name = NULL;
    NamedArray array = {0};
    TRY(byte_read_text(&self->reader, ARRAY_BUNDLE_NAME_MAX, &name));
    Error *error = value_bytes_read_dtype(&self->reader, false, &dtype);
    if (!error) error = value_bytes_read_shape(&self->reader, 0, &shape);
    if (!error) error = read_data(self, name, dtype, &shape, &array);
    memory_free(name);
    if (error) {
        named_array_deinit(&array);
        return error;
    }
    return array_list_add(self->arrays, &array);
}

static Error *read_form(BundleReader *self) {
    const uint8_t *head;
    uint32_t version, count;
    void *memory;
    TRY(byte_read_view(&self->reader, sizeof magic, &head));
    if (memcmp(head, magic, sizeof magic) != 0) FAIL(CORRUPT, "no arrays");
    TRY(byte_read_u32(&self->reader, &version));
    if (version != VERSION)
        FAIL(UNSUPPORTED, "arrays of version %u; this program reads version %d", version, VERSION);
    TRY(byte_read_count(&self->reader, ARRAY_BYTES_MIN, &count));
    if (count > ARRAY_BUNDLE_ARRAYS_MAX) FAIL(CORRUPT, "%u arrays", count);
    TRY(memory_alloc(count, sizeof(ChunkRun), &memory));
    self->runs = memory;
    for (uint32_t i = 0; i < count; i++) TRY_WRAP(read_array(self), "array %u", i);
    TRY(byte_reader_check_end(&self->reader));
    if (self->chunk_count > 0) FAIL(CORRUPT, "%zu chunks too many", self->chunk_count);
    return array_list_check_names(self->arrays);
}

/* source: NULL: chunks are left alone. */
static Error *read_bundle(BundleReader *self, WorkerPool *pool, ChunkVerify verify,
    const ChunkSource *source, ArrayList *out_arrays) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    self->arrays = &arrays;
    Error *error = read_form(self);
    if (!error && source)
        error = chunk_read_data(pool, self->runs, self->run_count, verify, *source);
    memory_free(self->runs);
    TRY(error_wrap(error, "stored arrays"));
    *out_arrays = arrays;
    arrays = (ArrayList){0};
    return NULL;
}

static BundleReader bundle_reader(const void *bytes, size_t size, const ChunkRef *chunks,
    size_t chunk_count, uint64_t bytes_max) {
    return (BundleReader){.reader = byte_reader(bytes, size),
        .chunks = chunks,
        .chunk_count = chunk_count,
        .bytes_left = bytes_max};
}

Error *array_bundle_read(const void *bytes, size_t size, const ChunkRef *chunks, size_t chunk_count,
    WorkerPool *pool, ChunkVerify verify, ChunkSource source, uint64_t bytes_max,
    ArrayList *out_arrays) {
    BundleReader self = bundle_reader(bytes, size, chunks, chunk_count, bytes_max);
    return read_bundle(&self, pool, verify, &source, out_arrays);
}

Error *array_bundle_read_form(const void *bytes, size_t size, const ChunkRef *chunks,
    size_t chunk_count, uint64_t bytes_max, ArrayList *out_arrays) {
    BundleReader self = bundle_reader(bytes, size, chunks, chunk_count, bytes_max);
    return read_bundle(&self, NULL, CHUNK_VERIFY_XXH3, NULL, out_arrays);
}
