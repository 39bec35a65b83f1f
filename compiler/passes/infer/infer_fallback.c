#include "compiler/passes/infer/infer_fallback.h"

#include "base/allocator.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/planning/pointwise_program.h"

/* Guesses type and rank without the values that the rule reads. False: both are unknown. */
static bool guess_rank(
    const ProbeContext *context, const IrBinding *binding, DType *out_dtype, uint32_t *out_rank) {
    OperatorId id = binding->operator_info->id;
    if (binding->result_count != 1 || binding->operand_count == 0) return false;
    const Probe *first = probe_of_operand(context, binding, 0);
    const Probe *second = binding->operand_count > 1 ? probe_of_operand(context, binding, 1) : NULL;
    if (!first || first->state != PROBE_KNOWN) return false;
    *out_dtype = first->dtype;
    *out_rank = first->rank;
    if (id == OPERATOR_SLICE || id == OPERATOR_PAD || id == OPERATOR_TILE) return true;
    if (id == OPERATOR_RANGE) {
        *out_rank = 1;
        return true;
    }
    const Probe *shape = id == OPERATOR_CONSTANT_OF_SHAPE ? first : second;
    if (id == OPERATOR_CONSTANT_OF_SHAPE) {
        const Tensor *value = attributes_tensor(binding->attributes, "value");
        *out_dtype = value ? value->dtype : DTYPE_FLOAT32;
    } else if (id != OPERATOR_RESHAPE && id != OPERATOR_EXPAND) {
        return false;
    }
    if (!shape || shape->state != PROBE_KNOWN || shape->rank != 1) return false;
    if (!probe_dim_is_fixed(shape, 0)) return false;
    int64_t rank = shape->dims[0][0];
    if (rank < 0 || rank > SHAPE_RANK_MAX) return false;
    if (id == OPERATOR_EXPAND && first->rank > rank) rank = first->rank;
    *out_rank = (uint32_t)rank;
    return true;
}

/* The size of dimension i from the right in a world, or 1 beyond the rank. */
static int64_t dim_from_right(const Probe *probe, uint32_t world, uint32_t i) {
    return i < probe->rank ? probe->dims[world][probe->rank - 1 - i] : 1;
}

/* One dimension of a broadcast whose inputs disagree in some world: the fixed size if an input has
 * one, since other sizes must then be 1; otherwise a symbol. */
static Error *broadcast_dim(
    ProbeContext *context, const IrBinding *binding, uint32_t i, Probe *out) {
    const Probe *chosen = NULL;
    bool conflict = false, chosen_fixed = false;
    for (uint32_t k = 0; k < binding->operand_count; k++) {
        const Probe *probe = probe_of_operand(context, binding, k);
        if (!probe) continue;
        bool one = true, fixed = true, same = chosen != NULL;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
            int64_t dim = dim_from_right(probe, w, i);
            one = one && dim == 1;
            fixed = fixed && dim == dim_from_right(probe, 0, i);
            same = same && dim == dim_from_right(chosen, w, i);
        }
        if (one || same) continue;
        conflict = conflict || chosen;
        if (!chosen || (fixed && !chosen_fixed)) {
            chosen = probe;
            chosen_fixed = fixed;
        }
    }
    uint32_t at = out->rank - 1 - i;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++)
        out->dims[w][at] = chosen ? dim_from_right(chosen, w, i) : 1;
    if (conflict && !chosen_fixed) return probe_set_fresh(context, binding->results[0], out, at);
    return NULL;
}

/* The element type of an elementwise operator, from its rule on scalars; NONE if the rule
 * refuses. */
static Error *scalar_dtype(const ProbeContext *context, const IrBinding *binding, DType *out) {
    void *block;
    TRY(memory_alloc(PLAN_INPUTS_MAX, sizeof(TensorSpec), &block));
    TensorSpec *specs = block;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        specs[i].present = probe != NULL;
        specs[i].dtype = probe ? probe->dtype : DTYPE_NONE;
    }
    PlanRequest request = {.operator_info = binding->operator_info,
        .attributes = binding->attributes,
        .input_count = binding->operand_count,
        .output_count = 1,
        .inputs = specs};
    Error *error = operator_infer(&request);
    memory_free(specs);
    *out = DTYPE_NONE;
    if (error && error_code(error) == ERROR_OUT_OF_MEMORY) return error;
    if (!error) *out = request.outputs[0].dtype;
    error_free(error); /* a run with such types will report the error */
    return NULL;
}

