/* Values of layover.h from and to values of the VM. */
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "kernels/tensor/tensor_dlpack.h"
#include "tools/library/library_internal.h"
#include "tools/library/packed_bridge.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

/* ---- releasing ---- */

static void drop_tensor(DLManagedTensor *tensor) {
    if (tensor && tensor->deleter) tensor->deleter(tensor);
}

static void release_object(LayoverObject *object) {
    value_release(&object->value);
    layover_model_close(object->model);
    memory_free(object);
}

/* Values of this library are at most LIBRARY_DEPTH_MAX deep. */
void layover_value_release(LayoverValue *value) {
    if (!value) return;
    switch (value->kind) {
    case LAYOVER_NIL:
    case LAYOVER_BOOL:
    case LAYOVER_INT:
    case LAYOVER_FLOAT:
    case LAYOVER_DTYPE:
        break;
    case LAYOVER_TENSOR:
        drop_tensor(value->tensor);
        break;
    case LAYOVER_STRING:
        memory_free((void *)(uintptr_t)value->text);
        break;
    case LAYOVER_SHAPE:
        memory_free((void *)(uintptr_t)value->shape);
        break;
    case LAYOVER_TUPLE:
        for (uint32_t i = 0; i < value->tuple->count; i++)
            layover_value_release(&value->tuple->fields[i]);
        memory_free((void *)(uintptr_t)value->tuple);
        break;
    case LAYOVER_TEXTS:
        memory_free((void *)(uintptr_t)value->texts);
        break;
    case LAYOVER_FUNCTION:
        layover_function_release(value->function);
        break;
    case LAYOVER_OBJECT:
        release_object(value->object);
        break;
    }
    *value = (LayoverValue){LAYOVER_NIL, {0}};
}

static void drop(const LayoverValue *value, uint32_t depth) {
    if (value->kind == LAYOVER_TENSOR) drop_tensor(value->tensor);
    if (value->kind != LAYOVER_TUPLE || !value->tuple || depth >= LIBRARY_DEPTH_MAX) return;
    for (uint32_t i = 0; i < value->tuple->count; i++) drop(&value->tuple->fields[i], depth + 1);
}

void library_value_drop(const LayoverValue *value) { drop(value, 0); }

/* ---- to the host ---- */

typedef struct Giver {
    LayoverModel *model;
    LibraryGiving giving;
    uint32_t depth, count;
} Giver;

static Error *count_value(uint32_t depth, uint32_t *inout_count) {
    if (depth > LIBRARY_DEPTH_MAX)
        FAIL(UNSUPPORTED, "a tuple in %d tuples; values are at most that deep", LIBRARY_DEPTH_MAX);
    if (++*inout_count > LIBRARY_VALUES_MAX)
        FAIL(UNSUPPORTED, "more than %d values in a tuple and its fields", LIBRARY_VALUES_MAX);
    return NULL;
}

/* A tensor in host memory. */
static Error *give_tensor(const Giver *giver, Tensor *tensor, LayoverValue *out) {
    OWN(Tensor, copy) = NULL;
    DLManagedTensor *managed;
    if (tensor->dtype == DTYPE_STRING) return library_texts_give(tensor, out);
    if (giver->giving == LIBRARY_SHARE_WRITABLE) {
        TRY(packed_bridge_export(tensor, &managed));
        *out = (LayoverValue){LAYOVER_TENSOR, {.tensor = managed}};
        return NULL;
    }
    if (giver->giving == LIBRARY_COPY || !tensor->storage->device->class_->host_memory) {
        TRY(tensor_create_on_host(device_host(), tensor->dtype, &tensor->shape, &copy));
        TRY(tensor_copy_to_host(tensor, tensor_data(copy)));
    }
    TRY(tensor_dlpack_export(copy ? copy : tensor, &managed));
    *out = (LayoverValue){LAYOVER_TENSOR, {.tensor = managed}};
    return NULL;
}

static Error *make_shape(const int64_t *dims, uint32_t rank, LayoverValue *out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(LayoverShape) + rank * sizeof(int64_t), &memory));
    LayoverShape *shape = memory;
    int64_t *copy = (int64_t *)(shape + 1);
    if (rank) memcpy(copy, dims, rank * sizeof(int64_t));
    *shape = (LayoverShape){rank, copy};
    *out = (LayoverValue){LAYOVER_SHAPE, {.shape = shape}};
    return NULL;
}

