#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "vm/objects/shape_object.h"
#include "vm/relax/relax_opaque.h"
#include "vm/relax/relax_registry.h"

enum { KV_ARRAY_ROWS_MAX = 1 << 30 };

/* A cache of rows in host memory: the first `filled` of `reserved` count. Views are copies, since a
 * ring overwrites its rows. */
typedef struct KvArray {
    DType dtype;
    uint8_t slot; /* of views */
    Shape row;    /* one row's shape */
    uint64_t row_bytes;
    int64_t reserved, filled;
    int64_t at;      /* the next row that a ring writes */
    int64_t touched; /* rows that were written, also behind those that are filled */
    int64_t room;    /* rows that there is memory for; those that were not written are zeros */
    uint8_t *rows;
} KvArray;

static void kv_array_destroy(void *state) {
    KvArray *array = state;
    memory_free(array->rows);
    memory_free(array);
}

static uint64_t kv_array_bytes(const void *state) {
    const KvArray *array = state;
    return sizeof(KvArray) + (uint64_t)array->reserved * array->row_bytes;
}

/* Makes memory for that many rows, which must be reserved, in doublings. */
static Error *make_room(KvArray *array, int64_t rows) {
    void *memory = array->rows;
    int64_t room = array->room ? array->room : 1;
    if (rows <= array->room) return NULL;
    while (room < rows) room *= 2;
    if (room > array->reserved) room = array->reserved;
    const uint64_t before = (uint64_t)array->room * array->row_bytes;
    const uint64_t bytes = (uint64_t)room * array->row_bytes;
    TRY(memory_resize(&memory, 1, bytes + 1));
    array->rows = memory;
    array->room = room;
    memset(array->rows + before, 0, bytes - before);
    return NULL;
}

/* An empty cache; the shape's first dimension is the number of rows. */
static Error *kv_array_create(DType dtype, const Shape *shape, uint8_t slot, KvArray **out) {
    uint64_t bytes;
    if (dtype == DTYPE_STRING || dtype_bits(dtype) < 8)
        FAIL(INVALID, "a cache of %s", dtype_name(dtype));
    if (shape->rank == 0) FAIL(INVALID, "a cache without dimensions");
    if (shape->dims[0] < 1 || shape->dims[0] > KV_ARRAY_ROWS_MAX)
        FAIL(INVALID, "%" PRIi64 " rows to reserve; there may be 1 to %d", shape->dims[0],
            KV_ARRAY_ROWS_MAX);
    TRY(shape_bytes(shape, dtype, &bytes));
    void *memory;
    TRY(memory_alloc(1, sizeof(KvArray), &memory));
    KvArray *array = memory;
    *array = (KvArray){.dtype = dtype,
        .slot = slot,
        .row = shape_make(shape->rank - 1, shape->dims + 1),
        .row_bytes = bytes / (uint64_t)shape->dims[0],
        .reserved = shape->dims[0]};
    *out = array;
    return NULL;
}

static Shape shape_of_rows(const KvArray *array, int64_t rows) {
    Shape shape = {.rank = array->row.rank + 1, .dims = {rows}};
    memcpy(shape.dims + 1, array->row.dims, array->row.rank * sizeof(int64_t));
    return shape;
}

static Error *kv_array_copy(const void *state, void **out) {
    const KvArray *array = state;
    Shape shape = shape_of_rows(array, array->reserved);
    KvArray *copy;
    TRY(kv_array_create(array->dtype, &shape, array->slot, &copy));
    Error *error = make_room(copy, array->touched);
    if (error) {
        kv_array_destroy(copy);
        return error;
    }
    copy->filled = array->filled;
    copy->at = array->at;
    copy->touched = array->touched;
    if (array->touched) memcpy(copy->rows, array->rows, (size_t)array->touched * array->row_bytes);
    *out = copy;
    return NULL;
}

static Error *kv_array_save(const void *state, ByteWriter *writer) {
    const KvArray *array = state;
    byte_write_u8(writer, (uint8_t)array->dtype);
    byte_write_u8(writer, array->slot);
    byte_write_u32(writer, array->row.rank);
    for (uint32_t i = 0; i < array->row.rank; i++) byte_write_i64(writer, array->row.dims[i]);
    byte_write_i64(writer, array->reserved);
    byte_write_i64(writer, array->filled);
    byte_write_i64(writer, array->at);
    byte_write_i64(writer, array->touched);
    /* rows behind the filled ones come back when a ring grows over them */
    byte_write_bytes(writer, array->rows, (size_t)array->touched * array->row_bytes);
    return byte_writer_check(writer);
}