/* Elementwise operators whose inputs fit only for some sizes. */
static Error *infer_elementwise(ProbeContext *context, const IrBinding *binding, bool *out_done) {
    *out_done = false;
    if (!pointwise_program_takes(binding->operator_info->id) || binding->result_count != 1 ||
        binding->operand_count > PLAN_INPUTS_MAX)
        return NULL;
    Probe result = {.state = PROBE_KNOWN, .kind = IR_TYPE_TENSOR, .shape_tainted = true};
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (!probe) continue;
        if (probe->state != PROBE_KNOWN || probe->kind != IR_TYPE_TENSOR) return NULL;
        if (probe->rank > result.rank) result.rank = probe->rank;
    }
    TRY(scalar_dtype(context, binding, &result.dtype));
    if (result.dtype == DTYPE_NONE) return NULL;
    for (uint32_t i = 0; i < result.rank; i++) TRY(broadcast_dim(context, binding, i, &result));
    probe_set(probe_of(context, binding->results[0]), &result);
    *out_done = true;
    return NULL;
}

/* Products of matrices whose stacks fit, or whose depths agree, only for some sizes. */
static Error *infer_product(ProbeContext *context, const IrBinding *binding, bool *out_done) {
    *out_done = false;
    if (binding->operator_info->id != OPERATOR_MATMUL || binding->operand_count != 2) return NULL;
    const Probe *left = probe_of_operand(context, binding, 0),
                *right = probe_of_operand(context, binding, 1);
    if (!left || !right || left->state != PROBE_KNOWN || right->state != PROBE_KNOWN) return NULL;
    if (left->rank < 2 || right->rank < 2 || left->dtype != right->dtype) return NULL;
    Probe result = {.state = PROBE_KNOWN,
        .kind = IR_TYPE_TENSOR,
        .dtype = left->dtype,
        .rank = left->rank > right->rank ? left->rank : right->rank,
        .shape_tainted = true,
        .guessed = true};
    for (uint32_t i = 2; i < result.rank; i++) TRY(broadcast_dim(context, binding, i, &result));
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        result.dims[w][result.rank - 1] = dim_from_right(right, w, 0);
        result.dims[w][result.rank - 2] = dim_from_right(left, w, 1);
    }
    probe_set(probe_of(context, binding->results[0]), &result);
    *out_done = true;
    return NULL;
}

/* A dimension of parts that are joined along another one: all have the same size in every run that
 * succeeds. It is the fixed size if a part has one; otherwise a symbol. */
static Error *joined_dim(ProbeContext *context, const IrBinding *binding, uint32_t d, Probe *out) {
    const Probe *chosen = probe_of_operand(context, binding, 0);
    bool same = true;
    for (uint32_t i = 1; i < binding->operand_count; i++) {
        const Probe *part = probe_of_operand(context, binding, i);
        for (uint32_t w = 0; w < PROBE_WORLDS; w++)
            same = same && part->dims[w][d] == chosen->dims[w][d];
        if (probe_dim_is_fixed(part, d) && !probe_dim_is_fixed(chosen, d)) chosen = part;
    }
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) out->dims[w][d] = chosen->dims[w][d];
    if (same || probe_dim_is_fixed(chosen, d)) return NULL;
    return probe_set_fresh(context, binding->results[0], out, d);
}

/* Joins whose parts fit only for some sizes, such as an enlarged image and the one that was made
 * smaller before. */
static Error *infer_join(ProbeContext *context, const IrBinding *binding, bool *out_done) {
    *out_done = false;
    if (binding->operator_info->id != OPERATOR_CONCAT || binding->operand_count == 0) return NULL;
    const Probe *first = probe_of_operand(context, binding, 0);
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *part = probe_of_operand(context, binding, i);
        if (!part || part->state != PROBE_KNOWN || part->kind != IR_TYPE_TENSOR) return NULL;
        if (part->rank != first->rank || part->dtype != first->dtype) return NULL;
    }
    int64_t axis = attributes_int(binding->attributes, "axis");
    if (axis < 0) axis += first->rank;
    if (axis < 0 || axis >= first->rank) return NULL;
    Probe result = {.state = PROBE_KNOWN,
        .kind = IR_TYPE_TENSOR,
        .dtype = first->dtype,
        .rank = first->rank,
        .shape_tainted = true,
        .guessed = true};
    for (uint32_t d = 0; d < result.rank; d++) {
        if (d != axis) TRY(joined_dim(context, binding, d, &result));
        for (uint32_t i = 0; d == axis && i < binding->operand_count; i++)
            for (uint32_t w = 0; w < PROBE_WORLDS; w++)
                if (__builtin_add_overflow(result.dims[w][d],
                        probe_of_operand(context, binding, i)->dims[w][d], &result.dims[w][d]))
                    return NULL;
    }
    probe_set(probe_of(context, binding->results[0]), &result);
    *out_done = true;
    return NULL;
}

/* Operators whose only result has the shape of their first input, and whose other inputs fit it
 * only for some sizes. */
