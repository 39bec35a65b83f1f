#include "scheduler/executor/batch.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "serialize/arrays/array_values.h"

struct Batch {
    const Function *function; /* of executable */
    Executable *executable;   /* retained */
    Value *inputs;            /* whole, per parameter */
    bool *is_item;            /* per parameter: cut along its leading axis */
    bool single;
    int64_t items_before; /* that the inputs do not hold any more */
    int64_t item_count;   /* with those */
    int64_t size;         /* items of a run */
};

void batch_release(Batch *batch) {
    if (!batch) return;
    if (batch->inputs) array_values_release(batch->inputs, batch->function->parameter_count);
    memory_free(batch->is_item);
    executable_release(batch->executable);
    memory_free(batch);
}

bool batch_options_share(const BatchOptions *options, const char *name) {
    for (size_t i = 0; i < options->shared_count; i++)
        if (strcmp(options->shared[i], name) == 0) return true;
    return false;
}

static Error *check_shared(const Function *function, const BatchOptions *options) {
    uint32_t index;
    for (size_t i = 0; i < options->shared_count; i++)
        if (!array_values_find_parameter(function, options->shared[i], &index))
            FAIL(INVALID, "function %s has no input %s to share", function->name,
                options->shared[i]);
    return NULL;
}

/* Adds one input that is cut: its axis, its count, whether the function takes a single item. */
static Error *add_item_input(Batch *batch, uint32_t index, bool *inout_first) {
    const Tensor *tensor = batch->inputs[index].tensor;
    const Port *port = &batch->function->parameters[index];
    if (port->form != PORT_TENSOR)
        FAIL(INVALID, "input %s is a %s and cannot be cut into items; --shared %s gives it whole",
            port->name, port_form_name(port->form), port->name);
    if (tensor->shape.rank == 0)
        FAIL(INVALID, "input %s has no item axis; --shared %s gives it whole to each run",
            port->name, port->name);
    if (port->rank_known && (port->shape.rank == 0 || port->shape.dims[0] > 1))
        FAIL(INVALID,
            "input %s cannot be cut into items: the model's leading dimension is neither free nor "
            "1; --shared %s gives it whole to each run",
            port->name, port->name);
    if (dtype_bits(tensor->dtype) < 8)
        FAIL(UNSUPPORTED, "input %s: items of %s", port->name, dtype_name(tensor->dtype));
    if (!*inout_first && tensor->shape.dims[0] != batch->item_count)
        FAIL(INVALID, "input %s has %" PRId64 " items, others have %" PRId64, port->name,
            tensor->shape.dims[0], batch->item_count);
    batch->item_count = tensor->shape.dims[0];
    if (port->rank_known && port->shape.dims[0] == 1) batch->size = 1;
    batch->is_item[index] = true;
    *inout_first = false;
    return NULL;
}

/* The inputs begin where a run begins, unless nothing is left of them. */
static Error *count_items(Batch *batch, int64_t items_before) {
    int64_t left = batch->item_count;
    if (items_before < 0 || (left > 0 && items_before % batch->size != 0) ||
        items_before > INT64_MAX - left)
        FAIL(INVALID, "%" PRId64 " items before, with %" PRId64 " in a run", items_before,
            batch->size);
    batch->items_before = items_before;
    batch->item_count = items_before + left;
    return NULL;
}

static Error *cut(Batch *batch, const BatchOptions *options) {
    const Function *function = batch->function;
    bool first = true;
    if (options->size > BATCH_SIZE_MAX)
        FAIL(INVALID, "a batch of %" PRIu64 " items; %d at most", options->size, BATCH_SIZE_MAX);
    batch->size = options->size ? (int64_t)options->size : 1;
    TRY(check_shared(function, options));
    for (uint32_t i = 0; i < function->parameter_count; i++)
        if (!batch_options_share(options, function->parameters[i].name))
            TRY(add_item_input(batch, i, &first));
    if (first)
        FAIL(INVALID, "function %s: no input is cut into items, so there is nothing to count",
            function->name);
    return count_items(batch, options->items_before);
}

/* Checks a single run whose inputs were used: only its execution is left. */
static Error *check_used(const Batch *batch, const ArrayList *inputs) {
    if (batch->items_before != 1 || inputs->count > 0)
        FAIL(INVALID, "%zu inputs of a run that has used them", inputs->count);
    return NULL;
}

Error *batch_create(const Executable *executable, uint32_t function, ArrayList *inout_inputs,
    const BatchOptions *options, Batch **out_batch) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Batch), &memory));
    OWN(Batch, batch) = memory;
    batch->executable = executable_retain(executable);
    batch->function = &batch->executable->functions[function];
    batch->single = !options->items;
    if (batch->single && options->items_before != 0) {
        batch->items_before = options->items_before;
        TRY(check_used(batch, inout_inputs));
        *out_batch = TAKE(batch);
        return NULL;
    }
    TRY(array_values_bind(inout_inputs, batch->function, &batch->inputs));
    TRY(memory_alloc(batch->function->parameter_count, sizeof(bool), &memory));
    batch->is_item = memory;
    if (options->items) TRY(cut(batch, options));
    *out_batch = TAKE(batch);
    return NULL;
}

