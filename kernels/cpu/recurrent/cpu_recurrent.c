#include "kernels/cpu/recurrent/cpu_recurrent.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_layouts.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/operator/operator_lower.h"
#include "kernels/scalar/scalar_hyperbolic.h"

/* ---- activations that are not operators themselves ---- */

#define DEFINE_ACTIVATION(name, T, expression)                                                     \
    static void name(                                                                              \
        void *out, const CpuOperand *operands, int64_t count, const CpuParameters *parameters) {   \
        const T alpha = (T)parameters->alpha, beta = (T)parameters->beta;                          \
        const T *from = operands->data;                                                            \
        T *to = out;                                                                               \
        (void)alpha, (void)beta;                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const T x = from[i];                                                                   \
            to[i] = (expression);                                                                  \
        }                                                                                          \
    }
DEFINE_ACTIVATION(affine_f32, float, scalar_canonical_f32(alpha *x + beta))
DEFINE_ACTIVATION(affine_f64, double, scalar_canonical_f64(alpha *x + beta))
DEFINE_ACTIVATION(scaled_tanh_f32, float, scalar_canonical_f32(alpha *scalar_tanh_f32(beta *x)))
DEFINE_ACTIVATION(scaled_tanh_f64, double, scalar_canonical_f64(alpha *scalar_tanh_f64(beta *x)))
/* the operator of that name takes `>` */
DEFINE_ACTIVATION(thresholded_relu_f32, float, x >= alpha ? x : 0.0f)
DEFINE_ACTIVATION(thresholded_relu_f64, double, x >= alpha ? x : 0.0)

typedef struct ActivationName {
    const char *name;
    CpuLoopId loop; /* CPU_LOOP_COUNT: loop_f32 and loop_f64 instead */
    CpuLoop *loop_f32, *loop_f64;
    bool takes_alpha, takes_beta;
    double alpha, beta; /* defaults */
} ActivationName;

static const ActivationName activation_names[] = {
    {"Sigmoid", CPU_LOOP_SIGMOID, NULL, NULL, false, false, 0, 0},
    {"Tanh", CPU_LOOP_TANH, NULL, NULL, false, false, 0, 0},
    {"Relu", CPU_LOOP_RELU, NULL, NULL, false, false, 0, 0},
    {"LeakyRelu", CPU_LOOP_LEAKY_RELU, NULL, NULL, true, false, 0.01, 0},
    {"Elu", CPU_LOOP_ELU, NULL, NULL, true, false, 1, 0},
    {"HardSigmoid", CPU_LOOP_HARD_SIGMOID, NULL, NULL, true, true, 0.2, 0.5},
    {"Softplus", CPU_LOOP_SOFTPLUS, NULL, NULL, false, false, 0, 0},
    {"Softsign", CPU_LOOP_SOFTSIGN, NULL, NULL, false, false, 0, 0},
    {"Affine", CPU_LOOP_COUNT, affine_f32, affine_f64, true, true, 1, 0},
    {"ScaledTanh", CPU_LOOP_COUNT, scaled_tanh_f32, scaled_tanh_f64, true, true, 1, 1},
    {"ThresholdedRelu", CPU_LOOP_COUNT, thresholded_relu_f32, thresholded_relu_f64, true, false, 1,
        0},
};

/* The unused ends of the lists activation_alpha and activation_beta: each activation with a
 * parameter takes one element. */
typedef struct ParameterLists {
    const double *alpha, *beta;
    uint32_t alpha_count, beta_count;
} ParameterLists;

static CpuLoop *loop_of(const ActivationName *known, CpuLevel level, DType dtype) {
    if (known->loop != CPU_LOOP_COUNT) return cpu_loop_find(level, known->loop, dtype);
    return dtype == DTYPE_FLOAT64 ? known->loop_f64 : known->loop_f32;
}

