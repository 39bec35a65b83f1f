#include "kernels/shape_rules/operator_infer.h"

#include <string.h>

#include "kernels/shape_rules/shape_rules.h"

Error *(*const operator_rules[OPERATOR_COUNT])(PlanRequest *request) = {
#define OPERATOR(id, name, version, inputs, outputs, attributes, rule, kind, purity, in_place,     \
    tolerance, expansion)                                                                          \
    [OPERATOR_##id] = shape_rule_##rule,
#include "kernels/operator/operators.def"
#undef OPERATOR
};

static Error *check_values(const PlanRequest *request, uint32_t index) {
    const OperatorInfo *info = request->operator_info;
    const TensorSpec *input = &request->inputs[index];
    if (!operator_reads_value(info, index)) return NULL;
    int64_t count;
    TRY(shape_count(&input->shape, &count));
    if (count > 0 && (!request->values || !request->values[index]))
        FAIL(INVALID, "the value of input %u is not known", index);
    if (count > 0 && dtype_bits(input->dtype) < 8)
        FAIL(UNSUPPORTED, "input %u: %s cannot be read as values", index, dtype_name(input->dtype));
    return NULL;
}

static Error *check_inputs(const PlanRequest *request) {
    const OperatorInfo *info = request->operator_info;
    if (request->input_count < info->inputs_min || request->input_count > info->inputs_max ||
        request->input_count > PLAN_INPUTS_MAX)
        FAIL(INVALID, "%u inputs", request->input_count);
    if (request->output_count < info->outputs_min || request->output_count > info->outputs_max ||
        request->output_count > PLAN_OUTPUTS_MAX)
        FAIL(INVALID, "%u outputs", request->output_count);
    for (uint32_t i = 0; i < request->input_count; i++) {
        const TensorSpec *input = &request->inputs[i];
        bool needed = i < info->inputs_min || info->inputs_max == UINT32_MAX;
        if (!input->present && needed) FAIL(INVALID, "input %u is missing", i);
        if (!input->present) continue;
        if (!dtype_is_known(input->dtype)) FAIL(INVALID, "input %u has no element type", i);
        int64_t count;
        TRY_WRAP(shape_count(&input->shape, &count), "input %u", i);
        TRY(check_values(request, i));
    }
    return NULL;
}

/* A rule checks that each dimension stays below 2^62; this function checks the whole output. */
static Error *check_outputs(const PlanRequest *request) {
    for (uint32_t i = 0; i < request->output_count; i++) {
        const TensorSpec *output = &request->outputs[i];
        if (!output->present) continue;
        Shape known = output->shape;
        for (uint32_t d = 0; d < known.rank && d < SHAPE_RANK_MAX; d++)
            if (request->operator_info->shape_from_data && known.dims[d] == -1) known.dims[d] = 1;
        uint64_t bytes;
        int64_t count;
        if (output->dtype == DTYPE_STRING)
            TRY_WRAP(shape_count(&known, &count), "output %u", i);
        else
            TRY_WRAP(shape_bytes(&known, output->dtype, &bytes), "output %u", i);
    }
    return NULL;
}

Error *operator_infer(PlanRequest *request) {
    const OperatorInfo *info = request->operator_info;
    TRY_WRAP(check_inputs(request), "%s", info->name);
    memset(request->outputs, 0, request->output_count * sizeof request->outputs[0]);
    TRY_WRAP(info->infer(request), "%s", info->name);
    TRY_WRAP(check_outputs(request), "%s", info->name);
    return NULL;
}
