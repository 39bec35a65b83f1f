#include "scheduler/executor/batch_join.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "serialize/arrays/array_values.h"

/* ---- ports ---- */

/* Checks that a port's leading dimension is free. */
static Error *check_leading(const Port *port, const char *what) {
    if (port->form != PORT_TENSOR)
        FAIL(UNSUPPORTED, "%s %s is a %s and has no items", what, port->name,
            port_form_name(port->form));
    if (!port->rank_known)
        FAIL(UNSUPPORTED, "%s %s may have any shape, so runs cannot be joined", what, port->name);
    if (port->shape.rank == 0 || port->shape.dims[0] >= 0)
        FAIL(UNSUPPORTED, "%s %s: its leading dimension is not free, so runs cannot be joined",
            what, port->name);
    return NULL;
}

/* Checks that the leading dimension is the same free one everywhere, and stands nowhere else. */
static Error *check_symbols(const Port *port, const char *what, const char *symbol) {
    const char *leading = port->symbols[0];
    if (symbol && leading && strcmp(symbol, leading) != 0)
        FAIL(UNSUPPORTED, "%s %s: its leading dimension is %s, and that of others is %s", what,
            port->name, leading, symbol);
    for (uint32_t d = 1; symbol && d < port->shape.rank; d++)
        if (port->symbols[d] && strcmp(port->symbols[d], symbol) == 0)
            FAIL(UNSUPPORTED, "%s %s: %s is its dimension %u, too, so runs cannot be joined", what,
                port->name, symbol, d);
    return NULL;
}

static const char *find_symbol(const Function *function) {
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (function->parameters[i].symbols[0]) return function->parameters[i].symbols[0];
    return NULL;
}

Error *batch_join_check(const Function *function) {
    if (!function->parameters || function->parameter_count == 0)
        FAIL(
            UNSUPPORTED, "function %s takes no input, so there is nothing to join", function->name);
    if (!function->results)
        FAIL(UNSUPPORTED, "function %s does not describe its outputs", function->name);
    for (uint32_t i = 0; i < function->parameter_count; i++)
        TRY(check_leading(&function->parameters[i], "input"));
    for (uint32_t i = 0; i < function->result_count; i++)
        TRY(check_leading(&function->results[i], "output"));
    const char *symbol = find_symbol(function);
    for (uint32_t i = 0; i < function->parameter_count; i++)
        TRY(check_symbols(&function->parameters[i], "input", symbol));
    for (uint32_t i = 0; i < function->result_count; i++)
        TRY(check_symbols(&function->results[i], "output", symbol));
    return NULL;
}

/* ---- inputs ---- */

/* The arguments of single runs, as long as they are looked at. */
typedef struct Arguments {
    Value *values;
    uint32_t count;
} Arguments;

static void arguments_deinit(Arguments *arguments) {
    if (arguments->values) array_values_release(arguments->values, arguments->count);
}
#define OWN_ARGUMENTS(name) __attribute__((cleanup(arguments_deinit))) name

static const Tensor *tensor_of(const Arguments *arguments, uint32_t i) {
    const Value *value = &arguments->values[i];
    return value_is(value, OBJECT_TENSOR) ? value->tensor : NULL;
}

/* False without memory: the run is not joined then. */
static bool get_arguments(const Function *function, const Batch *batch, Arguments *out) {
    out->count = function->parameter_count;
    Error *error = batch_get_arguments(batch, 0, &out->values);
    const bool done = !error;
    error_free(error); /* the comment above says what happens */
    return done;
}

static int64_t count_items(const Tensor *tensor) {
    if (!tensor || tensor->shape.rank == 0 || dtype_bits(tensor->dtype) < 8 ||
        tensor->dtype == DTYPE_STRING)
        return 0;
    return tensor->shape.dims[0];
}

int64_t batch_join_items(const Function *function, const Batch *batch) {
    Arguments OWN_ARGUMENTS(arguments) = {0};
    if (!get_arguments(function, batch, &arguments)) return 0;
    const int64_t items = arguments.count ? count_items(tensor_of(&arguments, 0)) : 0;
    for (uint32_t i = 1; i < arguments.count; i++)
        if (count_items(tensor_of(&arguments, i)) != items) return 0;
    return items;
}

