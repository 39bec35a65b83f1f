#include "compiler/passes/infer/infer_operator.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "compiler/passes/evaluate.h"
#include "compiler/passes/infer/infer_fallback.h"
#include "compiler/passes/infer/infer_limits.h"
#include "compiler/passes/infer/infer_values.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/operator/plan.h"

typedef struct ProbeScratch {
    PlanRequest request;
    TensorSpec specs[PLAN_INPUTS_MAX];
    const void *values[PLAN_INPUTS_MAX];
    Tensor *tensors[PLAN_INPUTS_MAX];
    Probe results[PLAN_OUTPUTS_MAX];
    Shape far[PLAN_OUTPUTS_MAX]; /* shapes of the results for much larger sizes, if far_known */
    bool far_known;
    bool waits;         /* the rule's refusal is reported later */
    bool bounds_vary;   /* a slice's bounds depend on the sizes */
    uint32_t open_dims; /* of a slice, by bit: the dimension's length depends on the sizes */
} ProbeScratch;

/* Fills the request with the shapes and values of one world. */
static void fill_request(
    const ProbeContext *context, const IrBinding *binding, uint32_t world, ProbeScratch *scratch) {
    scratch->request.operator_info = binding->operator_info;
    scratch->request.attributes = binding->attributes;
    scratch->request.input_count = binding->operand_count;
    scratch->request.output_count = binding->result_count;
    scratch->request.inputs = scratch->specs;
    scratch->request.values = scratch->values;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        scratch->specs[i] = (TensorSpec){0};
        scratch->values[i] = NULL;
        scratch->tensors[i] = NULL;
        if (!probe) continue;
        scratch->specs[i].present = true;
        scratch->specs[i].dtype = probe->dtype;
        scratch->specs[i].shape = shape_make(probe->rank, probe->dims[world]);
        scratch->tensors[i] = probe->values[world];
        if (operator_reads_value(binding->operator_info, i) && probe->values[world])
            scratch->values[i] = tensor_data(probe->values[world]);
    }
}

static bool is_symbolic(const Probe *probe) {
    for (uint32_t d = 0; d < probe->rank; d++)
        if (!probe_dim_is_fixed(probe, d)) return true;
    return false;
}

/* True when every run of the program runs the operator with the same shapes. */
static bool is_certain(const ProbeContext *context, const IrBinding *binding) {
    const IrBlock *block = binding->block;
    if (block->parent || !block->function->exported) return false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (!probe) continue;
        if (probe->shape_tainted) return false;
        if (is_symbolic(probe)) return false;
        if (!operator_reads_value(binding->operator_info, i)) continue;
        if (!probe_is_constant(probe) || probe->value_tainted) return false;
    }
    return true;
}

/* A perm for another rank fits no sizes. */
static bool never_fits(const ProbeContext *context, const IrBinding *binding) {
    const IrBlock *block = binding->block;
    uint32_t count;
    if (binding->operator_info->id != OPERATOR_TRANSPOSE || binding->operand_count == 0)
        return false;
    const Probe *probe = probe_of_operand(context, binding, 0);
    if (block->parent || !block->function->exported || !probe || probe->shape_tainted) return false;
    return attributes_ints(binding->attributes, "perm", &count) && count != probe->rank;
}

/* Asks the rule about the request. False: the rule refuses it. Errors: OUT_OF_MEMORY only. */
static Error *ask_rule(ProbeScratch *scratch, bool *out_answers) {
    Error *error = operator_infer(&scratch->request);
    *out_answers = !error;
    if (!error || error_code(error) == ERROR_OUT_OF_MEMORY) return error;
    error_free(error);
    return NULL;
}

/* Handles a rule's error. Returns errors that occur in every run, if shapes are settled, and frees
 * the others. */
static Error *refused(ProbeContext *context, const IrBinding *binding, Error *owned_error) {
    bool every_run = is_certain(context, binding) || never_fits(context, binding);
    if (error_code(owned_error) == ERROR_OUT_OF_MEMORY || (every_run && context->settled))
        return owned_error;
    error_free(owned_error); /* a run with such sizes will report the error */
    if (every_run) context->postponed = context->scratch->waits = true;
    return NULL;
}

/* Asks the rule in all worlds. *out_known false: the rule refused in one of them. Errors: as of
 * `refused`. */