/* Reads the rows: those that are filled and those behind them that were written. */
static Error *read_rows(ByteReader *reader, KvArray *array, int64_t touched) {
    const uint8_t *rows;
    uint64_t bytes;
    if (touched < array->filled || touched > array->reserved ||
        !checked_mul_u64((uint64_t)touched, array->row_bytes, &bytes))
        FAIL(CORRUPT, "%" PRIi64 " rows, of which %" PRIi64 " of %" PRIi64 " are filled", touched,
            array->filled, array->reserved);
    TRY(byte_read_view(reader, (size_t)bytes, &rows));
    TRY(make_room(array, touched));
    array->touched = touched;
    if (bytes) memcpy(array->rows, rows, (size_t)bytes);
    return NULL;
}

static Error *kv_array_load(ByteReader *reader, void **out) {
    uint8_t dtype, slot;
    uint32_t rank;
    Shape shape = {0};
    int64_t filled, at, touched;
    TRY(byte_read_u8(reader, &dtype));
    TRY(byte_read_u8(reader, &slot));
    TRY(byte_read_u32(reader, &rank));
    if (!dtype_is_known(dtype) || slot > 1 || rank >= SHAPE_RANK_MAX)
        FAIL(CORRUPT, "a cache of element type %u, slot %u, rank %u", dtype, slot, rank);
    shape.rank = rank + 1;
    for (uint32_t i = 1; i <= rank; i++) TRY(byte_read_i64(reader, &shape.dims[i]));
    TRY(byte_read_i64(reader, &shape.dims[0]));
    TRY(byte_read_i64(reader, &filled));
    TRY(byte_read_i64(reader, &at));
    TRY(byte_read_i64(reader, &touched));
    if (filled < 0 || filled > shape.dims[0] || at < 0 || at > filled)
        FAIL(CORRUPT, "%" PRIi64 " of %" PRIi64 " rows are filled, the next is %" PRIi64, filled,
            shape.dims[0], at);
    KvArray *array;
    TRY(error_recode(kv_array_create((DType)dtype, &shape, slot, &array), ERROR_CORRUPT));
    array->filled = filled;
    array->at = at;
    Error *error = read_rows(reader, array, touched);
    if (error) {
        kv_array_destroy(array);
        return error;
    }
    *out = array;
    return NULL;
}

static void kv_array_print(const void *state, TextBuilder *out) {
    const KvArray *array = state;
    text_appendf(out, "of %" PRIi64 " rows of %s", array->filled, dtype_name(array->dtype));
}

const OpaqueKind relax_kv_array = {
    .name = "relax.kv_array",
    .destroy = kv_array_destroy,
    .bytes = kv_array_bytes,
    .copy = kv_array_copy,
    .save = kv_array_save,
    .load = kv_array_load,
    .print = kv_array_print,
};

static Error *get_array(const Value *value, Opaque **out_opaque, KvArray **out) {
    void *state;
    TRY(relax_opaque_state(value, &relax_kv_array, &state));
    *out = state;
    *out_opaque = value->opaque;
    return NULL;
}

/* Reserves and makes room for that many rows, in doublings, so that the times of copying add up to
 * the size. */
static Error *reserve(Opaque *opaque, KvArray *array, int64_t rows) {
    int64_t reserved = array->reserved;
    if (rows > KV_ARRAY_ROWS_MAX)
        FAIL(INVALID, "%" PRIi64 " rows; there may be %d", rows, KV_ARRAY_ROWS_MAX);
    while (reserved < rows) reserved *= 2;
    uint64_t bytes, more = (uint64_t)(reserved - array->reserved);
    if (!checked_mul_u64((uint64_t)reserved, array->row_bytes, &bytes))
        FAIL(INVALID, "%" PRIi64 " rows of %" PRIu64 " bytes", reserved, array->row_bytes);
    if (more) TRY(opaque_charge(opaque, more * array->row_bytes));
    array->reserved = reserved;
    Error *error = make_room(array, rows);
    if (error && more) {
        opaque_refund(opaque, more * array->row_bytes);
        array->reserved = reserved - (int64_t)more;
    }
    return error;
}

