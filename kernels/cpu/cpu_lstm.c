/* LSTM of float32 and, through float32, of float16 and bfloat16: one matrix product for all inputs,
 * one for each step. */
#include "kernels/cpu/cpu_lstm.h"

#include <string.h>
#include <strings.h>

#include "kernels/cpu/cpu_pack.h"

typedef struct ActivationName {
    const char *name;
    CpuLoopId loop;
    bool takes_alpha, takes_beta;
    double alpha, beta; /* when not given */
} ActivationName;

static const ActivationName activation_names[] = {
    {"Sigmoid", CPU_LOOP_SIGMOID, false, false, 0, 0},
    {"Tanh", CPU_LOOP_TANH, false, false, 0, 0},
    {"Relu", CPU_LOOP_RELU, false, false, 0, 0},
    {"LeakyRelu", CPU_LOOP_LEAKY_RELU, true, false, 0.01, 0},
    {"Elu", CPU_LOOP_ELU, true, false, 1, 0},
    {"HardSigmoid", CPU_LOOP_HARD_SIGMOID, true, true, 0.2, 0.5},
    {"Softplus", CPU_LOOP_SOFTPLUS, false, false, 0, 0},
};

/* What is left of the lists activation_alpha and activation_beta: each activation that takes a
 * parameter uses one up. */
typedef struct ParameterLists {
    const double *alpha, *beta;
    uint32_t alpha_count, beta_count;
} ParameterLists;

static Error *activation_named(
    const char *name, CpuLevel level, ParameterLists *inout_lists, CpuLstmActivation *out) {
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
        out->loop = cpu_loop_find(level, known->loop, DTYPE_FLOAT32);
        return NULL;
    }
    FAIL(UNSUPPORTED, "activation \"%.40s\"", name);
}

static Error *read_activations(const Attributes *attributes, CpuLevel level, CpuLstm *lstm) {
    static const char *const defaults[3] = {"Sigmoid", "Tanh", "Tanh"};
    ParameterLists lists = {0};
    lists.alpha = attributes_floats(attributes, "activation_alpha", &lists.alpha_count);
    lists.beta = attributes_floats(attributes, "activation_beta", &lists.beta_count);
    const bool given = attributes_has(attributes, "activations");
    for (uint32_t d = 0; d < lstm->directions; d++)
        for (uint32_t i = 0; i < 3; i++) {
            const char *name =
                given ? attributes_string_at(attributes, "activations", d * 3 + i) : defaults[i];
            if (!name) FAIL(INVALID, "activations has too few names");
            TRY(activation_named(name, level, &lists, &lstm->activations[d][i]));
        }
    return NULL;
}

Error *cpu_lstm_of(const PlanRequest *request, CpuLevel level, CpuLstm *out) {
    const Attributes *attributes = request->attributes;
    const Shape *x = &request->inputs[0].shape, *recurrent = &request->inputs[2].shape;
    CpuLstm lstm = {
        .batch_first = attributes_int(attributes, "layout") != 0,
        .input = x->dims[2],
        .hidden = recurrent->dims[2],
        .directions = recurrent->dims[0],
        .reverse_only = strcmp(attributes_text(attributes, "direction"), "reverse") == 0,
        .has_bias = plan_request_has(request, 3),
        .has_lengths = plan_request_has(request, 4),
        .has_h = plan_request_has(request, 5),
        .has_c = plan_request_has(request, 6),
        .has_peepholes = plan_request_has(request, 7),
        .input_forget = attributes_int(attributes, "input_forget") != 0,
    };
    lstm.length = x->dims[lstm.batch_first ? 1 : 0];
    lstm.batch = x->dims[lstm.batch_first ? 0 : 1];
    for (uint32_t i = 0; i < 2; i++)
        lstm.packed[i] = request->inputs[i + 1].layout == CPU_LAYOUT_PANELS;
    for (uint32_t i = 0; i < 3; i++)
        lstm.wanted[i] = i < request->output_count && request->outputs[i].present;
    if (attributes_has(attributes, "clip")) {
        lstm.clip_limits[1] = (float)attributes_float(attributes, "clip");
        lstm.clip_limits[0] = -lstm.clip_limits[1];
        if (lstm.clip_limits[1] > 0)
            lstm.clip_loop = cpu_loop_find(level, CPU_LOOP_CLIP, DTYPE_FLOAT32);
    }
    TRY(read_activations(attributes, level, &lstm));
    cpu_lstm_prepare(&lstm, level);
    *out = lstm;
    return NULL;
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    CpuLstm lstm;
    TRY(cpu_lstm_of(request, level, &lstm));
    void *state;
    TRY(cpu_float_plan_create(device, request, name, sizeof(CpuLstm), cpu_lstm_run, out, &state));
    *(CpuLstm *)state = lstm;
    cpu_float_plan_set_workspace(*out, (uint64_t)cpu_lstm_workspace_count(&lstm) * sizeof(float));
    return NULL;
}

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.lstm", request, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.lstm_portable", request, out);
}

const Kernel cpu_lstm[] = {
    {OPERATOR_LSTM, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.lstm", 0},
    {OPERATOR_LSTM, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.lstm_portable", KERNEL_PORTABLE},
    KERNELS_END,
};