static Error *run_rule(
    ProbeContext *context, const IrBinding *binding, ProbeScratch *scratch, bool *out_known) {
    scratch->waits = false;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        fill_request(context, binding, w, scratch);
        Error *error = operator_infer(&scratch->request);
        if (error) {
            *out_known = false;
            return refused(context, binding, error);
        }
        for (uint32_t o = 0; o < binding->result_count; o++) {
            const TensorSpec *output = &scratch->request.outputs[o];
            Probe *result = &scratch->results[o];
            if (w > 0 && (result->rank != output->shape.rank || result->dtype != output->dtype)) {
                *out_known = false;
                return NULL;
            }
            result->state = PROBE_KNOWN;
            result->kind = IR_TYPE_TENSOR;
            result->dtype = output->dtype;
            result->rank = output->shape.rank;
            memcpy(result->dims[w], output->shape.dims, sizeof result->dims[w]);
        }
    }
    *out_known = true;
    return NULL;
}

/* Strides and scales divide sizes, and may make the same number of all small sizes. So the rule is
 * asked once more with each symbolic dimension so many times as long. */
enum { FAR_TIMES = 1000 };

static Error *run_rule_far(
    const ProbeContext *context, const IrBinding *binding, ProbeScratch *scratch) {
    bool symbolic = false;
    scratch->far_known = false;
    fill_request(context, binding, 0, scratch);
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (!probe) continue;
        /* a value that depends on the sizes is wrong for other sizes */
        if (operator_reads_value(binding->operator_info, i) && !probe_is_constant(probe))
            return NULL;
        int64_t *dims = scratch->specs[i].shape.dims;
        for (uint32_t d = 0; d < probe->rank; d++) {
            if (probe_dim_is_fixed(probe, d)) continue;
            symbolic = true;
            if (__builtin_mul_overflow(dims[d], FAR_TIMES, &dims[d])) return NULL;
        }
    }
    if (!symbolic) return NULL;
    /* refused: these sizes do not fit each other, or are too large */
    TRY(ask_rule(scratch, &scratch->far_known));
    for (uint32_t o = 0; scratch->far_known && o < binding->result_count; o++)
        scratch->far[o] = scratch->request.outputs[o].shape;
    return NULL;
}

static bool same_sizes(const Probe *a, uint32_t a_dim, const Probe *b, uint32_t b_dim) {
    for (uint32_t w = 0; w < PROBE_WORLDS; w++)
        if (a->dims[w][a_dim] != b->dims[w][b_dim]) return false;
    return true;
}

/* True when a dimension that is the same in all worlds, or equal to an input's, is so for the
 * larger sizes, too. */
static bool holds_far(const ProbeContext *context, const IrBinding *binding, const Probe *result,
    uint32_t dim, int64_t far) {
    if (probe_dim_is_fixed(result, dim)) return far == result->dims[0][dim];
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        for (uint32_t d = 0; probe && d < probe->rank; d++)
            if (same_sizes(probe, d, result, dim)) return far == probe->dims[0][d] * FAR_TIMES;
    }
    return true;
}

static bool dim_is_one(const Probe *probe, uint32_t dim) {
    return probe->dims[0][dim] == 1 && probe_dim_is_fixed(probe, dim);
}

/* True when the element that a slice takes of a symbolic dimension may not exist for some sizes.
 * The first and the last element are missing only in an empty dimension. */
static Error *element_may_lack(const ProbeContext *context, const IrBinding *binding, uint32_t dim,
    ProbeScratch *scratch, bool *out) {
    fill_request(context, binding, 0, scratch);
    scratch->specs[0].shape.dims[dim] = 1;
    bool answers;
    TRY(ask_rule(scratch, &answers));
    *out = !answers || scratch->request.outputs[0].shape.dims[dim] != 1;
    return NULL;
}

static bool slice_bounds_vary(const ProbeContext *context, const IrBinding *binding) {
    if (binding->operator_info->id != OPERATOR_SLICE) return false;
    for (uint32_t i = 1; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (probe && !probe_is_constant(probe)) return true;
    }
    return false;
}

/* Finds dimensions of a slice with symbolic bounds whose length depends on the sizes. A length that
 * is equal in all worlds counts only if a much longer dimension gives the same length, or is taken
 * whole: otherwise the slice may be cut off, its bounds may count from different ends, or these
 * sizes may be in this order by chance. */
static Error *find_open_dims(
    const ProbeContext *context, const IrBinding *binding, ProbeScratch *scratch) {
    const Probe *result = &scratch->results[0];
    scratch->open_dims = 0;
    scratch->bounds_vary = slice_bounds_vary(context, binding);
    for (uint32_t w = 0; scratch->bounds_vary && w < PROBE_WORLDS; w++) {
        fill_request(context, binding, w, scratch);
        Shape *shape = &scratch->specs[0].shape;
        for (uint32_t i = 0; i < shape->rank; i++)
            if (__builtin_mul_overflow(shape->dims[i], FAR_TIMES, &shape->dims[i])) return NULL;
        bool answers; /* false for sizes that are too large */
        TRY(ask_rule(scratch, &answers));
        for (uint32_t i = 0; answers && i < result->rank; i++) {
            const int64_t length = scratch->request.outputs[0].shape.dims[i];
            const bool same = length > 0 && length == result->dims[w][i];
            if (!same && length != shape->dims[i]) scratch->open_dims |= 1u << i;
        }
    }
    return NULL;
}

