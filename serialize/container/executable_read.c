#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/tensor/string_tensor.h"
#include "serialize/container/executable_file.h"
#include "serialize/container/value_bytes.h"
#include "vm/code/executable_builder.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

typedef struct ExecutableReader {
    const Container *container;
    WorkerPool *pool;
    ChunkVerify verify;
    bool outline; /* bulk data is not read */
    ExecutableBuilder *builder;
    uint32_t function_count;
    struct FunctionCode {
        uint32_t register_count, word_count;
        bool is_bytecode;
    } * codes;
    /* All bulk data is in one storage, so that it has huge pages even for small tensors: faults of
     * 4 KiB pages would cost more time than decoding. */
    Storage *bulk_storage; /* NULL until the first constant with bulk data */
    struct BulkPlace {
        uint64_t offset; /* in bulk_storage */
        bool wanted;     /* a constant uses it */
    } * places;
} ExecutableReader;

static Error *read_port(ByteReader *reader, Port *out) {
    TRY(byte_read_text(reader, FUNCTION_NAME_MAX, &out->name));
    TRY(value_bytes_read_dtype(reader, true, &out->dtype));
    TRY(byte_read_u8(reader, &out->slot));
    uint8_t form;
    TRY(byte_read_u8(reader, &form));
    if (form >> 1 > PORT_OPTIONAL_LIST) FAIL(CORRUPT, "form %u", form >> 1);
    out->rank_known = form & 1;
    out->form = (PortForm)(form >> 1);
    if (!out->rank_known) return NULL;
    TRY(value_bytes_read_shape(reader, -1, &out->shape));
    for (uint32_t i = 0; i < out->shape.rank; i++) {
        TRY(byte_read_text(reader, FUNCTION_NAME_MAX, &out->symbols[i]));
        if (out->symbols[i][0]) continue;
        memory_free(out->symbols[i]);
        out->symbols[i] = NULL;
    }
    return NULL;
}

static void release_ports(Port *ports, uint32_t count) {
    for (uint32_t i = 0; ports && i < count; i++) {
        memory_free(ports[i].name);
        for (uint32_t d = 0; d < SHAPE_RANK_MAX; d++) memory_free(ports[i].symbols[d]);
    }
    memory_free(ports);
}

/* *out_ports is NULL when the file has no ports; their count is always there. */
static Error *read_ports(ByteReader *reader, Port **out_ports, uint32_t *out_count) {
    enum { PORT_BYTES_MIN = 7 };
    bool given;
    uint32_t count;
    TRY(value_bytes_read_bool(reader, &given));
    TRY(given ? byte_read_count(reader, PORT_BYTES_MIN, &count) : byte_read_u32(reader, &count));
    if (count > EXECUTABLE_PORTS_MAX) FAIL(CORRUPT, "%u parameters or results", count);
    Port *ports = NULL;
    if (given) {
        void *memory;
        TRY(memory_alloc(count, sizeof(Port), &memory));
        ports = memory;
    }
    for (uint32_t i = 0; given && i < count; i++) {
        Error *error = read_port(reader, &ports[i]);
        if (!error) continue;
        release_ports(ports, count);
        return error_wrap(error, "port %u", i);
    }
    *out_ports = ports;
    *out_count = count;
    return NULL;
}

static Error *add_function(ExecutableReader *self, const char *name, uint8_t kind, uint32_t flags,
    const Port *parameters, uint32_t parameter_count, const Port *results, uint32_t result_count) {
    uint32_t index;
    TRY(executable_builder_add_function(
        self->builder, name, (FunctionKind)kind, flags, parameter_count, &index));
    if (parameters)
        TRY(executable_builder_set_parameters(self->builder, index, parameters, parameter_count));
    if (!results && result_count > 0)
        FAIL(CORRUPT, "function %s: %u results without ports", name, result_count);
    if (results) TRY(executable_builder_set_results(self->builder, index, results, result_count));
    return NULL;
}

