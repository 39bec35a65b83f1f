#include "vm/native/native_functions.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/adt.h"
#include "vm/objects/object.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

typedef struct NativeFunction {
    NativeLibrary *library; /* of the table */
    const char *name;       /* the executable's */
} NativeFunction;

/* ---- arguments ---- */

static Error *take_tensor(uint32_t index, const Tensor *tensor, NativeValue *out) {
    const Storage *storage = tensor->storage;
    uint32_t bits = dtype_bits(tensor->dtype);
    if (!storage->device->class_->host_memory)
        FAIL(UNSUPPORTED, "argument %u is in the memory of %s; native functions read host memory",
            index, storage->device->name);
    if (bits == 0 || bits % 8 != 0)
        FAIL(UNSUPPORTED, "argument %u is a tensor of %s, which native functions do not take",
            index, dtype_name(tensor->dtype));
    bool constant = storage->constant_index != STORAGE_NOT_CONSTANT && tensor->offset == 0;
    out->kind = NATIVE_TENSOR;
    out->tensor = (NativeTensor){.dtype = tensor->dtype,
        .shape = tensor->shape,
        .data = tensor_data(tensor),
        .writable = !storage->sealed && (storage->opaque || tensor_is_sole(tensor)),
        .key = constant ? UINT64_C(1) + storage->constant_index : 0};
    return NULL;
}

/* Relax's kernels read and write the heap as a tensor of int64. */
static Error *take_heap(uint32_t index, const Value *value, NativeValue *out) {
    if (value->opaque->kind != &opaque_shape_heap)
        FAIL(UNSUPPORTED, "argument %u is a %s, which native functions do not take", index,
            value->opaque->kind->name);
    ShapeHeap *heap = value->opaque->state;
    const int64_t count = heap->count;
    out->kind = NATIVE_TENSOR;
    out->tensor = (NativeTensor){.dtype = DTYPE_INT64,
        .shape = shape_make(1, &count),
        .data = heap->cells,
        .writable = true};
    return NULL;
}

static bool is_tuple(const Value *value) {
    return value_is(value, OBJECT_ADT) && value->adt->tag == 0;
}

static Error *take_object(uint32_t index, const Value *value, NativeValue *out) {
    if (value_is(value, OBJECT_TENSOR)) return take_tensor(index, value->tensor, out);
    if (value_is(value, OBJECT_OPAQUE)) return take_heap(index, value, out);
    if (value_is(value, OBJECT_SHAPE)) {
        _Static_assert((int)NATIVE_SHAPE_MAX == (int)SHAPE_OBJECT_COUNT_MAX, "any shape is passed");
        out->kind = NATIVE_SHAPE;
        out->shape.dims = value->shape->dims;
        out->shape.count = value->shape->count;
        return NULL;
    }
    if (value_is(value, OBJECT_STRING)) {
        out->kind = NATIVE_STRING;
        out->string.data = value->string->text;
        out->string.size = value->string->size;
        return NULL;
    }
    if (is_tuple(value)) {
        out->kind = NATIVE_TUPLE;
        out->field_count = value->adt->count;
        return NULL;
    }
    FAIL(UNSUPPORTED, "argument %u is a %s, which native functions do not take", index,
        value_kind_name(value));
}

static Error *take_value(uint32_t index, const Value *value, NativeValue *out) {
    *out = (NativeValue){.kind = NATIVE_NIL};
    switch ((ValueTag)value->tag) {
    case VALUE_NIL:
        return NULL;
    case VALUE_BOOL:
        *out = (NativeValue){NATIVE_BOOL, {.integer = value->boolean}};
        return NULL;
    case VALUE_INT:
        *out = (NativeValue){NATIVE_INT, {.integer = value->integer}};
        return NULL;
    case VALUE_FLOAT:
        *out = (NativeValue){NATIVE_FLOAT, {.real = value->real}};
        return NULL;
    case VALUE_DTYPE:
        *out = (NativeValue){NATIVE_DTYPE, {.dtype = value->dtype}};
        return NULL;
    case VALUE_OBJECT:
        return take_object(index, value, out);
    }
    return NULL;
}

