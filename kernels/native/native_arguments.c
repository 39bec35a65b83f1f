#include "kernels/native/native_arguments.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/native/native_memory.h"
#include "kernels/native/native_runtime.h"

/* One more than any code holds, so the count never reaches zero. The upper half counts weak
 * references. */
#define HELD ((UINT64_C(1) << 32) + (1 << 20))

struct NativeHolder {
    Shape shape;
    int64_t *dims; /* of a shape that is a value */
    DLTensor view;
    DLManagedTensor managed;
    AbiShapeObject shape_object;
    bool held; /* the runtime has the managed tensor */
};

typedef struct Reading {
    ByteReader *in;
    const NativeShared *shared;
    NativeArguments *arguments;
    uint32_t next; /* value */
} Reading;

static Error *set_value(Reading *reading, bool field, uint32_t depth, AbiAny *out);

static DLDataType dtype_of(DType dtype) {
    DLDataType out = {.lanes = 1};
    (void)dtype_to_dlpack(dtype, &out.code, &out.bits);
    return out;
}

/* ---- tensors ---- */

static void let_go(DLManagedTensor *tensor) { ((NativeHolder *)tensor->manager_ctx)->held = false; }

static Error *make_object(NativeHolder *holder, AbiAny *out) {
    AbiObject *object;
    holder->managed =
        (DLManagedTensor){.dl_tensor = holder->view, .manager_ctx = holder, .deleter = let_go};
    TRY(native_runtime_make_tensor(&holder->managed, &object));
    holder->held = true;
    *out = (AbiAny){.type = ABI_TENSOR, .object = object};
    return NULL;
}

static Error *set_tensor(const Reading *reading, NativeHolder *holder, const NativeTensor *tensor,
    bool object, AbiAny *out) {
    uint64_t bytes = native_tensor_bytes(tensor);
    if (tensor->place > NATIVE_DATA_MAX || bytes > NATIVE_DATA_MAX - tensor->place)
        FAIL(CORRUPT, "a tensor lies outside the shared memory");
    holder->shape = tensor->shape;
    holder->view = (DLTensor){.data = reading->shared->data + tensor->place,
        .device = {kDLCPU, 0},
        .ndim = (int32_t)tensor->shape.rank,
        .dtype = dtype_of(tensor->dtype),
        .shape = holder->shape.dims};
    if (object) return make_object(holder, out);
    *out = (AbiAny){.type = ABI_TENSOR_VIEW, .pointer = &holder->view};
    return NULL;
}

/* ---- shapes and tuples ---- */

static Error *set_shape(NativeHolder *holder, const NativeValue *value, AbiAny *out) {
    void *memory;
    TRY(memory_alloc(value->shape.count, sizeof(int64_t), &memory));
    holder->dims = memory;
    if (value->shape.count)
        memcpy(holder->dims, value->shape.dims, value->shape.count * sizeof(int64_t));
    holder->shape_object = (AbiShapeObject){
        .head = {.counts = HELD, .type = ABI_SHAPE}, .dims = {holder->dims, value->shape.count}};
    *out = (AbiAny){.type = ABI_SHAPE, .object = &holder->shape_object.head};
    return NULL;
}

static void release_item(AbiAny *item) {
    if (item->type != ABI_SHAPE) native_runtime_release_any(item); /* shapes are the holders' */
}

static Error *set_tuple(Reading *reading, uint32_t count, uint32_t depth, AbiAny *out) {
    void *memory;
    Error *error = NULL;
    if (depth == NATIVE_DEPTH_MAX)
        FAIL(CORRUPT, "more than %d tuples inside each other", NATIVE_DEPTH_MAX);
    if (count > reading->arguments->holder_count - reading->next)
        FAIL(CORRUPT, "a tuple of %u values", count);
    TRY(memory_alloc(count, sizeof(AbiAny), &memory));
    AbiAny *fields = memory;
    for (uint32_t i = 0; i < count && !error; i++)
        error = set_value(reading, true, depth + 1, &fields[i]);
    if (!error) error = native_runtime_call_global("ffi.Array", fields, count, out);
    for (uint32_t i = 0; i < count; i++) release_item(&fields[i]);
    memory_free(memory);
    return error;
}

