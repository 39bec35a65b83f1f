/* Inputs and outputs of layover.h: their names, types and shapes, and lists of params. */
#include <string.h>

#include "compiler/nnvm/nnvm_params.h"
#include "kernels/tensor/tensor_dlpack.h"
#include "tools/library/library_internal.h"
#include "vm/execution/stateful.h"

static Error *find_function(
    const LayoverModel *model, const char *name, uint32_t *out_index, const Function **out) {
    const Executable *executable = model->residency->executable;
    TRY(executable_find_function(executable, name, out_index));
    *out = &executable->functions[*out_index];
    return NULL;
}

/* ---- types and shapes ---- */

static const Port any_port = {.dtype = DTYPE_NONE};

static void describe(const Port *port, LayoverPort *out) {
    *out = (LayoverPort){
        .name = port->name ? port->name : "",
        .dtype = port->dtype == DTYPE_NONE ? "" : dtype_name(port->dtype),
        .rank = port->rank_known ? (int32_t)port->shape.rank : -1,
        .dims = port->rank_known ? port->shape.dims : NULL,
        .symbols = port->rank_known ? (const char *const *)port->symbols : NULL,
        .is_list = port_is_list(port),
        .is_optional = port_is_optional(port),
    };
}

static Error *find_port(
    const LayoverModel *model, const char *name, uint32_t index, bool is_result, LayoverPort *out) {
    uint32_t number;
    const Function *function;
    TRY(find_function(model, name, &number, &function));
    const uint32_t count = is_result ? function->result_count : function->parameter_count;
    const Port *ports = is_result ? function->results : function->parameters;
    if (index >= count)
        FAIL(INVALID, "function %s: %s %u of %u", name, is_result ? "output" : "input", index,
            count);
    describe(ports ? &ports[index] : &any_port, out);
    return NULL;
}

LayoverError *layover_model_input(
    const LayoverModel *model, const char *function, uint32_t index, LayoverPort *out_port) {
    return library_error(find_port(model, function, index, false, out_port));
}

LayoverError *layover_model_output(
    const LayoverModel *model, const char *function, uint32_t index, LayoverPort *out_port) {
    return library_error(find_port(model, function, index, true, out_port));
}

const char *layover_dtype_name(DLDataType dtype) {
    const DType found = dtype_from_dlpack(dtype.code, dtype.bits, dtype.lanes);
    return found == DTYPE_NONE ? "" : dtype_name(found);
}

static Error *find_dtype(const char *name, DLDataType *out) {
    uint8_t code, bits;
    const DType found = dtype_find(name);
    if (found == DTYPE_NONE) FAIL(NOT_FOUND, "there is no element type %s", name);
    if (!dtype_to_dlpack(found, &code, &bits)) FAIL(UNSUPPORTED, "DLPack has no %s", name);
    *out = (DLDataType){code, bits, 1};
    return NULL;
}

LayoverError *layover_dtype_find(const char *name, DLDataType *out_dtype) {
    return library_error(find_dtype(name, out_dtype));
}

/* ---- names ---- */

static Error *find_output(
    const LayoverModel *model, const char *function, const char *name, uint32_t *out_index) {
    uint32_t index;
    const Function *found;
    TextBuilder OWN_TEXT(known) = {0};
    TRY(find_function(model, function, &index, &found));
    for (uint32_t i = 0; found->results && i < found->result_count; i++) {
        if (strcmp(found->results[i].name, name) == 0) {
            *out_index = i;
            return NULL;
        }
        text_appendf(&known, "%s%s", i ? ", " : "", found->results[i].name);
    }
    FAIL(NOT_FOUND, "function %s has no output %s; it has %s", function, name,
        known.size ? text_builder_get(&known) : "none with a name");
}

LayoverError *layover_model_find_output(
    const LayoverModel *model, const char *function, const char *name, uint32_t *out_index) {
    return library_error(find_output(model, function, name, out_index));
}

/* ---- params ---- */

static Error *set_param(
    LayoverExecution *execution, uint32_t function, const NnvmParam *param, uint32_t *inout_set) {
    uint32_t parameter;
    const Executable *executable = execution->model->residency->executable;
    const Value value = value_object(OBJECT_TENSOR, param->tensor);
    Error *error = stateful_find_input(executable, function, param->name, &parameter);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(error); /* TVM skips such a param, too */
        return NULL;
    }
    TRY(error);
    TRY_WRAP(
        stateful_set_input(execution->execution, function, parameter, &value), "%s", param->name);
    ++*inout_set;
    return NULL;
}

static Error *load_params(LayoverExecution *execution, const char *function, const void *bytes,
    size_t size, uint32_t *out_set) {
    uint32_t index, set = 0;
    const Function *found;
    OWN(NnvmParams, params) = NULL;
    TRY(find_function(execution->model, function, &index, &found));
    TRY(nnvm_params_read(bytes, size, &params));
    for (uint64_t i = 0; i < params->count; i++)
        TRY_WRAP(set_param(execution, index, &params->items[i], &set), "params");
    *out_set = set;
    return NULL;
}

LayoverError *layover_execution_load_params(LayoverExecution *execution, const char *function,
    const void *bytes, size_t size, uint32_t *out_set) {
    return library_error(load_params(execution, function, bytes, size, out_set));
}