/* The arguments of a call and the fields of their tuples. */
typedef struct Arguments {
    NativeArgumentList list;
    const Value **sources; /* of each value */
} Arguments;

/* *inout_count: more than NATIVE_VALUES_MAX is too many. */
static void count_values(const Value *value, uint32_t depth, uint32_t *inout_count) {
    ++*inout_count;
    if (!is_tuple(value)) return;
    if (depth == NATIVE_DEPTH_MAX || value->adt->count > NATIVE_VALUES_MAX)
        *inout_count = NATIVE_VALUES_MAX + 1;
    for (uint32_t i = 0; i < value->adt->count && *inout_count <= NATIVE_VALUES_MAX; i++)
        count_values(&value->adt->fields[i], depth + 1, inout_count);
}

static Error *take_argument(uint32_t index, const Value *value, Arguments *out) {
    const uint32_t at = out->list.value_count++;
    out->sources[at] = value;
    TRY(take_value(index, value, &out->list.values[at]));
    if (!is_tuple(value)) return NULL;
    for (uint32_t i = 0; i < value->adt->count; i++)
        TRY(take_argument(index, &value->adt->fields[i], out));
    return NULL;
}

static void arguments_deinit(Arguments *arguments) {
    memory_free(arguments->list.values);
    memory_free((void *)arguments->sources);
}

static Error *arguments_create(const Value *values, uint32_t count, Arguments *out) {
    void *memory;
    uint32_t total = 0;
    for (uint32_t i = 0; i < count && total <= NATIVE_VALUES_MAX; i++)
        count_values(&values[i], 0, &total);
    if (total > NATIVE_VALUES_MAX)
        FAIL(UNSUPPORTED, "arguments of more than %d values, or %d tuples inside each other",
            NATIVE_VALUES_MAX, NATIVE_DEPTH_MAX);
    TRY(memory_alloc(total, sizeof(NativeValue), &memory));
    out->list.values = memory;
    TRY(memory_alloc(total, sizeof(Value *), &memory));
    out->sources = memory;
    for (uint32_t i = 0; i < count; i++) TRY(take_argument(i, &values[i], out));
    out->list.count = count;
    return NULL;
}

/* ---- results ---- */

typedef struct Receiver {
    NativeReceiver base;
    PackedCall *call;
    Value *out;
} Receiver;

static Error *receive_value(Receiver *receiver, const NativeValue **inout_next, Value *out);

static Error *receive_tensor(Receiver *receiver, const NativeTensor *given, Value *out) {
    Tensor *tensor;
    PackedCall *call = receiver->call;
    TRY(tensor_create_in_pool(
        call->pools[0], 0, given->dtype, &given->shape, &call->memory, &tensor));
    if (call->memory.kind != MEMORY_GRANTED) {
        call->memory_slot = 0;
        receiver->base.again = true;
        return NULL;
    }
    *out = value_object(OBJECT_TENSOR, tensor);
    return tensor_copy_from_host(tensor, given->data);
}

static Error *receive_shape(const NativeValue *result, Value *out) {
    ShapeObject *object;
    int64_t dims[NATIVE_SHAPE_MAX];
    if (result->shape.count) memcpy(dims, result->shape.dims, result->shape.count * sizeof *dims);
    TRY(shape_object_create_of(dims, result->shape.count, &object));
    *out = value_object(OBJECT_SHAPE, object);
    return NULL;
}

static Error *receive_string(Receiver *receiver, const NativeValue *result, Value *out) {
    StringObject *string;
    TRY(string_object_create(
        receiver->call->meter, result->string.data, result->string.size, &string));
    *out = value_object(OBJECT_STRING, string);
    return NULL;
}

/* The depth of tuples was checked when the values were read. */
static Error *receive_tuple(
    Receiver *receiver, uint32_t count, const NativeValue **inout_next, Value *out) {
    Adt *tuple;
    TRY(adt_create(receiver->call->meter, 0, count, &tuple));
    *out = value_object(OBJECT_ADT, tuple);
    for (uint32_t i = 0; i < count && !receiver->base.again; i++)
        TRY(receive_value(receiver, inout_next, &tuple->fields[i]));
    return NULL;
}