/* ---- all values ---- */

static Error *set_object(Reading *reading, NativeHolder *holder, const NativeValue *value,
    bool field, uint32_t depth, AbiAny *out) {
    if (value->kind == NATIVE_TENSOR)
        return set_tensor(
            reading, holder, &value->tensor, field || reading->arguments->objects, out);
    if (value->kind == NATIVE_TUPLE) return set_tuple(reading, value->field_count, depth, out);
    if (value->kind == NATIVE_SHAPE) return set_shape(holder, value, out);
    if (value->kind == NATIVE_STRING) *out = (AbiAny){.type = ABI_TEXT, .text = value->string.data};
    return NULL;
}

static Error *set_value(Reading *reading, bool field, uint32_t depth, AbiAny *out) {
    NativeValue value;
    if (reading->next == reading->arguments->holder_count) FAIL(CORRUPT, "too few values");
    NativeHolder *holder = &reading->arguments->holders[reading->next++];
    TRY(native_value_read(reading->in, &value));
    *out = (AbiAny){.type = ABI_NONE};
    switch (value.kind) {
    case NATIVE_NIL:
    case NATIVE_KIND_COUNT:
        return NULL;
    case NATIVE_INT:
        *out = (AbiAny){.type = ABI_INT, .integer = value.integer};
        return NULL;
    case NATIVE_BOOL:
        *out = (AbiAny){.type = ABI_BOOL, .integer = value.integer};
        return NULL;
    case NATIVE_FLOAT:
        *out = (AbiAny){.type = ABI_FLOAT, .real = value.real};
        return NULL;
    case NATIVE_DTYPE:
        *out = (AbiAny){.type = ABI_DTYPE, .dtype = dtype_of(value.dtype)};
        return NULL;
    case NATIVE_STRING:
    case NATIVE_SHAPE:
    case NATIVE_TENSOR:
    case NATIVE_TUPLE:
        return set_object(reading, holder, &value, field, depth, out);
    }
    return NULL;
}

Error *native_arguments_read(
    ByteReader *in, const NativeShared *shared, bool objects, NativeArguments *out) {
    void *memory;
    Reading reading = {.in = in, .shared = shared, .arguments = out};
    *out = (NativeArguments){.objects = objects};
    TRY(byte_read_u32(in, &out->count));
    TRY(byte_read_count(in, 1, &out->holder_count));
    if (out->count > out->holder_count || out->holder_count > NATIVE_VALUES_MAX)
        FAIL(CORRUPT, "%u arguments of %u values", out->count, out->holder_count);
    TRY(memory_alloc(out->count, sizeof(AbiAny), &memory));
    out->items = memory;
    TRY(memory_alloc(out->holder_count, sizeof(NativeHolder), &memory));
    out->holders = memory;
    for (uint32_t i = 0; i < out->count; i++)
        TRY_WRAP(set_value(&reading, false, 0, &out->items[i]), "argument %u", i);
    if (reading.next != out->holder_count) FAIL(CORRUPT, "values that belong to no argument");
    return byte_reader_check_end(in);
}

static bool is_held(const NativeHolder *holder) {
    return holder->held ||
           (holder->shape_object.head.counts && holder->shape_object.head.counts != HELD);
}

void native_arguments_deinit(NativeArguments *arguments, bool *out_kept) {
    *out_kept = false;
    for (uint32_t i = 0; arguments->items && i < arguments->count; i++)
        release_item(&arguments->items[i]);
    for (uint32_t i = 0; arguments->holders && i < arguments->holder_count; i++)
        if (is_held(&arguments->holders[i])) *out_kept = true;
    memory_free(arguments->items);
    for (uint32_t i = 0; arguments->holders && i < arguments->holder_count && !*out_kept; i++)
        memory_free(arguments->holders[i].dims);
    if (!*out_kept) memory_free(arguments->holders);
    *arguments = (NativeArguments){0};
}
