#include "kernels/shape_rules/operator_cost.h"

#include "kernels/shape_rules/shape_rules.h"

static double count_of(const TensorSpec *spec) {
    double count = spec->present ? 1 : 0;
    for (uint32_t i = 0; i < spec->shape.rank; i++) count *= (double)spec->shape.dims[i];
    return count;
}

static double bytes_of(const TensorSpec *spec) {
    return count_of(spec) * dtype_bits(spec->dtype) / 8;
}

/* Counted from the last; 1 where there is none. */
static double dim_from_end(const TensorSpec *spec, uint32_t from_end) {
    const Shape *shape = &spec->shape;
    return shape->rank < from_end ? 1 : (double)shape->dims[shape->rank - from_end];
}

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static bool has(const OperatorCall *call, uint32_t index) {
    return index < call->input_count && call->inputs[index].present;
}

static double elements(const OperatorCall *call) {
    double most = 0;
    for (uint32_t i = 0; i < call->input_count + call->output_count; i++) {
        const double count = count_of(
            i < call->input_count ? &call->inputs[i] : &call->outputs[i - call->input_count]);
        if (count > most) most = count;
    }
    return most;
}

/* ---- operations, a function for each cost of operator_cost.def ---- */

/* K is the dimension of A beside M; A may be transposed. */
static double product(const OperatorCall *call, uint32_t other) {
    const TensorSpec *a = &call->inputs[0], *result = &call->outputs[0];
    if (!has(call, other)) return 0;
    double depth = dim_from_end(a, 1);
    if (call->inputs[other].shape.rank > 1 && a->shape.rank > 1)
        depth = ratio(depth * dim_from_end(a, 2), dim_from_end(result, 2));
    return 2 * count_of(result) * depth;
}

static double per_filter(const OperatorCall *call, uint32_t other) {
    if (!has(call, other) || call->inputs[other].shape.rank == 0) return 0;
    return ratio(count_of(&call->inputs[other]), (double)call->inputs[other].shape.dims[0]);
}

static double convolution(const OperatorCall *call, uint32_t other) {
    return 2 * count_of(&call->outputs[0]) * per_filter(call, other);
}

static double scattering(const OperatorCall *call, uint32_t other) {
    return 2 * count_of(&call->inputs[0]) * per_filter(call, other);
}

static double recurrent(const OperatorCall *call, uint32_t other) {
    const TensorSpec *x = &call->inputs[0];
    if (!has(call, other + 1)) return 0;
    const double weights = count_of(&call->inputs[other]) + count_of(&call->inputs[other + 1]);
    return 2 * ratio(count_of(x), dim_from_end(x, 1)) * weights;
}

static double fused_keys(const OperatorCall *call, const TensorSpec *k) {
    if (attributes_int(call->attributes, "key_rows_first") && k->shape.rank > 0)
        return (double)k->shape.dims[0];
    return dim_from_end(k, attributes_int(call->attributes, "transposed_key") ? 1 : 2);
}

/* [B, H, S, D] or [B, S, H D]. Past keys (input 4) stand before the new ones. */
static double attention(const OperatorCall *call, uint32_t other) {
    if (!has(call, other)) return 0;
    const TensorSpec *k = &call->inputs[other];
    const bool fused = call->operator_info->infer == shape_rule_fused_attention;
    double keys = fused ? fused_keys(call, k) : dim_from_end(k, 2);
    if (!fused && has(call, 4)) keys += dim_from_end(&call->inputs[4], 2);
    return 2 * keys * (count_of(&call->inputs[0]) + count_of(&call->outputs[0]));
}

/* Upper bound: no query sees more than all keys. */
static double paged(const OperatorCall *call, uint32_t other) {
    return 2 * dim_from_end(&call->inputs[other], 1) *
           (count_of(&call->inputs[0]) + count_of(&call->outputs[0]));
}

/* The elements that are written into a large tensor. */
static double updating(const OperatorCall *call, uint32_t other) {
    return has(call, other) ? count_of(&call->inputs[other]) : 0;
}

static double window(const OperatorCall *call, uint32_t other) {
    (void)other;
    uint32_t count;
    const int64_t *kernel = attributes_ints(call->attributes, "kernel_shape", &count);
    double positions = count_of(&call->outputs[0]);
    if (count == 0) return elements(call);
    for (uint32_t i = 0; i < count; i++) positions *= (double)kernel[i];
    return positions;
}

static double program(const OperatorCall *call, uint32_t other) {
    (void)other;
    double steps = 1;
    for (const char *at = attributes_text(call->attributes, "program"); *at; at++)
        steps += *at == ';';
    return steps * count_of(&call->outputs[0]);
}

static double moving(const OperatorCall *call, uint32_t other) {
    (void)call;
    (void)other;
    return 0;
}

static double picking(const OperatorCall *call, uint32_t other) { return moving(call, other); }

/* ---- the table ---- */

typedef struct CostRow {
    Error *(*rule)(PlanRequest *request);
    double (*operations)(const OperatorCall *call, uint32_t other);
    uint32_t other;
} CostRow;

static const CostRow rows[] = {
#define COST(rule, cost, other) {shape_rule_##rule, cost, other},
#include "kernels/shape_rules/operator_cost.def"
#undef COST
};

static const CostRow *row_of(const OperatorInfo *info) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].rule == info->infer) return &rows[i];
    return NULL;
}

static double bytes(const OperatorCall *call, bool picks) {
    double sum = 0, written = 0;
    for (uint32_t i = 0; i < call->output_count; i++) written += bytes_of(&call->outputs[i]);
    for (uint32_t i = picks; i < call->input_count; i++)
        if (!operator_reads_value(call->operator_info, i)) sum += bytes_of(&call->inputs[i]);
    return sum + (picks ? 2 : 1) * written;
}

OperatorCost operator_cost(const OperatorCall *call) {
    const CostRow *row = row_of(call->operator_info);
    const bool picks = row && row->operations == picking;
    return (OperatorCost){
        .operations = row ? row->operations(call, row->other) : elements(call),
        .bytes = bytes(call, picks),
    };
}
