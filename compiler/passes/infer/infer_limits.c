#include "compiler/passes/infer/infer_limits.h"

#include "compiler/passes/infer/infer_values.h"
#include "kernels/planning/pointwise_program.h"

enum { STARTS = 1, ENDS = 2, AXES = 3, STEPS = 4, SLICE_INPUTS = 5 };

static bool is_number(const Probe *probe, int64_t wanted) {
    if (!probe_is_constant(probe)) return false;
    const uint64_t count = (uint64_t)shape_count_unchecked(&probe->values[0]->shape);
    for (uint64_t i = 0; i < count; i++) {
        int64_t number;
        if (!infer_values_read(probe, 0, i, &number) || number != wanted) return false;
    }
    return true;
}

bool infer_limits_of_slice(const ProbeContext *context, const IrBinding *binding) {
    if (binding->operator_info->id != OPERATOR_SLICE) return false;
    const Probe *const inputs[SLICE_INPUTS] = {probe_of_operand(context, binding, 0),
        probe_of_operand(context, binding, STARTS), probe_of_operand(context, binding, ENDS),
        probe_of_operand(context, binding, AXES), probe_of_operand(context, binding, STEPS)};
    for (uint32_t i = STARTS; i < SLICE_INPUTS; i++)
        if (inputs[i] && (!inputs[i]->has_value || inputs[i]->value_tainted)) return false;
    if (!inputs[0] || !inputs[STARTS] || !inputs[ENDS] || !inputs[AXES]) return false;
    if (!is_number(inputs[STARTS], 0) || (inputs[STEPS] && !is_number(inputs[STEPS], 1)))
        return false;
    if (!probe_is_constant(inputs[AXES]) || !infer_values_are_sizes(context, inputs[ENDS]))
        return false;
    const uint64_t count = (uint64_t)shape_count_unchecked(&inputs[AXES]->values[0]->shape);
    for (uint64_t i = 0; i < count; i++) {
        int64_t axis;
        if (!infer_values_read(inputs[AXES], 0, i, &axis)) return false;
        if (axis < 0) axis += inputs[0]->rank;
        if (axis < 0 || axis >= inputs[0]->rank) return false;
        if (!probe_dim_is_fixed(inputs[0], (uint32_t)axis)) return false;
        if (inputs[0]->dims[0][axis] < 1) return false;
    }
    return true;
}

static bool has_dim(const Probe *probe, const Probe *result, uint32_t from_right) {
    if (from_right >= probe->rank) return false;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++)
        if (probe->dims[w][probe->rank - 1 - from_right] !=
            result->dims[w][result->rank - 1 - from_right])
            return false;
    return true;
}

bool infer_limits_are_lifted(
    const ProbeContext *context, const IrBinding *binding, const Probe *result) {
    if (!pointwise_program_takes(binding->operator_info->id)) return false;
    for (uint32_t d = 0; d < result->rank; d++) {
        bool found = false;
        for (uint32_t i = 0; !found && i < binding->operand_count; i++) {
            const Probe *probe = probe_of_operand(context, binding, i);
            found = probe && !probe->shape_tainted && has_dim(probe, result, d);
        }
        if (!found) return false;
    }
    return true;
}
