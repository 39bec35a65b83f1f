#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serialize/npz.h"
#include "tools/run_machine.h"
#include "vm/adt.h"
#include "vm/object.h"

enum { OUTPUT_NAME_SIZE = 1100, OUTPUT_NESTING_MAX = 8 };

static Error *write_tensor(NpzWriter *writer, const char *name, const Tensor *tensor) {
    NamedArray array;
    TRY(named_array_init(&array, name, tensor->dtype, &tensor->shape));
    Error *error = tensor_copy_to_host(tensor, array.data);
    if (!error) error = npz_writer_add(writer, &array);
    named_array_deinit(&array);
    return error;
}

static Error *write_scalar(NpzWriter *writer, const char *name, const Value *value) {
    static const Shape scalar = {0};
    DType dtype = value->tag == VALUE_BOOL    ? DTYPE_BOOL
                  : value->tag == VALUE_FLOAT ? DTYPE_FLOAT64
                                              : DTYPE_INT64;
    NamedArray array;
    TRY(named_array_init(&array, name, dtype, &scalar));
    if (value->tag == VALUE_BOOL)
        array.data[0] = value->boolean;
    else
        memcpy(array.data, &value->integer, sizeof value->integer); /* or the bits of a float64 */
    Error *error = npz_writer_add(writer, &array);
    named_array_deinit(&array);
    return error;
}

/* Tensors and scalars; tuples and lists of them under NAME.0, NAME.1 … */
static Error *write_value(NpzWriter *writer, const char *name, const Value *value, int depth) {
    if (value_is(value, OBJECT_TENSOR)) return write_tensor(writer, name, value->tensor);
    if (value->tag == VALUE_BOOL || value->tag == VALUE_INT || value->tag == VALUE_FLOAT)
        return write_scalar(writer, name, value);
    if (value->tag == VALUE_NIL) return NULL;
    bool nested = value_is(value, OBJECT_ADT) || value_is(value, OBJECT_LIST);
    if (!nested || depth >= OUTPUT_NESTING_MAX)
        FAIL(UNSUPPORTED, "output %s is a %s, which an .npz cannot hold", name,
            value_kind_name(value));
    uint32_t count;
    const Value *children = value_children(value, &count);
    for (uint32_t i = 0; i < count; i++) {
        char child[OUTPUT_NAME_SIZE];
        (void)snprintf(child, sizeof child, "%s.%u", name, i);
        TRY(write_value(writer, child, &children[i], depth + 1));
    }
    return NULL;
}

static Error *write_results(Execution *execution, const Function *function, NpzWriter *writer) {
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
            writer, name[0] ? name : fallback, tuple ? &result->adt->fields[i] : result, 0));
    }
    return NULL;
}

static Error *write_yields(Execution *execution, NpzWriter *writer) {
    Value value;
    uint64_t sequence;
    while (execution_take_yield(execution, &value, &sequence)) {
        char name[64];
        (void)snprintf(name, sizeof name, "yield.%" PRIu64, sequence);
        Error *error = write_value(writer, name, &value, 0);
        value_release(&value);
        TRY(error);
    }
    return NULL;
}

Error *run_outputs_write(Execution *execution, uint32_t function, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    const Executable *executable = execution_get_residency(execution)->executable;
    TRY(file_output_create(path, &output));
    TRY(npz_writer_create(output, &writer));
    TRY(write_results(execution, &executable->functions[function], writer));
    TRY(write_yields(execution, writer));
    TRY(npz_writer_finish(writer));
    return file_output_commit(output);
}
