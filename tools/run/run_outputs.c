#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serialize/arrays/array_values.h"
#include "serialize/arrays/npz.h"
#include "tools/run/run_machine.h"

static Error *add_to_npz(void *self, NamedArray *inout_array) {
    return npz_writer_add(self, inout_array);
}

static Error *write_yields(Execution *execution, ArraySink sink) {
    Value value;
    uint64_t sequence;
    while (execution_take_yield(execution, &value, &sequence)) {
        char name[64];
        (void)snprintf(name, sizeof name, "yield.%" PRIu64, sequence);
        Error *error = array_values_export(&value, name, sink);
        value_release(&value);
        TRY(error);
    }
    return NULL;
}

Error *run_outputs_write(Execution *execution, const ArrayList *earlier, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    TRY(file_output_create(path, &output));
    TRY(npz_writer_create(output, &writer));
    ArraySink sink = {.add = add_to_npz, .self = writer, .only_reads = true};
    TRY(array_values_export_result(execution, sink));
    for (size_t i = 0; earlier && i < earlier->count; i++)
        TRY(npz_writer_add(writer, &earlier->items[i]));
    TRY(write_yields(execution, sink));
    TRY(npz_writer_finish(writer));
    return file_output_publish(output); /* not synced: another run gives the same bits */
}

static Error *add_to_list(void *self, NamedArray *inout_array) {
    return array_list_add(self, inout_array);
}

static Error *add_copy(const NamedArray *array, ArrayList *list) {
    NamedArray copy = {0};
    if (array->dtype == DTYPE_STRING)
        TRY(named_array_init_texts(
            &copy, array->name, &array->shape, (const char *const *)array->texts));
    else
        TRY(named_array_init(&copy, array->name, array->dtype, &array->shape));
    if (array->size > 0) memcpy(copy.data, array->data, (size_t)array->size);
    return array_list_add(list, &copy);
}

Error *run_outputs_collect(Execution *execution, const ArrayList *earlier, ArrayList *out_arrays) {
    const ArraySink sink = {.add = add_to_list, .self = out_arrays};
    TRY(array_values_export_result(execution, sink));
    for (size_t i = 0; earlier && i < earlier->count; i++)
        TRY(add_copy(&earlier->items[i], out_arrays));
    TRY(write_yields(execution, sink));
    return array_list_check_names(out_arrays);
}
