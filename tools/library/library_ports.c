/* Inputs and outputs of layover.h by their names, their types, and lists of params. */
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

/* ---- types ---- */

static Error *take_type(const Port *port, LayoverType *out) {
    *out = (LayoverType){.rank = -1};
    if (!port) return NULL;
    if (port->form != PORT_TENSOR && port->form != PORT_OPTIONAL)
        FAIL(UNSUPPORTED, "%s is a %s", port->name, port_form_name(port->form));
    if (port->dtype != DTYPE_NONE) {
        out->dtype.lanes = 1;
        if (!dtype_to_dlpack(port->dtype, &out->dtype.code, &out->dtype.bits))
            FAIL(UNSUPPORTED, "%s is a tensor of %s, which DLPack does not have", port->name,
                dtype_name(port->dtype));
    }
    if (!port->rank_known) return NULL;
    out->rank = (int32_t)port->shape.rank;
    memcpy(out->dims, port->shape.dims, sizeof port->shape.dims);
    return NULL;
}

static Error *input_type(
    const LayoverModel *model, const char *function, uint32_t index, LayoverType *out) {
    uint32_t found_index;
    const Function *found;
    TRY(find_function(model, function, &found_index, &found));
    if (index >= found->parameter_count)
        FAIL(INVALID, "input %u of %s, which has %u", index, function, found->parameter_count);
    return take_type(found->parameters ? &found->parameters[index] : NULL, out);
}

static Error *output_type(
    const LayoverModel *model, const char *function, uint32_t index, LayoverType *out) {
    uint32_t found_index;
    const Function *found;
    TRY(find_function(model, function, &found_index, &found));
    if (index >= found->result_count)
        FAIL(INVALID, "output %u of %s, which has %u", index, function, found->result_count);
    return take_type(&found->results[index], out);
}

LayoverError *layover_model_input_type(
    const LayoverModel *model, const char *function, uint32_t index, LayoverType *out_type) {
    return library_error(input_type(model, function, index, out_type));
}

LayoverError *layover_model_output_type(
    const LayoverModel *model, const char *function, uint32_t index, LayoverType *out_type) {
    return library_error(output_type(model, function, index, out_type));
}

/* ---- names ---- */

static Error *find_output(
    const LayoverModel *model, const char *function, const char *name, uint32_t *out_index) {
    uint32_t index;
    const Function *found;
    TextBuilder OWN_TEXT(known) = {0};
    TRY(find_function(model, function, &index, &found));
    for (uint32_t i = 0; i < found->result_count; i++) {
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