static Error *make_string(const char *text, LayoverValue *out) {
    char *copy;
    TRY(memory_copy_text(text, &copy));
    *out = (LayoverValue){LAYOVER_STRING, {.text = copy}};
    return NULL;
}

/* All fields are nil. */
static Error *make_tuple(uint32_t count, LayoverValue *out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(LayoverTuple) + count * sizeof(LayoverValue), &memory));
    LayoverTuple *tuple = memory;
    *tuple = (LayoverTuple){count, (LayoverValue *)(tuple + 1)};
    *out = (LayoverValue){LAYOVER_TUPLE, {.tuple = tuple}};
    return NULL;
}

static Error *give_dtype(DType dtype, LayoverValue *out) {
    uint8_t code = kDLOpaqueHandle, bits = 0; /* as TVM writes no type */
    if (dtype != DTYPE_NONE && !dtype_to_dlpack(dtype, &code, &bits))
        FAIL(UNSUPPORTED, "element type %s", dtype_name(dtype));
    *out = (LayoverValue){LAYOVER_DTYPE, {.dtype = {code, bits, dtype != DTYPE_NONE}}};
    return NULL;
}

static Error *give_function(Giver *giver, const Value *value, LayoverValue *out) {
    LayoverFunction *function;
    const bool packed = value_is(value, OBJECT_PACKED_FUNCTION);
    const char *name = packed ? value->packed_function->name : "";
    function = packed ? library_function_linked(value->packed_function->registry, name) : NULL;
    if (function)
        function = library_function_retain(function);
    else
        TRY(library_function_of_value(giver->model, name, value, &function));
    *out = (LayoverValue){LAYOVER_FUNCTION, {.function = function}};
    return NULL;
}

static Error *give_object(Giver *giver, const Value *value, LayoverValue *out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(LayoverObject), &memory));
    LayoverObject *object = memory;
    refcount_retain(&giver->model->refcount);
    *object = (LayoverObject){giver->model, value_copy(*value)};
    *out = (LayoverValue){LAYOVER_OBJECT, {.object = object}};
    return NULL;
}

static Error *give(Giver *giver, const Value *value, LayoverValue *out);

static Error *give_tuple(Giver *giver, const Value *value, LayoverValue *out) {
    uint32_t count;
    Error *error = NULL;
    const Value *fields = value_children(value, &count);
    LayoverValue made;
    TRY(make_tuple(count, &made));
    giver->depth++;
    for (uint32_t i = 0; i < count && !error; i++)
        error = give(giver, &fields[i], &made.tuple->fields[i]);
    giver->depth--;
    if (error)
        layover_value_release(&made);
    else
        *out = made;
    return error;
}

static Error *give_counted(Giver *giver, const Value *value, LayoverValue *out) {
    if (value_is(value, OBJECT_TENSOR)) return give_tensor(giver, value->tensor, out);
    if (value_is(value, OBJECT_STRING)) return make_string(value->string->text, out);
    if (value_is(value, OBJECT_SHAPE))
        return make_shape(value->shape->dims, value->shape->count, out);
    if (value_is(value, OBJECT_LIST) || (value_is(value, OBJECT_ADT) && value->adt->tag == 0))
        return give_tuple(giver, value, out);
    if (value_is(value, OBJECT_CLOSURE) || value_is(value, OBJECT_PACKED_FUNCTION))
        return give_function(giver, value, out);
    return give_object(giver, value, out);
}

static Error *give(Giver *giver, const Value *value, LayoverValue *out) {
    TRY(count_value(giver->depth, &giver->count));
    if (packed_bridge_give_scalar(value, out)) return NULL;
    return value->tag == VALUE_DTYPE ? give_dtype(value->dtype, out)
                                     : give_counted(giver, value, out);
}

Error *library_value_give(
    LayoverModel *model, const Value *value, LibraryGiving giving, LayoverValue *out) {
    return give(&(Giver){.model = model, .giving = giving}, value, out);
}

/* As deep as the values that `give` makes. */
Error *library_value_settle(const Value *value, const LayoverValue *given, uint32_t index) {
    uint32_t count;
    if (given->kind == LAYOVER_TENSOR)
        return packed_bridge_settle(value->tensor, given->tensor, index);
    if (given->kind != LAYOVER_TUPLE) return NULL;
    const Value *fields = value_children(value, &count);
    for (uint32_t i = 0; i < count; i++)
        TRY(library_value_settle(&fields[i], &given->tuple->fields[i], index));
    return NULL;
}