static bool fits(const Tensor *a, const Tensor *b) {
    if (!a || !b || a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
    for (uint32_t d = 1; d < a->shape.rank; d++)
        if (a->shape.dims[d] != b->shape.dims[d]) return false;
    return true;
}

bool batch_join_fits(const Function *function, const Batch *a, const Batch *b) {
    Arguments OWN_ARGUMENTS(first) = {0};
    Arguments OWN_ARGUMENTS(second) = {0};
    if (!get_arguments(function, a, &first) || !get_arguments(function, b, &second)) return false;
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (!fits(tensor_of(&first, i), tensor_of(&second, i))) return false;
    return true;
}

/* The shape of a joined input, and its type. */
static Error *find_shape(
    const Arguments *all, size_t count, uint32_t index, DType *out_dtype, Shape *out_shape) {
    *out_dtype = tensor_of(&all[0], index)->dtype;
    *out_shape = tensor_of(&all[0], index)->shape;
    for (size_t i = 1; i < count; i++)
        if (!checked_add_i64(
                out_shape->dims[0], tensor_of(&all[i], index)->shape.dims[0], &out_shape->dims[0]))
            FAIL(INVALID, "joined inputs have too many items");
    return NULL;
}

static Error *copy_items(const Arguments *all, size_t count, uint32_t index, NamedArray *to) {
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const Tensor *tensor = tensor_of(&all[i], index);
        if (tensor_bytes(tensor) > to->size - at) FAIL(INTERNAL, "joined inputs of other sizes");
        TRY(tensor_copy_to_host(tensor, to->data + at));
        at += tensor_bytes(tensor);
    }
    return NULL;
}

static Error *join_input(const Function *function, const Arguments *all, size_t count,
    uint32_t index, ArrayList *inout_list) {
    NamedArray array = {0};
    DType dtype;
    Shape shape;
    TRY(find_shape(all, count, index, &dtype, &shape));
    TRY(named_array_init(&array, function->parameters[index].name, dtype, &shape));
    Error *error = copy_items(all, count, index, &array);
    if (error) {
        named_array_deinit(&array);
        return error;
    }
    return array_list_add(inout_list, &array);
}

static Error *join_inputs(const Function *function, const Batch *const *batches, size_t count,
    Arguments *inout_all, ArrayList *inout_list) {
    for (size_t i = 0; i < count; i++) {
        inout_all[i].count = function->parameter_count;
        TRY(batch_get_arguments(batches[i], 0, &inout_all[i].values));
    }
    for (uint32_t i = 0; i < function->parameter_count; i++)
        TRY(join_input(function, inout_all, count, i, inout_list));
    return NULL;
}

Error *batch_join(const Executable *executable, uint32_t function, const Batch *const *batches,
    size_t count, Batch **out_batch) {
    const BatchOptions single = {0};
    ArrayList OWN_ARRAYS(inputs) = {0};
    void *memory;
    TRY(memory_alloc(count, sizeof(Arguments), &memory));
    Arguments *all = memory;
    Error *error = join_inputs(&executable->functions[function], batches, count, all, &inputs);
    for (size_t i = 0; i < count; i++) arguments_deinit(&all[i]);
    memory_free(all);
    return error ? error : batch_create(executable, function, &inputs, &single, out_batch);
}

/* ---- outputs ---- */

Error *batch_join_check_outputs(const ArrayList *outputs, int64_t items) {
    for (size_t i = 0; i < outputs->count; i++) {
        const NamedArray *array = &outputs->items[i];
        if (array->shape.rank == 0 || array->shape.dims[0] != items ||
            dtype_bits(array->dtype) < 8 || array->dtype == DTYPE_STRING)
            FAIL(FAILED, "output %s does not have %" PRId64 " items", array->name, items);
    }
    return NULL;
}

static Error *cut_output(
    const NamedArray *whole, int64_t items, int64_t begin, int64_t end, ArrayList *inout_part) {
    const uint64_t item_bytes = whole->size / (uint64_t)items;
    NamedArray array = {0};
    Shape shape = whole->shape;
    shape.dims[0] = end - begin;
    TRY(named_array_init(&array, whole->name, whole->dtype, &shape));
    if (array.size) memcpy(array.data, whole->data + (uint64_t)begin * item_bytes, array.size);
    return array_list_add(inout_part, &array);
}

Error *batch_join_cut(
    const ArrayList *outputs, int64_t items, int64_t begin, int64_t end, ArrayList *out_part) {
    for (size_t i = 0; i < outputs->count; i++)
        TRY(cut_output(&outputs->items[i], items, begin, end, out_part));
    return NULL;
}