static Error *activation_named(const char *name, CpuLevel level, DType dtype,
    ParameterLists *inout_lists, CpuRecurrentActivation *out) {
    for (size_t i = 0; i < sizeof activation_names / sizeof activation_names[0]; i++) {
        const ActivationName *known = &activation_names[i];
        if (strcasecmp(known->name, name) != 0) continue;
        out->parameters = (CpuParameters){known->alpha, known->beta};
        if (known->takes_alpha && inout_lists->alpha_count > 0) {
            out->parameters.alpha = *inout_lists->alpha++;
            inout_lists->alpha_count--;
        }
        if (known->takes_beta && inout_lists->beta_count > 0) {
            out->parameters.beta = *inout_lists->beta++;
            inout_lists->beta_count--;
        }
        out->id = known->loop;
        out->loop = loop_of(known, level, dtype);
        return NULL;
    }
    FAIL(UNSUPPORTED, "activation \"%.40s\"", name);
}

static Error *read_activations(const Attributes *attributes, CpuLevel level, DType dtype,
    const char *const *defaults, CpuRecurrent *recurrent) {
    ParameterLists lists = {0};
    lists.alpha = attributes_floats(attributes, "activation_alpha", &lists.alpha_count);
    lists.beta = attributes_floats(attributes, "activation_beta", &lists.beta_count);
    const bool given = attributes_has(attributes, "activations");
    for (uint32_t d = 0; d < recurrent->directions; d++)
        for (uint32_t i = 0; i < recurrent->activation_count; i++) {
            const char *name = given ? attributes_string_at(attributes, "activations",
                                           d * recurrent->activation_count + i)
                                     : defaults[i];
            if (!name) FAIL(INVALID, "activations has too few names");
            TRY(activation_named(name, level, dtype, &lists, &recurrent->activations[d][i]));
        }
    return NULL;
}

/* ---- a request ---- */

typedef struct Kind {
    OperatorId operator_id;
    int64_t gates;
    uint32_t activation_count;
    const char *activations[CPU_RECURRENT_ACTIVATIONS_MAX];
} Kind;

static const Kind kinds[] = {
    {OPERATOR_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}},
    {OPERATOR_GRU, 3, 2, {"Sigmoid", "Tanh"}},
    {OPERATOR_RNN, 1, 1, {"Tanh"}},
    {OPERATOR_DYNAMIC_QUANTIZE_LSTM, 4, 3, {"Sigmoid", "Tanh", "Tanh"}},
};

static const Kind *kind_of(OperatorId operator_id) {
    const Kind *kind = kinds;
    while (kind->operator_id != operator_id) kind++;
    return kind;
}

/* Attributes and operands of LSTM or GRU alone. */
static void read_own(const PlanRequest *request, OperatorId operator_id, CpuRecurrent *recurrent) {
    const Attributes *attributes = request->attributes;
    recurrent->joined_gates = recurrent->first_gates = recurrent->gates;
    if (operator_id == OPERATOR_LSTM || operator_id == OPERATOR_DYNAMIC_QUANTIZE_LSTM) {
        recurrent->has_c = plan_request_has(request, 6);
        recurrent->has_peepholes = plan_request_has(request, 7);
        recurrent->input_forget = attributes_int(attributes, "input_forget") != 0;
    }
    if (operator_id != OPERATOR_GRU) return;
    if (attributes_int(attributes, "linear_before_reset") != 0)
        recurrent->joined_gates = 2;
    else
        recurrent->first_gates = 2;
}

static void read_clip(
    const Attributes *attributes, CpuLevel level, DType dtype, CpuRecurrent *recurrent) {
    if (!attributes_has(attributes, "clip")) return;
    recurrent->clip_limits[1] = (float)attributes_float(attributes, "clip");
    recurrent->clip_limits[0] = -recurrent->clip_limits[1];
    if (recurrent->clip_limits[1] > 0)
        recurrent->clip_loop = cpu_loop_find(level, CPU_LOOP_CLIP, dtype);
}