static Error *read_function(ExecutableReader *self, ByteReader *reader, uint32_t index) {
    char *name = NULL;
    uint8_t kind = 0;
    uint32_t flags = 0, parameter_count = 0, result_count = 0;
    Port *parameters = NULL, *results = NULL;
    struct FunctionCode *code = &self->codes[index];
    TRY(byte_read_text(reader, FUNCTION_NAME_MAX, &name));
    Error *error = byte_read_u8(reader, &kind);
    if (!error) error = byte_read_u32(reader, &flags);
    if (!error) error = byte_read_u32(reader, &code->register_count);
    if (!error) error = byte_read_u32(reader, &code->word_count);
    if (!error) error = read_ports(reader, &parameters, &parameter_count);
    if (!error) error = read_ports(reader, &results, &result_count);
    if (!error)
        error = add_function(
            self, name, kind, flags, parameters, parameter_count, results, result_count);
    code->is_bytecode = kind == FUNCTION_BYTECODE;
    release_ports(parameters, parameter_count);
    release_ports(results, result_count);
    memory_free(name);
    return error;
}

static Error *read_globals(ExecutableReader *self) {
    enum { FUNCTION_BYTES_MIN = 23 };
    ByteReader reader;
    void *memory;
    TRY(container_get_section(self->container, SECTION_GLOBALS, &reader));
    TRY(byte_read_count(&reader, FUNCTION_BYTES_MIN, &self->function_count));
    TRY(memory_alloc(self->function_count, sizeof *self->codes, &memory));
    self->codes = memory;
    for (uint32_t i = 0; i < self->function_count; i++)
        TRY_WRAP(read_function(self, &reader, i), "function %u", i);
    return byte_reader_check_end(&reader);
}

static Error *place_bulks(ExecutableReader *self) {
    if (self->bulk_storage) return NULL;
    uint32_t count = container_bulk_count(self->container);
    void *memory;
    TRY(memory_alloc(count, sizeof *self->places, &memory));
    memory_free(self->places);
    self->places = memory;
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        ContainerBulk bulk;
        TRY(container_get_bulk(self->container, i, &bulk));
        self->places[i].offset = end;
        if (!checked_add_u64(end, bulk.size, &end) ||
            !checked_align_u64(end, DEVICE_ALIGNMENT, &end))
            FAIL(CORRUPT, "more than 2^64 bytes of bulk data");
    }
    return storage_create_on_host(device_host(), end, &self->bulk_storage);
}

static Error *read_bulk_tensor(ExecutableReader *self, ByteReader *reader, DType dtype,
    const Shape *shape, uint64_t bytes, Tensor **out) {
    uint32_t index;
    ContainerBulk bulk;
    TRY(byte_read_u32(reader, &index));
    TRY(container_get_bulk(self->container, index, &bulk));
    if (bulk.size != bytes)
        FAIL(CORRUPT, "%llu bytes of data for a tensor of %llu", (unsigned long long)bulk.size,
            (unsigned long long)bytes);
    TRY(place_bulks(self));
    struct BulkPlace *place = &self->places[index];
    OWN(Storage, storage) = NULL;
    TRY(storage_create_within(self->bulk_storage, place->offset, bytes, &storage));
    place->wanted = true;
    return tensor_create(storage, 0, dtype, shape, out);
}

static Error *read_inline_tensor(
    ByteReader *reader, DType dtype, const Shape *shape, uint64_t bytes, Tensor **out) {
    const uint8_t *data;
    OWN(Tensor, tensor) = NULL;
    TRY(byte_read_view(reader, (size_t)bytes, &data));
    if (dtype == DTYPE_STRING)
        TRY(error_recode(tensor_create_bytes_on_host(device_host(), dtype, shape, bytes, &tensor),
            ERROR_CORRUPT));
    else
        TRY(tensor_create_on_host(device_host(), dtype, shape, &tensor));
    if (tensor_bytes(tensor) > 0) memcpy(tensor_data(tensor), data, (size_t)bytes);
    TRY(error_recode(string_tensor_check(tensor), ERROR_CORRUPT));
    *out = TAKE(tensor);
    return NULL;
}