int64_t batch_item_count(const Batch *batch) {
    return batch->single ? BATCH_SINGLE : batch->item_count;
}

uint64_t batch_run_count(const Batch *batch) {
    if (batch->single) return 1;
    return (uint64_t)(batch->item_count / batch->size + (batch->item_count % batch->size != 0));
}

bool batch_has_run(const Batch *batch, uint64_t run) {
    return run < batch_run_count(batch) && batch_items_before(batch, run) >= batch->items_before;
}

int64_t batch_items_before(const Batch *batch, uint64_t run) {
    if (batch->single) return (int64_t)run;
    return run >= batch_run_count(batch) ? batch->item_count : (int64_t)run * batch->size;
}

/* The items begin … end of a tensor, in the same memory. */
static Error *get_items(const Tensor *whole, int64_t begin, int64_t end, Value *out) {
    Shape shape = whole->shape;
    OWN(Storage, storage) = NULL;
    Tensor *tensor;
    uint64_t item_bytes = tensor_bytes(whole) / (uint64_t)whole->shape.dims[0];
    shape.dims[0] = end - begin;
    TRY(storage_create_within(whole->storage, whole->offset + (uint64_t)begin * item_bytes,
        (uint64_t)(end - begin) * item_bytes, &storage));
    TRY(tensor_create(storage, 0, whole->dtype, &shape, &tensor));
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

Error *batch_get_arguments(const Batch *batch, uint64_t run, Value **out_values) {
    uint32_t count = batch->function->parameter_count;
    int64_t begin = batch_items_before(batch, run) - batch->items_before;
    int64_t end = batch_items_before(batch, run + 1) - batch->items_before;
    void *memory;
    if (!batch_has_run(batch, run))
        FAIL(INVALID, "the inputs of run %" PRIu64 " were used before", run);
    TRY(memory_alloc(count, sizeof(Value), &memory));
    Value *values = memory;
    Error *error = NULL;
    for (uint32_t i = 0; i < count && !error; i++)
        if (batch->is_item[i])
            error = get_items(batch->inputs[i].tensor, begin, end, &values[i]);
        else
            values[i] = value_copy(batch->inputs[i]);
    if (error) {
        array_values_release(values, count);
        return error;
    }
    *out_values = values;
    return NULL;
}

uint64_t batch_bytes(const Batch *batch) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; batch->inputs && i < batch->function->parameter_count; i++)
        bytes += array_values_bytes(&batch->inputs[i]);
    return bytes;
}

void batch_outputs_deinit(BatchOutputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) named_array_deinit(&outputs->items[i]);
    memory_free(outputs->items);
    *outputs = (BatchOutputs){0};
}

static Error *remember(BatchOutputs *outputs, const ArrayList *arrays) {
    void *memory;
    batch_outputs_deinit(outputs);
    TRY(memory_alloc(arrays->count, sizeof(NamedArray), &memory));
    outputs->items = memory;
    for (size_t i = 0; i < arrays->count; i++) {
        NamedArray *item = &outputs->items[outputs->count++];
        item->dtype = arrays->items[i].dtype;
        item->shape = arrays->items[i].shape;
        TRY(memory_copy_text(arrays->items[i].name, &item->name));
    }
    outputs->known = true;
    return NULL;
}

static Error *check_array(const NamedArray *expected, const NamedArray *array, int64_t run_items) {
    Shape shape = expected->shape;
    if (array->shape.rank == 0 || array->shape.dims[0] != run_items)
        FAIL(FAILED, "output %s has no item axis: its leading dimension should be %" PRId64,
            array->name, run_items);
    shape.dims[0] = run_items;
    if (array->dtype == expected->dtype && shape_equal(&shape, &array->shape)) return NULL;
    TextBuilder OWN_TEXT(is) = {0};
    TextBuilder OWN_TEXT(was) = {0};
    shape_print(&array->shape, &is);
    shape_print(&expected->shape, &was);
    FAIL(FAILED, "output %s is %s%s after %s%s of items before: outputs cannot be appended",
        array->name, dtype_name(array->dtype), text_builder_get(&is), dtype_name(expected->dtype),
        text_builder_get(&was));
}

Error *batch_outputs_check(
    BatchOutputs *inout_outputs, const ArrayList *arrays, int64_t run_items) {
    if (!inout_outputs->known) TRY(remember(inout_outputs, arrays));
    if (arrays->count != inout_outputs->count)
        FAIL(FAILED, "%zu outputs after %zu of items before", arrays->count, inout_outputs->count);
    for (size_t i = 0; i < arrays->count; i++) {
        const NamedArray *expected = &inout_outputs->items[i], *array = &arrays->items[i];
        if (strcmp(expected->name, array->name) != 0)
            FAIL(FAILED, "output %s after %s of items before", array->name, expected->name);
        TRY(check_array(expected, array, run_items));
    }
    return NULL;
}