static bool keeps_shape(const ProbeContext *context, const IrBinding *binding) {
    static const OperatorId kept[] = {OPERATOR_ROTARY_EMBEDDING, OPERATOR_LAYER_NORMALIZATION,
        OPERATOR_RMS_NORMALIZATION, OPERATOR_GROUP_NORMALIZATION, OPERATOR_INSTANCE_NORMALIZATION,
        OPERATOR_BATCH_NORMALIZATION};
    const Probe *first = binding->operand_count > 0 ? probe_of_operand(context, binding, 0) : NULL;
    if (!first || first->state != PROBE_KNOWN || binding->result_count != 1) return false;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (kept[i] == binding->operator_info->id) return true;
    return false;
}

static void infer_kept_shape(ProbeContext *context, const IrBinding *binding) {
    Probe result = *probe_of_operand(context, binding, 0);
    result.has_value = result.value_tainted = result.shape_limited = false;
    result.shape_tainted = result.guessed = true;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) result.values[w] = NULL;
    probe_set(probe_of(context, binding->results[0]), &result);
}

/* Operators whose first result has the element type of their first input. */
static bool keeps_dtype(OperatorId id) {
    static const OperatorId kept[] = {OPERATOR_CONCAT, OPERATOR_SLICE, OPERATOR_RESHAPE,
        OPERATOR_TRANSPOSE, OPERATOR_GATHER, OPERATOR_GATHER_ND, OPERATOR_GATHER_ELEMENTS,
        OPERATOR_SQUEEZE, OPERATOR_UNSQUEEZE, OPERATOR_FLATTEN, OPERATOR_EXPAND, OPERATOR_TILE,
        OPERATOR_PAD, OPERATOR_SPLIT, OPERATOR_MATMUL, OPERATOR_GEMM, OPERATOR_CONV,
        OPERATOR_SOFTMAX, OPERATOR_LOG_SOFTMAX, OPERATOR_LAYER_NORMALIZATION, OPERATOR_REDUCE_SUM,
        OPERATOR_REDUCE_MEAN, OPERATOR_REDUCE_MAX, OPERATOR_REDUCE_MIN, OPERATOR_SCATTER_ND,
        OPERATOR_SCATTER_ELEMENTS, OPERATOR_CUM_SUM, OPERATOR_TOP_K, OPERATOR_COMPRESS,
        OPERATOR_UNIQUE};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (kept[i] == id) return true;
    return false;
}

/* The first result's element type, which may be known although its shape is not. */
static Error *known_dtype(const ProbeContext *context, const IrBinding *binding, DType *out) {
    *out = DTYPE_NONE;
    if (binding->operand_count == 0 || binding->operand_count > PLAN_INPUTS_MAX) return NULL;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (probe && probe->kind != IR_TYPE_TENSOR) return NULL;
    }
    const Probe *first = probe_of_operand(context, binding, 0);
    if (keeps_dtype(binding->operator_info->id)) *out = first ? first->dtype : DTYPE_NONE;
    if (!pointwise_program_takes(binding->operator_info->id)) return NULL;
    return scalar_dtype(context, binding, out);
}

bool infer_fallback_drops_ones(const IrBinding *binding) {
    return binding->operator_info->id == OPERATOR_SQUEEZE &&
           (binding->operand_count < 2 || !binding->operands[1]);
}

/* For operators whose rule gives no answer: the rank if it is certain, otherwise the declared
 * type. */
Error *infer_fallback_run(ProbeContext *context, const IrBinding *binding) {
    DType dtype;
    uint32_t rank;
    bool done;
    TRY(infer_elementwise(context, binding, &done));
    if (!done) TRY(infer_product(context, binding, &done));
    if (!done) TRY(infer_join(context, binding, &done));
    if (done) return NULL;
    if (keeps_shape(context, binding)) {
        infer_kept_shape(context, binding);
        return NULL;
    }
    for (uint32_t o = 0; o < binding->result_count; o++) {
        const IrVariable *variable = binding->results[o];
        IrType type = variable->type;
        if (type.kind == IR_TYPE_UNKNOWN) type = ir_type_tensor(DTYPE_NONE);
        /* the declared rank of such a result may hold for some sizes only */
        if (infer_fallback_drops_ones(binding)) type = ir_type_tensor(type.dtype);
        if (o == 0 && type.dtype == DTYPE_NONE) TRY(known_dtype(context, binding, &type.dtype));
        if (o == 0 && guess_rank(context, binding, &dtype, &rank)) {
            bool fits = type.rank_known && type.rank == rank && type.dtype == dtype;
            int64_t dims[SHAPE_RANK_MAX];
            for (uint32_t i = 0; i < SHAPE_RANK_MAX; i++)
                dims[i] = fits ? type.dims[i] : IR_DIM_UNKNOWN;
            type = ir_type_shaped(dtype, rank, dims);
        }
        Probe *probe = probe_of(context, variable);
        TRY(probe_from_type(context, variable, &type, probe));
        probe->shape_tainted = true;
    }
    return NULL;
}