/* True when a slice of a fixed dimension has a symbolic length, which larger sizes cut off, or when
 * a slice of a symbolic dimension takes an element that smaller sizes lack. */
static Error *slice_has_limit(const ProbeContext *context, const IrBinding *binding,
    const Probe *result, ProbeScratch *scratch, bool *out) {
    *out = false;
    if (binding->operator_info->id != OPERATOR_SLICE) return NULL;
    const Probe *input = probe_of_operand(context, binding, 0);
    for (uint32_t i = 0; !*out && i < result->rank; i++) {
        if (probe_dim_is_fixed(input, i))
            *out = !probe_dim_is_fixed(result, i);
        else if (dim_is_one(result, i))
            TRY(element_may_lack(context, binding, i, scratch, out));
    }
    return NULL;
}

/* True when a range may be empty for smaller sizes. */
static bool range_has_limit(
    const ProbeContext *context, const IrBinding *binding, const Probe *result) {
    if (binding->operator_info->id != OPERATOR_RANGE || probe_dim_is_fixed(result, 0)) return false;
    return !probe_is_sum(context, result, 0);
}

/* False when a range's length is equal in all worlds only because its steps are wide: limit - start
 * differs between worlds. */
static bool range_is_settled(const ProbeContext *context, const IrBinding *binding) {
    double reach[PROBE_WORLDS];
    if (binding->operator_info->id != OPERATOR_RANGE) return true;
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        double values[2];
        for (uint32_t i = 0; i < 2; i++) {
            const Tensor *value = probe_of_operand(context, binding, i)->values[w];
            if (!value || !dtype_scalar_read(value->dtype, tensor_data(value), &values[i]))
                return true; /* without the values, the rule has not found the length */
        }
        reach[w] = values[1] - values[0];
        if (reach[w] != reach[0]) return false;
    }
    return true;
}

/* Makes symbols of dimensions that are equal in all worlds but may not be for all sizes: of a slice
 * that ends inside a symbolic dimension, of a rest that wide strides leave, and of anything that
 * follows from a tainted value. A length of one element stays, since it is one or none. */
static Error *unsettle(ProbeContext *context, const IrBinding *binding, uint32_t output,
    const ProbeScratch *scratch, Probe *inout_result) {
    bool slices = binding->operator_info->id == OPERATOR_SLICE, tainted = false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (probe && operator_reads_value(binding->operator_info, i) && probe->value_tainted)
            tainted = true;
    }
    const Probe *input = slices ? probe_of_operand(context, binding, 0) : NULL;
    const Shape *far = scratch->far_known ? &scratch->far[output] : NULL;
    for (uint32_t i = 0; i < inout_result->rank; i++) {
        bool same = true, unknown = false;
        for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
            int64_t dim = inout_result->dims[w][i];
            same = same && slices && input->dims[w][i] == dim;
            unknown = unknown || dim < 0; /* shape kind `data` */
        }
        bool cut = slices && !same && !probe_dim_is_fixed(input, i) && !dim_is_one(inout_result, i);
        bool wide = far && !unknown && !holds_far(context, binding, inout_result, i, far->dims[i]);
        if (probe_dim_is_fixed(inout_result, i))
            wide = wide || !range_is_settled(context, binding) || (scratch->open_dims >> i & 1);
        if (cut || tainted || unknown || wide)
            TRY(probe_set_fresh(context, binding->results[output], inout_result, i));
    }
    return NULL;
}

/* Collects the taints of the inputs' shapes. */
static void add_input_taints(
    const ProbeContext *context, const IrBinding *binding, Probe *inout_result) {
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (!probe || !probe->shape_tainted) continue;
        inout_result->shape_limited =
            probe->shape_limited && (inout_result->shape_limited || !inout_result->shape_tainted);
        inout_result->shape_tainted = true;
    }
}

/* Sets the taints of a result's shape. */
static Error *taint(
    ProbeContext *context, const IrBinding *binding, ProbeScratch *scratch, Probe *inout_result) {
    bool cut;
    TRY(slice_has_limit(context, binding, inout_result, scratch, &cut));
    inout_result->shape_tainted =
        cut || scratch->bounds_vary || range_has_limit(context, binding, inout_result);
    inout_result->shape_limited =
        inout_result->shape_tainted && infer_limits_of_slice(context, binding);
    add_input_taints(context, binding, inout_result);
    if (inout_result->shape_limited && infer_limits_are_lifted(context, binding, inout_result))
        inout_result->shape_tainted = inout_result->shape_limited = false;
    return NULL;
}