static Error *read_tensor(ExecutableReader *self, ByteReader *reader, Value *out) {
    DType dtype;
    Shape shape;
    uint64_t bytes;
    Tensor *tensor;
    TRY(value_bytes_read_dtype(reader, false, &dtype));
    TRY(value_bytes_read_shape(reader, 0, &shape));
    if (dtype == DTYPE_STRING)
        TRY(byte_read_u64(reader, &bytes));
    else
        TRY(error_recode(shape_bytes(&shape, dtype, &bytes), ERROR_CORRUPT));
    if (bytes <= EXECUTABLE_INLINE_SIZE || dtype == DTYPE_STRING)
        TRY(read_inline_tensor(reader, dtype, &shape, bytes, &tensor));
    else
        TRY(read_bulk_tensor(self, reader, dtype, &shape, bytes, &tensor));
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static Error *read_object(ExecutableReader *self, ByteReader *reader, Value *out) {
    uint8_t kind;
    TRY(byte_read_u8(reader, &kind));
    if (kind == OBJECT_TENSOR) return read_tensor(self, reader, out);
    if (kind == OBJECT_SHAPE) return value_bytes_read_shape_object(reader, out);
    if (kind != OBJECT_STRING) FAIL(CORRUPT, "a constant of object kind %u", kind);
    char *text;
    StringObject *string;
    TRY(byte_read_text(reader, STRING_OBJECT_SIZE_MAX, &text));
    Error *error = string_object_create(NULL, text, strlen(text), &string);
    memory_free(text);
    TRY(error);
    *out = value_object(OBJECT_STRING, string);
    return NULL;
}

static Error *read_constant_value(ExecutableReader *self, ByteReader *reader, Value *out) {
    uint8_t tag;
    TRY(byte_read_u8(reader, &tag));
    if (tag == VALUE_OBJECT) return read_object(self, reader, out);
    /* nil is refused where the constant is added */
    return value_bytes_read_scalar(reader, tag, out);
}

/* Fills the bulk storage with the data of all constants. */
static Error *read_bulk_data(ExecutableReader *self) {
    if (!self->bulk_storage || self->outline) return NULL;
    uint32_t count = container_bulk_count(self->container);
    void *memory;
    TRY(memory_alloc(count, sizeof(BulkRead), &memory));
    BulkRead *reads = memory;
    size_t read_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!self->places[i].wanted) continue;
        uint64_t address = self->bulk_storage->address + self->places[i].offset;
        reads[read_count++] = (BulkRead){i, (void *)(uintptr_t)address};
    }
    Error *error =
        container_read_bulks(self->container, reads, read_count, self->pool, self->verify);
    memory_free(memory);
    return error;
}

static Error *read_constants(ExecutableReader *self) {
    enum { CONSTANT_BYTES_MIN = 3 };
    ByteReader reader;
    uint32_t count, index;
    TRY(container_get_section(self->container, SECTION_CONSTANTS, &reader));
    TRY(byte_read_count(&reader, CONSTANT_BYTES_MIN, &count));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t slot;
        Value value;
        TRY(byte_read_u8(&reader, &slot));
        TRY_WRAP(read_constant_value(self, &reader, &value), "constant %u", i);
        TRY_WRAP(
            executable_builder_add_constant(self->builder, value, slot, &index), "constant %u", i);
    }
    TRY(byte_reader_check_end(&reader));
    return read_bulk_data(self);
}

static Error *read_primitive(ExecutableReader *self, ByteReader *reader) {
    char *name;
    uint32_t version, index;
    OWN(Attributes, attributes) = NULL;
    TRY(byte_read_text(reader, FUNCTION_NAME_MAX, &name));
    Error *error = byte_read_u32(reader, &version);
    if (!error) error = attributes_read(reader, &attributes);
    if (!error)
        error = executable_builder_add_primitive(self->builder, name, version, attributes, &index);
    memory_free(name);
    return error;
}

static Error *read_primitives(ExecutableReader *self) {
    enum { PRIMITIVE_BYTES_MIN = 9 };
    ByteReader reader;
    uint32_t count;
    TRY(container_get_section(self->container, SECTION_PRIMITIVES, &reader));
    TRY(byte_read_count(&reader, PRIMITIVE_BYTES_MIN, &count));
    for (uint32_t i = 0; i < count; i++) TRY_WRAP(read_primitive(self, &reader), "primitive %u", i);
    return byte_reader_check_end(&reader);
}

