#include "compiler/passes/infer/infer_values.h"

#include <limits.h>
#include <math.h>

#include "kernels/tensor/dtype_scalar.h"

/* True when a cast keeps polynomials: the source values are whole numbers or the target is a float,
 * and the target is wide. */
static bool cast_is_exact(const ProbeContext *context, const IrBinding *binding) {
    const DTypeSet wide = DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64) |
                          DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT64);
    const DType to = attributes_dtype(binding->attributes, "to");
    const Probe *input = probe_of_operand(context, binding, 0);
    if (!dtype_in(wide, to)) return false;
    if (dtype_is_float(to) || !dtype_is_float(input->dtype)) return true;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        const Tensor *values = input->values[w];
        const uint64_t count = (uint64_t)shape_count_unchecked(&values->shape);
        const uint8_t *at = tensor_data(values);
        double value;
        for (uint64_t i = 0; i < count; i++, at += dtype_bits(input->dtype) / CHAR_BIT)
            if (!dtype_scalar_read(input->dtype, at, &value) || value != rint(value)) return false;
    }
    return true;
}

bool infer_values_read(const Probe *probe, uint32_t world, uint64_t index, int64_t *out) {
    const Tensor *values = probe->values[world];
    const uint8_t *at = tensor_data(values);
    double value;
    if (values->dtype != DTYPE_INT64 && values->dtype != DTYPE_INT32) return false;
    if (!dtype_scalar_read(
            values->dtype, at + index * dtype_bits(values->dtype) / CHAR_BIT, &value))
        return false;
    *out = (int64_t)value;
    return true;
}

static uint64_t value_count(const Probe *probe) {
    return (uint64_t)shape_count_unchecked(&probe->values[0]->shape);
}

static bool is_negative(const Probe *probe) {
    int64_t number;
    if (!probe_is_constant(probe)) return false;
    for (uint64_t i = 0, count = value_count(probe); i < count; i++)
        if (!infer_values_read(probe, 0, i, &number) || number >= 0) return false;
    return true;
}

bool infer_values_are_sizes(const ProbeContext *context, const Probe *probe) {
    for (uint64_t i = 0, count = value_count(probe); i < count; i++) {
        int64_t numbers[PROBE_WORLDS];
        bool fixed = true;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
            if (value_count(probe) != (uint64_t)shape_count_unchecked(&probe->values[w]->shape) ||
                !infer_values_read(probe, w, i, &numbers[w]))
                return false;
            fixed = fixed && numbers[w] == numbers[0];
        }
        if (!fixed && !probe_sizes_are_sum(context, numbers)) return false;
    }
    return true;
}

/* True when sizes are compared with negative numbers, which they never are: exporters write so that
 * a -1 in the shape of an Expand stands for the size that is there. */
static bool comparison_is_settled(const ProbeContext *context, const IrBinding *binding) {
    for (uint32_t i = 0; i < 2; i++) {
        const Probe *numbers = probe_of_operand(context, binding, i);
        const Probe *sizes = probe_of_operand(context, binding, 1 - i);
        if (numbers && sizes && is_negative(numbers) && infer_values_are_sizes(context, sizes))
            return true;
    }
    return false;
}

/* VALUES_POLYNOMIAL: the values are polynomials of the inputs' elements, so values that are equal
 * for a few sizes are equal for all. VALUES_MOVED: the same, if inputs 1 and up, which say where to
 * read, are fixed. VALUES_CHOSEN: the same, if input 0, which says what to take, is fixed.
 * VALUES_CUT: none of these. */
typedef enum ValueKind { VALUES_CUT, VALUES_POLYNOMIAL, VALUES_MOVED, VALUES_CHOSEN } ValueKind;

static ValueKind value_kind(const ProbeContext *context, const IrBinding *binding) {
    static const OperatorId polynomial[] = {OPERATOR_ADD, OPERATOR_SUB, OPERATOR_MUL, OPERATOR_NEG,
        OPERATOR_SUM, OPERATOR_CONCAT, OPERATOR_IDENTITY, OPERATOR_TRANSPOSE, OPERATOR_FLATTEN};
    static const OperatorId moved[] = {OPERATOR_RESHAPE, OPERATOR_SQUEEZE, OPERATOR_UNSQUEEZE,
        OPERATOR_GATHER, OPERATOR_SLICE, OPERATOR_SPLIT, OPERATOR_EXPAND, OPERATOR_TILE,
        OPERATOR_REDUCE_SUM, OPERATOR_REDUCE_PROD, OPERATOR_GATHER_ELEMENTS};
    OperatorId id = binding->operator_info->id;
    if (id == OPERATOR_CAST)
        return cast_is_exact(context, binding) ? VALUES_POLYNOMIAL : VALUES_CUT;
    if (id == OPERATOR_WHERE) return VALUES_CHOSEN;
    if (id == OPERATOR_EQUAL)
        return comparison_is_settled(context, binding) ? VALUES_POLYNOMIAL : VALUES_CUT;
    for (size_t i = 0; i < sizeof polynomial / sizeof polynomial[0]; i++)
        if (polynomial[i] == id) return VALUES_POLYNOMIAL;
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++)
        if (moved[i] == id) return VALUES_MOVED;
    return VALUES_CUT;
}

bool infer_values_are_tainted(const ProbeContext *context, const IrBinding *binding) {
    ValueKind kind = value_kind(context, binding);
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (!probe) continue;
        if (probe->value_tainted || probe->shape_tainted) return true;
        if (kind == VALUES_CUT || (kind == VALUES_MOVED && i > 0) ||
            (kind == VALUES_CHOSEN && i == 0))
            if (!probe_is_constant(probe)) return true;
    }
    return false;
}