Error *cpu_recurrent_of(
    const PlanRequest *request, CpuLevel level, DType dtype, CpuRecurrent *out) {
    const Attributes *attributes = request->attributes;
    const Shape *x = &request->inputs[0].shape, *states = &request->inputs[2].shape;
    const Kind *kind = kind_of(operator_lower_of(request->operator_info->id));
    const bool in_bytes = kind->operator_id == OPERATOR_DYNAMIC_QUANTIZE_LSTM;
    CpuRecurrent recurrent = {
        .name = request->operator_info->name,
        .batch_first = attributes_int(attributes, "layout") != 0,
        .input = x->dims[2],
        .hidden = states->dims[in_bytes ? 1 : 2],
        .directions = states->dims[0],
        .gates = kind->gates,
        .activation_count = kind->activation_count,
        .reverse_only = strcmp(attributes_text(attributes, "direction"), "reverse") == 0,
        .has_bias = plan_request_has(request, 3),
        .has_lengths = plan_request_has(request, 4),
        .has_h = plan_request_has(request, 5),
        .in_bytes = in_bytes,
    };
    recurrent.length = x->dims[recurrent.batch_first ? 1 : 0];
    recurrent.batch = x->dims[recurrent.batch_first ? 0 : 1];
    read_own(request, kind->operator_id, &recurrent);
    for (uint32_t i = 0; i < 2; i++)
        recurrent.packed[i] = request->inputs[i + 1].layout == CPU_LAYOUT_PANELS;
    recurrent.packed_bfloat16 = request->inputs[2].layout == CPU_LAYOUT_PANELS_BFLOAT16;
    for (uint32_t i = 0; i < 3; i++)
        recurrent.wanted[i] = i < request->output_count && request->outputs[i].present;
    read_clip(attributes, level, dtype, &recurrent);
    TRY(read_activations(attributes, level, dtype, kind->activations, &recurrent));
    *out = recurrent;
    return NULL;
}

/* ---- places of rows ---- */

int64_t cpu_recurrent_time_row(const CpuRecurrent *recurrent, int64_t t, int64_t n) {
    return recurrent->batch_first ? n * recurrent->length + t : t * recurrent->batch + n;
}

int64_t cpu_recurrent_output_row(
    const CpuRecurrent *recurrent, int64_t t, int64_t direction, int64_t n) {
    if (recurrent->batch_first)
        return (n * recurrent->length + t) * recurrent->directions + direction;
    return (t * recurrent->directions + direction) * recurrent->batch + n;
}

int64_t cpu_recurrent_state_row(const CpuRecurrent *recurrent, int64_t direction, int64_t n) {
    return recurrent->batch_first ? n * recurrent->directions + direction
                                  : direction * recurrent->batch + n;
}

Error *cpu_recurrent_lengths(const CpuRecurrent *recurrent, const void *given, int32_t *out) {
    /* volatile: another process may rewrite shared memory */
    const volatile int32_t *lengths = given;
    for (int64_t n = 0; n < recurrent->batch; n++) {
        const int32_t length = given ? lengths[n] : (int32_t)recurrent->length;
        if (length < 0 || length > recurrent->length)
            FAIL(INVALID, "%s: sequence_lens[%" PRId64 "] is %" PRId32 " of %" PRId64,
                recurrent->name, n, length, recurrent->length);
        out[n] = length;
    }
    return NULL;
}

void cpu_recurrent_activate(const CpuRecurrentActivation *activation, float *row, int64_t count) {
    const CpuOperand operand = {row, 1};
    activation->loop(row, &operand, count, &activation->parameters);
}

void cpu_recurrent_clip(const CpuRecurrent *recurrent, float *row, int64_t count) {
    const CpuOperand operands[3] = {
        {row, 1}, {&recurrent->clip_limits[0], 0}, {&recurrent->clip_limits[1], 0}};
    const CpuParameters none = {0};
    if (recurrent->clip_loop) recurrent->clip_loop(row, operands, count, &none);
}