Error *library_value_names(const char *const *names, uint32_t count, LayoverValue *out) {
    LayoverValue made;
    Error *error = NULL;
    TRY(make_tuple(count, &made));
    for (uint32_t i = 0; i < count && !error; i++)
        error = make_string(names[i], &made.tuple->fields[i]);
    if (error)
        layover_value_release(&made);
    else
        *out = made;
    return error;
}

/* ---- from the host ---- */

/* After the first error tensors are only dropped. */
typedef struct Taker {
    LayoverModel *model;
    struct ObjectMeter *meter;
    uint32_t depth, count;
} Taker;

static Error *take_string(const Taker *taker, const char *text, Value *out) {
    StringObject *string;
    if (!text) FAIL(INVALID, "a string without text");
    TRY(string_object_create(taker->meter, text, strlen(text), &string));
    *out = value_object(OBJECT_STRING, string);
    return NULL;
}

static Error *take_shape(const LayoverShape *from, Value *out) {
    ShapeObject *shape;
    if (!from || (from->rank && !from->dims)) FAIL(INVALID, "a shape without dimensions");
    TRY(shape_object_create_of(from->dims, from->rank, &shape));
    *out = value_object(OBJECT_SHAPE, shape);
    return NULL;
}

static Error *take_dtype(DLDataType from, Value *out) {
    const bool none = from.code == kDLOpaqueHandle && from.bits == 0;
    const DType dtype = none ? DTYPE_NONE : dtype_from_dlpack(from.code, from.bits, from.lanes);
    if (dtype == DTYPE_NONE && !none)
        FAIL(UNSUPPORTED, "DLPack type code %u, %u bits, %u lanes", (unsigned)from.code,
            (unsigned)from.bits, (unsigned)from.lanes);
    *out = value_dtype(dtype);
    return NULL;
}

static Error *take_function(const Taker *taker, const LayoverFunction *function, Value *out) {
    PackedObject *packed;
    if (!function) FAIL(INVALID, "a function without a handle");
    if (!function->host) {
        if (function->model != taker->model)
            FAIL(UNSUPPORTED, "function %s is of another model", function->name);
        *out = value_copy(function->value);
        return NULL;
    }
    if (library_function_linked(taker->model->packed, function->name) != function)
        FAIL(UNSUPPORTED, "function %s was not there when the module was first used",
            function->name);
    TRY(packed_object_create(taker->model->packed, function->name, &packed));
    *out = value_object(OBJECT_PACKED_FUNCTION, packed);
    return NULL;
}

static Error *take_object(const Taker *taker, const LayoverObject *object, Value *out) {
    if (!object) FAIL(INVALID, "an object without a handle");
    if (object->model != taker->model) FAIL(UNSUPPORTED, "an object is of another model");
    *out = value_copy(object->value);
    return NULL;
}