static bool result_is_small(const Probe *result) {
    for (uint32_t w = 0; w < PROBE_WORLDS; w++) {
        Shape shape = shape_make(result->rank, result->dims[w]);
        if (shape_count_unchecked(&shape) > PROBE_VALUE_COUNT_MAX) return false;
    }
    return true;
}

static bool values_are_known(
    const ProbeContext *context, const IrBinding *binding, const ProbeScratch *scratch) {
    if (binding->operand_count == 0 || binding->operator_info->shape_from_data) return false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (probe && !probe->has_value) return false;
    }
    for (uint32_t o = 0; o < binding->result_count; o++)
        if (!result_is_small(&scratch->results[o])) return false;
    return true;
}

/* Computes the operator's small values in each world, only once if they are equal in all. */
static Error *run_values(ProbeContext *context, const IrBinding *binding, ProbeScratch *scratch) {
    enum { BYTES_MAX = 1 << 16 };
    Tensor *outputs[PLAN_OUTPUTS_MAX];
    bool same = true;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        for (uint32_t w = 1; probe && w < PROBE_WORLDS; w++)
            same = same && probe->values[w] == probe->values[0];
    }
    bool done = true;
    for (uint32_t w = 0; done && w < PROBE_WORLDS; w++) {
        if (w == 0 || !same) {
            fill_request(context, binding, w, scratch);
            TRY(evaluate_operator(context->portable, binding->operator_info, binding->attributes,
                binding->operand_count, scratch->tensors, binding->result_count, BYTES_MAX, outputs,
                &done));
        }
        for (uint32_t o = 0; done && o < binding->result_count; o++) {
            Probe *result = &scratch->results[o];
            result->values[w] = w == 0 || !same ? outputs[o] : tensor_retain(result->values[0]);
        }
    }
    const bool tainted = infer_values_are_tainted(context, binding);
    for (uint32_t o = 0; o < binding->result_count; o++) {
        Probe *result = &scratch->results[o];
        result->has_value = done;
        result->value_tainted = done && tainted;
        for (uint32_t w = 0; !done && w < PROBE_WORLDS; w++) {
            tensor_release(result->values[w]);
            result->values[w] = NULL;
        }
    }
    return NULL;
}

/* True for a Squeeze without axes and an input with a symbolic dimension, which may be 1 and then
 * dropped. */
static bool rank_is_open(const ProbeContext *context, const IrBinding *binding) {
    if (!infer_fallback_drops_ones(binding)) return false;
    const Probe *input = probe_of_operand(context, binding, 0);
    return input && is_symbolic(input);
}

static Error *infer(ProbeContext *context, const IrBinding *binding) {
    ProbeScratch *scratch = context->scratch;
    bool known;
    TRY(run_rule(context, binding, scratch, &known));
    if (scratch->waits) return NULL; /* the operator was not reached yet */
    if (!known || rank_is_open(context, binding)) return infer_fallback_run(context, binding);
    TRY(run_rule_far(context, binding, scratch));
    TRY(find_open_dims(context, binding, scratch));
    for (uint32_t o = 0; o < binding->result_count; o++) {
        Probe *result = &scratch->results[o];
        TRY(taint(context, binding, scratch, result));
        TRY(unsettle(context, binding, o, scratch, result));
    }
    if (values_are_known(context, binding, scratch)) TRY(run_values(context, binding, scratch));
    for (uint32_t o = 0; o < binding->result_count; o++)
        probe_set(probe_of(context, binding->results[o]), &scratch->results[o]);
    return NULL;
}

Error *infer_operator_run(ProbeContext *context, const IrBinding *binding) {
    if (!context->scratch) {
        void *block;
        TRY(memory_alloc(1, sizeof(ProbeScratch), &block));
        context->scratch = block;
    }
    bool top = false;
    for (uint32_t i = 0; i < binding->operand_count; i++) {
        const Probe *probe = probe_of_operand(context, binding, i);
        if (!probe) continue;
        if (probe->state == PROBE_BOTTOM) return NULL; /* the operator was not reached yet */
        if (probe->state == PROBE_TOP || probe->kind != IR_TYPE_TENSOR) top = true;
    }
    if (top) return infer_fallback_run(context, binding);
    Error *error = infer(context, binding);
    for (uint32_t o = 0; o < binding->result_count; o++) probe_clear(&context->scratch->results[o]);
    return error;
}