/* Checks that a tensor has rows like the cache's. */
static Error *check_rows(const KvArray *array, const Tensor *tensor) {
    TRY(relax_expect_dtype("the tensor", tensor, array->dtype));
    Shape wanted = shape_of_rows(array, tensor->shape.rank > 0 ? tensor->shape.dims[0] : 0);
    if (shape_equal(&wanted, &tensor->shape)) return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(&tensor->shape, &text);
    text_append(&text, ", and the cache's rows are ");
    shape_print(&array->row, &text);
    FAIL(INVALID, "the tensor is %s", text_builder_get(&text));
}

/* Writes `count` rows of the tensor from row `first` on as the cache's rows from `to` on. */
static void put_rows(KvArray *array, int64_t to, const void *from, int64_t first, int64_t count) {
    if (to + count > array->touched) array->touched = to + count;
    if (count == 0) return;
    memcpy(array->rows + (uint64_t)to * array->row_bytes,
        (const uint8_t *)from + (uint64_t)first * array->row_bytes,
        (uint64_t)count * array->row_bytes);
}

static Error *append(const PackedCall *call, Opaque *opaque, KvArray *array, const Tensor *tensor) {
    const void *rows;
    OWN_MEMORY(owned) = NULL;
    TRY(check_rows(array, tensor));
    TRY(relax_host_bytes(call, "the tensor", tensor, &rows, &owned));
    TRY(reserve(opaque, array, array->filled + tensor->shape.dims[0]));
    put_rows(array, array->filled, rows, 0, tensor->shape.dims[0]);
    array->filled += tensor->shape.dims[0];
    return NULL;
}

RELAX(attention_kv_cache_create) {
    RELAX_UNUSED();
    const Tensor *tensor = arguments[0].tensor;
    KvArray *array;
    Shape room;
    TRY(shape_object_get(arguments[1].shape, &room));
    TRY(kv_array_create(tensor->dtype, &room, tensor->storage->slot, &array));
    OWN(Opaque, opaque) = NULL;
    TRY(opaque_create(call->meter, &relax_kv_array, array, &opaque));
    TRY(append(call, opaque, array, tensor));
    int64_t filled = relax_int(&arguments[2]);
    if (filled > array->filled)
        FAIL(INVALID, "%" PRIi64 " rows count as filled, and there are %" PRIi64, filled,
            array->filled);
    if (filled >= 0) array->filled = array->at = filled;
    *out_result = value_object(OBJECT_OPAQUE, TAKE(opaque));
    return NULL;
}

RELAX(attention_kv_cache_append) {
    RELAX_UNUSED();
    Opaque *opaque;
    KvArray *array;
    TRY(get_array(&arguments[0], &opaque, &array));
    TRY(append(call, opaque, array, arguments[1].tensor));
    *out_result = value_copy(arguments[0]);
    return NULL;
}

RELAX(attention_kv_cache_update) {
    RELAX_UNUSED();
    Opaque *opaque;
    KvArray *array;
    const Tensor *tensor = arguments[1].tensor;
    const void *rows;
    OWN_MEMORY(owned) = NULL;
    TRY(get_array(&arguments[0], &opaque, &array));
    TRY(check_rows(array, tensor));
    if (tensor->shape.dims[0] != array->filled)
        FAIL(INVALID, "%" PRIi64 " rows, and the cache has %" PRIi64, tensor->shape.dims[0],
            array->filled);
    TRY(relax_host_bytes(call, "the tensor", tensor, &rows, &owned));
    put_rows(array, 0, rows, 0, array->filled);
    *out_result = value_copy(arguments[0]);
    return NULL;
}

RELAX(attention_kv_cache_view) {
    RELAX_UNUSED();
    Opaque *opaque;
    KvArray *array;
    TRY(get_array(&arguments[0], &opaque, &array));
    Shape shape = shape_of_rows(array, array->filled);
    Shape asked = shape;
    if (count > 1) TRY(shape_object_get(arguments[1].shape, &asked));
    if (!shape_equal(&shape, &asked)) {
        TextBuilder OWN_TEXT(text) = {0};
        shape_print(&asked, &text);
        text_append(&text, ", and the cache has ");
        shape_print(&shape, &text);
        FAIL(INVALID, "a view of %s", text_builder_get(&text));
    }
    Tensor *view;
    TRY(relax_new_tensor(call, array->slot, array->dtype, &shape, &view));
    if (!view) return NULL;
    *out_result = value_object(OBJECT_TENSOR, view);
    return tensor_bytes(view) > 0 ? tensor_copy_from_host(view, array->rows) : NULL;
}

