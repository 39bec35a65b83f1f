/* GRU of float32 and, through float32, of float16 and bfloat16. ONNX's gate order: update, reset,
 * hidden. If the state is reset before it is multiplied, the hidden gate has a second product after
 * that of the other two. */
#include "kernels/cpu/recurrent/cpu_recurrent.h"

/* Update and reset. */
static void run_gates(const CpuCellCall *call) {
    const CpuRecurrent *gru = call->recurrent;
    for (int64_t gate = 0; gate < 2; gate++) {
        float *to = call->gates + gate * gru->hidden;
        gru->rows.add(to, call->products + gate * gru->hidden, call->count, to);
        cpu_recurrent_clip(gru, to, call->count);
        cpu_recurrent_activate(&call->activations[0], to, call->count);
    }
}

/* The gate holds the candidate before its activation. */
static void finish(const CpuCellCall *call) {
    const CpuRecurrent *gru = call->recurrent;
    float *candidate = call->gates + 2 * gru->hidden;
    cpu_recurrent_clip(gru, candidate, call->count);
    cpu_recurrent_activate(&call->activations[1], candidate, call->count);
    gru->rows.blend(call->gates, candidate, call->count, call->h);
}

static void run_linear_before_reset(const CpuCellCall *call) {
    const CpuRecurrent *gru = call->recurrent;
    const int64_t hidden = gru->hidden, count = call->count;
    float *product = call->products + 2 * hidden;
    run_gates(call);
    if (call->state_bias) gru->rows.add(product, call->state_bias + 2 * hidden, count, product);
    gru->rows.multiply_add(call->gates + hidden, product, count, call->gates + 2 * hidden);
    finish(call);
}

static void run_reset(const CpuCellCall *call) {
    const CpuRecurrent *gru = call->recurrent;
    run_gates(call);
    gru->rows.multiply(call->gates + gru->hidden, call->h, call->count, call->reset);
}

static void run_candidate(const CpuCellCall *call) {
    const CpuRecurrent *gru = call->recurrent;
    float *candidate = call->gates + 2 * gru->hidden;
    gru->rows.add(candidate, call->candidate, call->count, candidate);
    finish(call);
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    static CpuCell *const reset_first[2] = {run_reset, run_candidate};
    static CpuCell *const linear_first[2] = {run_linear_before_reset, NULL};
    const bool linear = attributes_int(request->attributes, "linear_before_reset") != 0;
    return cpu_recurrent_plan(
        device, level, name, request, linear ? linear_first : reset_first, out);
}

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.gru", request, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.gru_portable", request, out);
}

const Kernel cpu_gru[] = {
    {OPERATOR_GRU, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.gru", 0},
    {OPERATOR_GRU, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.gru_portable", KERNEL_PORTABLE},
    {OPERATOR_GRU_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_fast, "cpu.gru", 0},
    {OPERATOR_GRU_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_portable, "cpu.gru_portable",
        KERNEL_PORTABLE},
    KERNELS_END,
};
