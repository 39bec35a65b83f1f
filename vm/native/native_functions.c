#include "vm/native/native_functions.h"

#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
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

static Error *take_object(uint32_t index, const Value *value, NativeValue *out) {
    if (value_is(value, OBJECT_TENSOR)) return take_tensor(index, value->tensor, out);
    if (value_is(value, OBJECT_OPAQUE)) return take_heap(index, value, out);
    if (value_is(value, OBJECT_SHAPE)) {
        out->kind = NATIVE_SHAPE;
        out->shape = value->shape->shape;
        return NULL;
    }
    if (value_is(value, OBJECT_STRING)) {
        out->kind = NATIVE_STRING;
        out->string.data = value->string->text;
        out->string.size = value->string->size;
        return NULL;
    }
    FAIL(UNSUPPORTED, "argument %u is a %s, which native functions do not take", index,
        value_kind_name(value));
}

static Error *take_argument(uint32_t index, const Value *value, NativeValue *out) {
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

/* ---- results ---- */

typedef struct Receiver {
    NativeReceiver base;
    PackedCall *call;
    Value *out;
} Receiver;

static Error *receive_tensor(Receiver *receiver, const NativeTensor *given) {
    Tensor *tensor;
    PackedCall *call = receiver->call;
    TRY(tensor_create_in_pool(
        call->pools[0], 0, given->dtype, &given->shape, &call->memory, &tensor));
    if (call->memory.kind != MEMORY_GRANTED) {
        call->memory_slot = 0;
        receiver->base.again = true;
        return NULL;
    }
    *receiver->out = value_object(OBJECT_TENSOR, tensor);
    return tensor_copy_from_host(tensor, given->data);
}

static Error *receive_shape(const Shape *shape, Value *out) {
    ShapeObject *object;
    TRY(shape_object_create(shape, &object));
    *out = value_object(OBJECT_SHAPE, object);
    return NULL;
}

static Error *receive_string(Receiver *receiver, const NativeValue *result) {
    StringObject *string;
    TRY(string_object_create(
        receiver->call->meter, result->string.data, result->string.size, &string));
    *receiver->out = value_object(OBJECT_STRING, string);
    return NULL;
}

static Error *receive(NativeReceiver *base, const NativeValue *result) {
    Receiver *receiver = (Receiver *)base;
    switch (result->kind) {
    case NATIVE_NIL:
    case NATIVE_KIND_COUNT:
        return NULL;
    case NATIVE_INT:
        *receiver->out = value_int(result->integer);
        return NULL;
    case NATIVE_BOOL:
        *receiver->out = value_bool(result->integer != 0);
        return NULL;
    case NATIVE_FLOAT:
        *receiver->out = value_float(result->real);
        return NULL;
    case NATIVE_DTYPE:
        *receiver->out = value_dtype(result->dtype);
        return NULL;
    case NATIVE_STRING:
        return receive_string(receiver, result);
    case NATIVE_SHAPE:
        return receive_shape(&result->shape, receiver->out);
    case NATIVE_TENSOR:
        return receive_tensor(receiver, &result->tensor);
    }
    return NULL;
}

/* ---- calls ---- */

/* The bytes of writable tensors are about to change; afterwards they count as written. */
static void note_writes(const Value *arguments, const NativeValue *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!value_is(&arguments[i], OBJECT_TENSOR) || !values[i].tensor.writable) continue;
        storage_forget_annotation(arguments[i].tensor->storage);
        arguments[i].tensor->written = true;
    }
}

static Error *call_native(
    PackedCall *call, const Value *arguments, uint32_t count, void *context, Value *out_result) {
    void *memory;
    const NativeFunction *function = context;
    Receiver receiver = {.base = {.receive = receive}, .call = call, .out = out_result};
    TRY(memory_alloc(count ? count : 1, sizeof(NativeValue), &memory));
    NativeValue *values = memory;
    Error *error = NULL;
    for (uint32_t i = 0; i < count && !error; i++)
        error = take_argument(i, &arguments[i], &values[i]);
    if (!error)
        error =
            native_library_call(function->library, function->name, values, count, &receiver.base);
    if (!error && !receiver.base.again) note_writes(arguments, values, count);
    if (error) value_release(out_result);
    memory_free(memory);
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
