/* Named values of layover_jobs.h, to and from .npz files. */
#include <string.h>

#include "base/allocator.h"
#include "base/file.h"
#include "kernels/tensor/tensor_dlpack.h"
#include "serialize/arrays/array_values.h"
#include "serialize/arrays/npz.h"
#include "tools/library/library_client.h"

/* ---- inputs ---- */

/* Consumes the value. */
static Error *take(const LayoverNamedValue *input, Value *out) {
    Tensor *tensor;
    if (input->name && input->value.kind == LAYOVER_TEXTS)
        return library_texts_take(input->value.texts, out);
    if (!input->name || input->value.kind != LAYOVER_TENSOR || !input->value.tensor) {
        library_value_drop(&input->value);
        FAIL(INVALID, "a name with a tensor or texts is wanted");
    }
    TRY(tensor_dlpack_import(device_host(), input->value.tensor, &tensor));
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static Error *add(void *writer, NamedArray *inout_array) {
    return npz_writer_add(writer, inout_array);
}

static Error *write_input(NpzWriter *writer, const LayoverNamedValue *input) {
    Value value;
    TRY(take(input, &value));
    const ArraySink sink = {.add = add, .self = writer, .only_reads = true};
    Error *error = array_values_export(&value, input->name, sink);
    value_release(&value);
    return error;
}

Error *library_arrays_write(const LayoverNamedValue *inputs, uint32_t count, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    Error *error = file_output_create(path, &output);
    if (!error) error = npz_writer_create(output, &writer);
    for (uint32_t i = 0; i < count; i++)
        if (error)
            library_value_drop(&inputs[i].value);
        else
            error = error_wrap(write_input(writer, &inputs[i]), "input %u (%s)", i,
                inputs[i].name ? inputs[i].name : "");
    if (!error) error = npz_writer_finish(writer);
    return error ? error : file_output_publish(output);
}

/* ---- outputs ---- */

void layover_named_values_free(LayoverNamedValues *values) {
    if (!values) return;
    for (uint32_t i = 0; i < values->count; i++) {
        memory_free((void *)(uintptr_t)values->items[i].name);
        layover_value_release(&values->items[i].value);
    }
    memory_free(values->items);
    memory_free(values);
}
DEFINE_OWN(LayoverNamedValues, layover_named_values_free);

static Error *give(NamedArray *inout_array, LayoverNamedValue *out) {
    Value value;
    char *name;
    TRY(memory_copy_text(inout_array->name, &name));
    out->name = name;
    TRY(array_values_from_array(inout_array, &value));
    Error *error = library_value_give(NULL, &value, LIBRARY_SHARE, &out->value);
    value_release(&value);
    return error;
}

Error *library_arrays_give(ArrayList *inout_list, LayoverNamedValues **out) {
    void *memory;
    if (inout_list->count > UINT32_MAX) FAIL(EXHAUSTED, "more than 2^32 outputs");
    TRY(memory_alloc(1, sizeof(LayoverNamedValues), &memory));
    OWN(LayoverNamedValues, values) = memory;
    TRY(memory_alloc(inout_list->count, sizeof(LayoverNamedValue), &memory));
    values->items = memory;
    for (size_t i = 0; i < inout_list->count; i++) {
        values->count++;
        TRY(give(&inout_list->items[i], &values->items[i]));
    }
    *out = TAKE(values);
    return NULL;
}
