#include "serialize/arrays/array_values.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "kernels/tensor/string_tensor.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"
#include "vm/objects/object.h"
#include "vm/objects/shape_object.h"

enum { ARRAY_NAME_SIZE = 1100, ARRAY_NESTING_MAX = 8 };

/* NAME.count is the number of a list's items NAME.0, NAME.1 …; written only for empty lists. */
static const char LIST_COUNT_NAME[] = "count", SHAPE_NAME[] = "shape", SCALAR_NAME[] = "scalar";

static void release_array(void *owner) {
    NamedArray *array = owner;
    named_array_deinit(array);
    memory_free(array);
}

static Error *strings_from_array(NamedArray *inout_array, Value *out) {
    const int64_t count = shape_count_unchecked(&inout_array->shape);
    void *memory;
    TRY(memory_alloc((size_t)count, sizeof(StringView), &memory));
    StringView *views = memory;
    for (int64_t i = 0; i < count; i++)
        views[i] = (StringView){inout_array->texts[i], strlen(inout_array->texts[i])};
    Tensor *tensor = NULL;
    Error *error = string_tensor_create(&inout_array->shape, views, &tensor);
    memory_free(memory);
    TRY(error);
    tensor->storage->sealed = true;
    named_array_deinit(inout_array);
    *inout_array = (NamedArray){0};
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

Error *array_values_from_array(NamedArray *inout_array, Value *out) {
    if (inout_array->dtype == DTYPE_STRING) return strings_from_array(inout_array, out);
    void *memory;
    TRY(memory_alloc(1, sizeof(NamedArray), &memory));
    NamedArray *array = memory;
    *array = *inout_array;
    *inout_array = (NamedArray){0};
    Storage *storage;
    Error *error = storage_create_foreign(device_host(), SLOT_HOST,
        (uint64_t)(uintptr_t)array->data, array->size, array, release_array, &storage);
    if (error) {
        release_array(array);
        return error;
    }
    storage->sealed = true;
    Tensor *tensor;
    error = tensor_create(storage, 0, array->dtype, &array->shape, &tensor);
    storage_release(storage);
    TRY(error);
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

bool array_values_find_parameter(const Function *function, const char *name, uint32_t *out_index) {
    for (uint32_t i = 0; function->parameters && i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) {
            *out_index = i;
            return true;
        }
    return false;
}

static Error *fail_unknown(const Function *function, const char *name) {
    TextBuilder OWN_TEXT(known) = {0};
    for (uint32_t i = 0; function->parameters && i < function->parameter_count; i++)
        text_appendf(&known, "%s%s", i ? ", " : "", function->parameters[i].name);
    FAIL(INVALID,
        "function %s has no input %s; it has %s. Leave %s out; where the model's file gives it a "
        "value (an initializer), that is a constant: take it out of the file to give another one",
        function->name, name, known.size ? text_builder_get(&known) : "none", name);
}

/* The place that an array's name denotes: a whole input, an item of a list, the count of a list's
 * items, or an input that is no tensor. */
typedef struct ArrayPlace {
    uint32_t parameter;
    enum { PLACE_WHOLE, PLACE_ITEM, PLACE_COUNT, PLACE_SHAPE, PLACE_SCALAR } part;
    int64_t item;
} ArrayPlace;

/* Whether a port takes values that are no tensors, as those of Relax do. */
static bool takes_anything(const Port *port) {
    return port->form == PORT_TENSOR && port->dtype == DTYPE_NONE && !port->rank_known;
}

static bool find_place(const Function *function, const char *name, ArrayPlace *out) {
    *out = (ArrayPlace){.part = PLACE_WHOLE};
    if (array_values_find_parameter(function, name, &out->parameter)) return true;
    const char *dot = strrchr(name, '.');
    char prefix[ARRAY_NAME_SIZE];
    if (!dot || (size_t)(dot - name) >= sizeof prefix) return false;
    memcpy(prefix, name, (size_t)(dot - name));
    prefix[dot - name] = '\0';
    if (!array_values_find_parameter(function, prefix, &out->parameter)) return false;
    const Port *port = &function->parameters[out->parameter];
    if (takes_anything(port) && strcmp(dot + 1, SHAPE_NAME) == 0) out->part = PLACE_SHAPE;
    if (takes_anything(port) && strcmp(dot + 1, SCALAR_NAME) == 0) out->part = PLACE_SCALAR;
    if (out->part != PLACE_WHOLE) return true;
    if (!port_is_list(port)) return false;
    out->part = strcmp(dot + 1, LIST_COUNT_NAME) == 0 ? PLACE_COUNT : PLACE_ITEM;
    if (out->part == PLACE_COUNT) return true;
    char again[32];
    if (!text_parse_i64(dot + 1, &out->item) || out->item < 0) return false;
    (void)snprintf(again, sizeof again, "%lld", (long long)out->item);
    return strcmp(again, dot + 1) == 0;
}

Error *array_values_find_port(
    const Function *function, const char *name, const Port **out_port, bool *out_whole) {
    ArrayPlace place;
    if (!find_place(function, name, &place)) return fail_unknown(function, name);
    *out_port = place.part == PLACE_COUNT ? NULL : &function->parameters[place.parameter];
    *out_whole = place.part == PLACE_WHOLE;
    return NULL;
}

/* Makes the lists with room for their items, which are nil at first. */
static Error *make_lists(const ArrayList *arrays, const Function *function, Value *values) {
    for (size_t i = 0; i < arrays->count; i++) {
        ArrayPlace place;
        const char *name = arrays->items[i].name;
        if (!find_place(function, name, &place)) return fail_unknown(function, name);
        if (place.part != PLACE_ITEM && place.part != PLACE_COUNT) continue;
        Value *value = &values[place.parameter];
        List *list = value->list;
        if (value->tag == VALUE_NIL) {
            TRY(list_create(NULL, 0, &list));
            *value = value_object(OBJECT_LIST, list);
        }
        if (place.part == PLACE_ITEM) TRY(list_append(list, value_nil()));
    }
    return NULL;
}

static Error *check_count(const NamedArray *array, const List *list) {
    int64_t count = -1;
    if (array->dtype != DTYPE_INT64 || array->size != sizeof count)
        FAIL(INVALID, "array %s is not one int64", array->name);
    memcpy(&count, array->data, sizeof count);
    if (count != list->count)
        FAIL(INVALID, "array %s says %lld, but %u items are given", array->name, (long long)count,
            list->count);
    return NULL;
}

static Error *shape_from_array(const NamedArray *array, Value *out) {
    ShapeObject *object;
    if (array->dtype != DTYPE_INT64 || array->shape.rank != 1)
        FAIL(INVALID, "array %s is no list of int64", array->name);
    TRY_WRAP(shape_object_create_of((const int64_t *)(const void *)array->data,
                 (uint64_t)array->shape.dims[0], &object),
        "array %s", array->name);
    *out = value_object(OBJECT_SHAPE, object);
    return NULL;
}

static Error *scalar_from_array(const NamedArray *array, Value *out) {
    if (array->shape.rank != 0 || (array->dtype != DTYPE_BOOL && array->dtype != DTYPE_INT64 &&
                                      array->dtype != DTYPE_FLOAT64))
        FAIL(INVALID, "array %s is not one bool, int64 or float64", array->name);
    if (array->dtype == DTYPE_BOOL) {
        *out = value_bool(array->data[0] != 0);
        return NULL;
    }
    *out = array->dtype == DTYPE_INT64 ? value_int(0) : value_float(0);
    memcpy(&out->integer, array->data, sizeof out->integer); /* or a float64's bits */
    return NULL;
}

static Error *take_array(NamedArray *array, const Function *function, Value *values) {
    ArrayPlace place;
    if (!find_place(function, array->name, &place)) return fail_unknown(function, array->name);
    const char *port = function->parameters[place.parameter].name;
    Value *value = &values[place.parameter];
    if (place.part == PLACE_COUNT) return check_count(array, value->list);
    if (place.part == PLACE_ITEM) {
        if (place.item >= value->list->count)
            FAIL(INVALID, "input %s has %u items, but one is number %lld", port, value->list->count,
                (long long)place.item);
        value = &value->list->items[place.item];
    }
    if (value->tag != VALUE_NIL) FAIL(INVALID, "input %s is given twice", array->name);
    if (place.part == PLACE_SHAPE) return shape_from_array(array, value);
    if (place.part == PLACE_SCALAR) return scalar_from_array(array, value);
    TRY_WRAP(array_values_from_array(array, value), "input %s", port);
    return NULL;
}

static Error *match(ArrayList *list, const Function *function, Value *values) {
    TRY(make_lists(list, function, values));
    for (size_t i = 0; i < list->count; i++) TRY(take_array(&list->items[i], function, values));
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const Port *port = function->parameters ? &function->parameters[i] : NULL;
        if (values[i].tag == VALUE_NIL && !(port && port_is_optional(port)))
            FAIL(INVALID, "input %s of function %s is missing", port ? port->name : "?",
                function->name);
    }
    return NULL;
}

Error *array_values_bind(ArrayList *inout_list, const Function *function, Value **out_values) {
    void *memory;
    TRY(memory_alloc(function->parameter_count, sizeof(Value), &memory));
    Error *error = match(inout_list, function, memory);
    if (error) {
        array_values_release(memory, function->parameter_count);
        return error;
    }
    *out_values = memory;
    return NULL;
}

void array_values_release(Value *values, uint32_t count) {
    for (uint32_t i = 0; values && i < count; i++) value_release(&values[i]);
    memory_free(values);
}

uint64_t array_values_bytes(const Value *value) {
    if (value_is(value, OBJECT_TENSOR)) return tensor_bytes(value->tensor);
    uint32_t count;
    uint64_t bytes = 0;
    const Value *items = value_children(value, &count);
    for (uint32_t i = 0; i < count; i++)
        if (value_is(&items[i], OBJECT_TENSOR)) bytes += tensor_bytes(items[i].tensor);
    return bytes;
}

/* Elements with ends, which arrays have; no text holds a zero byte. */
static Error *texts_of(const Tensor *tensor, char **out_block) {
    const int64_t count = shape_count_unchecked(&tensor->shape);
    const size_t head = (size_t)count * sizeof(char *);
    void *memory;
    TRY(memory_alloc(head + (size_t)tensor_bytes(tensor) + (size_t)count, 1, &memory));
    char **texts = memory, *to = (char *)memory + head;
    for (int64_t i = 0; i < count; i++) {
        StringView view = string_tensor_at(tensor_data(tensor), count, i);
        texts[i] = memcpy(to, view.text, (size_t)view.size);
        to += view.size + 1;
    }
    *out_block = memory;
    return NULL;
}

static Error *strings_to_array(ArraySink sink, const char *name, const Tensor *tensor) {
    NamedArray array;
    char *texts;
    TRY(texts_of(tensor, &texts));
    Error *error =
        named_array_init_texts(&array, name, &tensor->shape, (const char *const *)(void *)texts);
    memory_free(texts);
    TRY(error);
    error = sink.add(sink.self, &array);
    named_array_deinit(&array);
    return error;
}

/* Passes the tensor's own memory to a sink that only reads it. */
static Error *lend_tensor(ArraySink sink, const char *name, const Tensor *tensor) {
    NamedArray array = {.dtype = tensor->dtype, .shape = tensor->shape};
    TRY(memory_copy_text(name, &array.name));
    array.size = tensor_bytes(tensor);
    array.data = array.size > 0 ? tensor_data(tensor) : NULL;
    Error *error = sink.add(sink.self, &array);
    array.data = NULL;
    named_array_deinit(&array);
    return error;
}

static Error *tensor_to_array(ArraySink sink, const char *name, const Tensor *tensor) {
    NamedArray array;
    if (!tensor->written) FAIL(INVALID, "output %s is a tensor that was never written", name);
    if (tensor->dtype == DTYPE_STRING) return strings_to_array(sink, name, tensor);
    if (sink.only_reads && tensor->storage->device->class_->host_memory)
        return lend_tensor(sink, name, tensor);
    TRY(named_array_init(&array, name, tensor->dtype, &tensor->shape));
    Error *error = tensor_copy_to_host(tensor, array.data);
    if (!error) error = sink.add(sink.self, &array);
    named_array_deinit(&array);
    return error;
}

static Error *scalar_to_array(ArraySink sink, const char *name, const Value *value) {
    static const Shape scalar = {0};
    DType dtype = value->tag == VALUE_BOOL    ? DTYPE_BOOL
                  : value->tag == VALUE_FLOAT ? DTYPE_FLOAT64
                                              : DTYPE_INT64;
    NamedArray array;
    TRY(named_array_init(&array, name, dtype, &scalar));
    if (value->tag == VALUE_BOOL)
        array.data[0] = value->boolean;
    else
        memcpy(array.data, &value->integer, sizeof value->integer); /* or a float64's bits */
    Error *error = sink.add(sink.self, &array);
    named_array_deinit(&array);
    return error;
}

static Error *shape_to_array(ArraySink sink, const char *name, const ShapeObject *object) {
    const Shape shape = shape_make(1, (int64_t[]){object->count});
    NamedArray array;
    TRY(named_array_init(&array, name, DTYPE_INT64, &shape));
    if (object->count > 0) memcpy(array.data, object->dims, object->count * sizeof(int64_t));
    Error *error = sink.add(sink.self, &array);
    named_array_deinit(&array);
    return error;
}

static Error *write_empty_list(ArraySink sink, const char *name) {
    char child[ARRAY_NAME_SIZE];
    Value none = value_int(0);
    (void)snprintf(child, sizeof child, "%s.%s", name, LIST_COUNT_NAME);
    return scalar_to_array(sink, child, &none);
}

static Error *write_value(ArraySink sink, const char *name, const Value *value, int depth) {
    if (value_is(value, OBJECT_TENSOR)) return tensor_to_array(sink, name, value->tensor);
    if (value->tag == VALUE_BOOL || value->tag == VALUE_INT || value->tag == VALUE_FLOAT)
        return scalar_to_array(sink, name, value);
    if (value_is(value, OBJECT_SHAPE)) return shape_to_array(sink, name, value->shape);
    if (value->tag == VALUE_NIL) return NULL;
    bool nested = value_is(value, OBJECT_ADT) || value_is(value, OBJECT_LIST);
    if (!nested || depth >= ARRAY_NESTING_MAX)
        FAIL(UNSUPPORTED, "output %s is a %s, which no array can hold", name,
            value_kind_name(value));
    uint32_t count;
    const Value *children = value_children(value, &count);
    if (count == 0 && value_is(value, OBJECT_LIST)) return write_empty_list(sink, name);
    for (uint32_t i = 0; i < count; i++) {
        char child[ARRAY_NAME_SIZE];
        (void)snprintf(child, sizeof child, "%s.%u", name, i);
        TRY(write_value(sink, child, &children[i], depth + 1));
    }
    return NULL;
}

Error *array_values_export(const Value *value, const char *name, ArraySink sink) {
    return write_value(sink, name, value, 0);
}

Error *array_values_export_result(Execution *execution, ArraySink sink) {
    const Executable *executable = execution_get_residency(execution)->executable;
    const Function *function = &executable->functions[execution_get_entry(execution)];
    const Value *result = execution_get_result(execution);
    uint32_t count = function->results ? function->result_count : 1;
    bool tuple = count != 1 && value_is(result, OBJECT_ADT);
    if (count == 0) return NULL;
    if (count != 1 && (!tuple || result->adt->count != count))
        FAIL(FAILED, "function %s returned no tuple of %u results", function->name, count);
    for (uint32_t i = 0; i < count; i++) {
        char fallback[32];
        (void)snprintf(fallback, sizeof fallback, "output%u", i);
        const char *name = function->results ? function->results[i].name : "output";
        TRY(write_value(
            sink, name[0] ? name : fallback, tuple ? &result->adt->fields[i] : result, 0));
    }
    return NULL;
}