static Error *take_tensor(DLManagedTensor *owned_tensor, Value *out) {
    Tensor *tensor;
    if (!owned_tensor) FAIL(INVALID, "a tensor without a handle");
    TRY(tensor_dlpack_import(device_host(), owned_tensor, &tensor));
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static Error *take(Taker *taker, const LayoverValue *value, Value *out);

/* Fields behind a failed one are dropped. */
static Error *take_tuple(Taker *taker, const LayoverTuple *tuple, Value *out) {
    OWN(Adt, adt) = NULL;
    if (!tuple || (tuple->count && !tuple->fields)) FAIL(INVALID, "a tuple without fields");
    Error *error = NULL;
    if (tuple->count > ADT_FIELDS_MAX)
        error = error_make(ERROR_INVALID, __FILE__, __LINE__, "a tuple of %u fields; at most %d",
            tuple->count, ADT_FIELDS_MAX);
    if (!error) error = adt_create(taker->meter, 0, tuple->count, &adt);
    taker->depth++;
    for (uint32_t i = 0; i < tuple->count; i++) {
        if (!error)
            error = take(taker, &tuple->fields[i], &adt->fields[i]);
        else
            drop(&tuple->fields[i], taker->depth);
    }
    taker->depth--;
    if (!error) *out = value_object(OBJECT_ADT, TAKE(adt));
    return error;
}

static Error *take(Taker *taker, const LayoverValue *value, Value *out) {
    Error *error = count_value(taker->depth, &taker->count);
    if (error) {
        drop(value, taker->depth);
        return error;
    }
    if (packed_bridge_take_scalar(value, out)) return NULL;
    switch (value->kind) {
    case LAYOVER_NIL:
    case LAYOVER_BOOL:
    case LAYOVER_INT:
    case LAYOVER_FLOAT:
        break; /* taken */
    case LAYOVER_TENSOR:
        return take_tensor(value->tensor, out);
    case LAYOVER_STRING:
        return take_string(taker, value->text, out);
    case LAYOVER_SHAPE:
        return take_shape(value->shape, out);
    case LAYOVER_DTYPE:
        return take_dtype(value->dtype, out);
    case LAYOVER_TEXTS:
        return library_texts_take(value->texts, out);
    case LAYOVER_TUPLE:
        return take_tuple(taker, value->tuple, out);
    case LAYOVER_FUNCTION:
        return take_function(taker, value->function, out);
    case LAYOVER_OBJECT:
        return take_object(taker, value->object, out);
    }
    FAIL(INVALID, "a value of kind %d", (int)value->kind);
}

Error *library_value_take(
    LayoverModel *model, struct ObjectMeter *meter, const LayoverValue *value, Value *out) {
    return take(&(Taker){.model = model, .meter = meter}, value, out);
}

Error *library_values_take(
    LayoverModel *model, const LayoverValue *values, uint32_t count, Value **out_values) {
    void *memory = NULL;
    Error *error = memory_alloc(count, sizeof(Value), &memory);
    Value *made = memory;
    for (uint32_t i = 0; i < count; i++) {
        if (error)
            library_value_drop(&values[i]);
        else
            error =
                error_wrap(library_value_take(model, NULL, &values[i], &made[i]), "argument %u", i);
    }
    if (error)
        library_values_free(made, count);
    else
        *out_values = made;
    return error;
}

void library_values_free(Value *values, uint32_t count) {
    for (uint32_t i = 0; values && i < count; i++) value_release(&values[i]);
    memory_free(values);
}

/* ---- between host functions ---- */

static Error *adopt(const LayoverValue *value, uint32_t depth, uint32_t *count, LayoverValue *out);

static Error *adopt_tuple(
    const LayoverTuple *tuple, uint32_t depth, uint32_t *count, LayoverValue *out) {
    LayoverValue made = {LAYOVER_NIL, {0}};
    if (!tuple || (tuple->count && !tuple->fields)) FAIL(INVALID, "a tuple without fields");
    Error *error = make_tuple(tuple->count, &made);
    for (uint32_t i = 0; i < tuple->count; i++) {
        if (!error)
            error = adopt(&tuple->fields[i], depth + 1, count, &made.tuple->fields[i]);
        else
            drop(&tuple->fields[i], depth + 1);
    }
    if (error)
        layover_value_release(&made);
    else
        *out = made;
    return error;
}

static Error *adopt_object(const LayoverObject *object, LayoverValue *out) {
    if (!object) FAIL(INVALID, "an object without a handle");
    return give_object(&(Giver){.model = object->model}, &object->value, out);
}

static Error *adopt(const LayoverValue *value, uint32_t depth, uint32_t *count, LayoverValue *out) {
    Error *error = count_value(depth, count);
    if (error) {
        drop(value, depth);
        return error;
    }
    switch (value->kind) {
    case LAYOVER_STRING:
        if (!value->text) FAIL(INVALID, "a string without text");
        return make_string(value->text, out);
    case LAYOVER_SHAPE:
        if (!value->shape || value->shape->rank > SHAPE_RANK_MAX)
            FAIL(INVALID, "a shape of more than %d dimensions", SHAPE_RANK_MAX);
        return make_shape(value->shape->dims, value->shape->rank, out);
    case LAYOVER_TEXTS:
        return library_texts_adopt(value->texts, out);
    case LAYOVER_TUPLE:
        return adopt_tuple(value->tuple, depth, count, out);
    case LAYOVER_OBJECT:
        return adopt_object(value->object, out);
    case LAYOVER_FUNCTION:
        if (!value->function) FAIL(INVALID, "a function without a handle");
        (void)library_function_retain(value->function);
        *out = *value;
        return NULL;
    case LAYOVER_TENSOR:
        if (!value->tensor) FAIL(INVALID, "a tensor without a handle");
        *out = *value;
        return NULL;
    case LAYOVER_NIL:
    case LAYOVER_BOOL:
    case LAYOVER_INT:
    case LAYOVER_FLOAT:
    case LAYOVER_DTYPE:
        *out = *value;
        return NULL;
    }
    FAIL(INVALID, "a value of kind %d", (int)value->kind);
}

Error *library_value_adopt(const LayoverValue *value, LayoverValue *out) {
    uint32_t count = 0;
    return adopt(value, 0, &count, out);
}