static Error *read_function_code(ExecutableReader *self, ByteReader *reader, uint32_t index) {
    const struct FunctionCode *code = &self->codes[index];
    if (code->word_count > byte_reader_left(reader) / sizeof(uint64_t))
        FAIL(CORRUPT, "function %u: %u words of code, %zu bytes are left", index, code->word_count,
            byte_reader_left(reader));
    if (!code->is_bytecode) {
        if (code->word_count || code->register_count)
            FAIL(CORRUPT, "function %u: code of a packed function", index);
        return NULL;
    }
    void *memory;
    TRY(memory_alloc(code->word_count, sizeof(uint64_t), &memory));
    uint64_t *words = memory;
    Error *error = NULL;
    for (uint32_t i = 0; i < code->word_count && !error; i++)
        error = byte_read_u64(reader, &words[i]);
    if (!error)
        error = executable_builder_set_code(
            self->builder, index, code->register_count, words, code->word_count);
    memory_free(memory);
    return error;
}

static Error *read_code(ExecutableReader *self) {
    ByteReader reader;
    TRY(container_get_section(self->container, SECTION_CODE, &reader));
    for (uint32_t i = 0; i < self->function_count; i++) TRY(read_function_code(self, &reader, i));
    return byte_reader_check_end(&reader);
}

static Error *read_source(ExecutableReader *self) {
    ByteReader reader;
    if (!container_has_section(self->container, SECTION_SOURCE)) return NULL;
    TRY(container_get_section(self->container, SECTION_SOURCE, &reader));
    return executable_builder_set_source(self->builder, reader.data, reader.size);
}

static Error *read_library(ExecutableReader *self) {
    ByteReader reader;
    uint32_t constant;
    Digest digest;
    const uint8_t *bytes;
    if (!container_has_section(self->container, SECTION_LIBRARY)) return NULL;
    TRY(container_get_section(self->container, SECTION_LIBRARY, &reader));
    TRY(byte_read_u32(&reader, &constant));
    TRY(byte_read_view(&reader, sizeof digest, &bytes));
    memcpy(&digest, bytes, sizeof digest);
    TRY(executable_builder_set_native_library(self->builder, constant, &digest));
    return byte_reader_check_end(&reader);
}

static Error *read_all(ExecutableReader *self, Executable **out) {
    TRY(executable_builder_create(&self->builder));
    TRY_WRAP(read_globals(self), "globals");
    TRY_WRAP(read_constants(self), "constants");
    TRY_WRAP(read_primitives(self), "primitives");
    TRY_WRAP(read_code(self), "code");
    TRY(read_source(self));
    TRY_WRAP(read_library(self), "library");
    return executable_builder_finish(self->builder, out);
}

static Error *read(ExecutableReader *self, Executable **out) {
    Executable *executable = NULL;
    Error *error = read_all(self, &executable);
    bool lacks_data = self->outline && self->bulk_storage;
    executable_builder_release(self->builder);
    memory_free(self->codes);
    memory_free(self->places);
    storage_release(self->bulk_storage);
    TRY_WRAP(error, "executable");
    executable->outline = lacks_data;
    executable->identity = *container_get_identity(self->container);
    *out = executable;
    return NULL;
}

Error *executable_read(
    const Container *container, WorkerPool *pool, ChunkVerify verify, Executable **out) {
    ExecutableReader self = {.container = container, .pool = pool, .verify = verify};
    return read(&self, out);
}

Error *executable_read_outline(const Container *container, Executable **out) {
    ExecutableReader self = {.container = container, .outline = true};
    return read(&self, out);
}

Error *executable_read_file(const char *path, WorkerPool *pool, Executable **out) {
    OWN(Container, container) = NULL;
    TRY_WRAP(container_open_path(CONTAINER_EXECUTABLE, path, &container), "%s", path);
    TRY_WRAP(executable_read(container, pool, CHUNK_VERIFY_SHA256, out), "%s", path);
    return NULL;
}