/* Writes rows at the ring's position, and what does not fit before its end behind the sinks. */
static void write_ring(
    KvArray *array, const void *rows, int64_t count, int64_t ring, int64_t sinks) {
    int64_t before_end = count < ring - array->at ? count : ring - array->at;
    if (before_end > 0) put_rows(array, array->at, rows, 0, before_end);
    array->filled = array->filled + count < ring ? array->filled + count : ring;
    if (array->filled > array->touched) array->touched = array->filled;
    array->at = array->at + count < ring ? array->at + count : ring;
    if (before_end == count) return;
    put_rows(array, sinks, rows, before_end, count - before_end);
    array->at = sinks + count - before_end;
}

static Error *window_override(
    const PackedCall *call, const Value *arguments, int64_t sinks, Value *out_result) {
    Opaque *opaque;
    KvArray *array;
    const Tensor *tensor = arguments[1].tensor;
    const void *rows;
    OWN_MEMORY(owned) = NULL;
    int64_t ring = relax_int(&arguments[2]);
    TRY(get_array(&arguments[0], &opaque, &array));
    TRY(check_rows(array, tensor));
    if (sinks < 0 || ring < sinks || ring > KV_ARRAY_ROWS_MAX)
        FAIL(INVALID, "a ring of %" PRIi64 " rows with %" PRIi64 " that stay", ring, sinks);
    if (array->filled > ring)
        FAIL(
            INVALID, "a ring of %" PRIi64 " rows, and the cache has %" PRIi64, ring, array->filled);
    int64_t added = tensor->shape.dims[0], rows_needed = array->filled + added;
    if (added > ring - sinks)
        FAIL(INVALID, "%" PRIi64 " rows in a ring of %" PRIi64 " with %" PRIi64 " that stay", added,
            ring, sinks);
    TRY(relax_host_bytes(call, "the tensor", tensor, &rows, &owned));
    TRY(reserve(opaque, array, rows_needed < ring ? rows_needed : ring));
    write_ring(array, rows, added, ring, sinks);
    *out_result = value_copy(arguments[0]);
    return NULL;
}

RELAX(attention_kv_cache_window_override) {
    RELAX_UNUSED();
    return window_override(call, arguments, 0, out_result);
}

RELAX(attention_kv_cache_window_override_with_sinks) {
    RELAX_UNUSED();
    return window_override(call, arguments, relax_int(&arguments[3]), out_result);
}

/* Checks all caches of a tuple before the first changes. */
static Error *check_arrays(const Value *tuple, int64_t popped) {
    uint32_t arrays;
    const Value *fields = value_children(tuple, &arrays);
    for (uint32_t i = 0; i < arrays; i++) {
        Opaque *opaque;
        KvArray *array;
        if (!value_is(&fields[i], OBJECT_OPAQUE))
            FAIL(INVALID, "field %u is a %s, not a cache", i, value_kind_name(&fields[i]));
        TRY_WRAP(get_array(&fields[i], &opaque, &array), "field %u", i);
        if (popped < 0 || popped > array->filled)
            FAIL(INVALID, "field %u: %" PRIi64 " rows to drop of %" PRIi64, i, popped,
                array->filled);
    }
    return NULL;
}

RELAX(attention_kv_cache_array_clear) {
    RELAX_UNUSED();
    TRY(check_arrays(&arguments[0], 0));
    uint32_t arrays;
    const Value *fields = value_children(&arguments[0], &arrays);
    for (uint32_t i = 0; i < arrays; i++) {
        KvArray *array = fields[i].opaque->state;
        array->filled = array->at = 0;
    }
    return NULL;
}

/* A cache that is in the tuple twice loses the rows twice. */
RELAX(attention_kv_cache_array_popn) {
    RELAX_UNUSED();
    int64_t popped = relax_int(&arguments[1]);
    TRY(check_arrays(&arguments[0], popped));
    uint32_t arrays;
    const Value *fields = value_children(&arguments[0], &arrays);
    for (uint32_t i = 0; i < arrays; i++) {
        KvArray *array = fields[i].opaque->state;
        array->filled = array->filled > popped ? array->filled - popped : 0;
        if (array->at > array->filled) array->at = array->filled;
    }
    return NULL;
}