/* Takes the next value with its fields; the caller releases *out after an error, too. */
static Error *receive_value(Receiver *receiver, const NativeValue **inout_next, Value *out) {
    const NativeValue *result = (*inout_next)++;
    switch (result->kind) {
    case NATIVE_NIL:
    case NATIVE_KIND_COUNT:
        return NULL;
    case NATIVE_INT:
        *out = value_int(result->integer);
        return NULL;
    case NATIVE_BOOL:
        *out = value_bool(result->integer != 0);
        return NULL;
    case NATIVE_FLOAT:
        *out = value_float(result->real);
        return NULL;
    case NATIVE_DTYPE:
        *out = value_dtype(result->dtype);
        return NULL;
    case NATIVE_STRING:
        return receive_string(receiver, result, out);
    case NATIVE_SHAPE:
        return receive_shape(result, out);
    case NATIVE_TENSOR:
        return receive_tensor(receiver, &result->tensor, out);
    case NATIVE_TUPLE:
        return receive_tuple(receiver, result->field_count, inout_next, out);
    }
    return NULL;
}

static Error *receive(NativeReceiver *base, const NativeValue *result) {
    Receiver *receiver = (Receiver *)base;
    TRY(receive_value(receiver, &result, receiver->out));
    if (receiver->base.again) value_release(receiver->out);
    return NULL;
}

/* ---- calls ---- */

/* The bytes of writable tensors are about to change; afterwards they count as written. */
static void note_writes(const PackedCall *call, const Arguments *arguments) {
    for (uint32_t i = 0; i < arguments->list.value_count; i++) {
        const Value *value = arguments->sources[i];
        if (!value_is(value, OBJECT_TENSOR) || !arguments->list.values[i].tensor.writable) continue;
        storage_forget_annotation(value->tensor->storage);
        packed_mark_written(call, value->tensor);
    }
}

static Error *call_native(
    PackedCall *call, const Value *values, uint32_t count, void *context, Value *out_result) {
    const NativeFunction *function = context;
    Receiver receiver = {.base = {.receive = receive}, .call = call, .out = out_result};
    Arguments arguments = {0};
    Error *error = arguments_create(values, count, &arguments);
    if (!error)
        error =
            native_library_call(function->library, function->name, &arguments.list, &receiver.base);
    if (!error && !receiver.base.again) note_writes(call, &arguments);
    if (error) value_release(out_result);
    arguments_deinit(&arguments);
    return error;
}

/* ---- the table ---- */

struct NativeFunctions {
    NativeLibrary *library;
    uint32_t count;
    NativeFunction items[]; /* by the executable's function index */
};

static Error *check_stored_digest(const Executable *executable, const NativeImage *image) {
    Digest digest;
    if (!executable->native_digest_stored) return NULL; /* the bytes never left this process */
    TRY(digest_sha256(image->bytes, image->size, &digest));
    if (!digest_equal(&digest, &executable->native_digest))
        FAIL(CORRUPT, "its bytes are not those that the executable was made with");
    return NULL;
}

Error *native_functions_create(const Executable *executable, const Tensor *library,
    const char *preload, NativeFunctions **out) {
    void *memory;
    uint32_t count = executable->function_count;
    const NativeImage image = {.bytes = tensor_data(library),
        .size = tensor_bytes(library),
        .name = "of the model",
        .preload = preload ? preload : ""};
    TRY(check_stored_digest(executable, &image));
    TRY(memory_alloc(1, sizeof(NativeFunctions) + count * sizeof(NativeFunction), &memory));
    OWN(NativeFunctions, functions) = memory;
    functions->count = count;
    TRY(native_library_create(&image, &functions->library));
    for (uint32_t i = 0; i < count; i++)
        functions->items[i] = (NativeFunction){functions->library, executable->functions[i].name};
    *out = TAKE(functions);
    return NULL;
}

void native_functions_release(NativeFunctions *functions) {
    if (!functions) return;
    native_library_release(functions->library);
    memory_free(functions);
}

void native_functions_get(
    NativeFunctions *functions, uint32_t index, PackedFunction **out_function, void **out_context) {
    *out_function = call_native;
    *out_context = &functions->items[index];
}
