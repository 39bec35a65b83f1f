/* RNN of float32 and, through float32, of float16 and bfloat16. */
#include "kernels/cpu/recurrent/cpu_recurrent.h"

static void run_cell(const CpuCellCall *call) {
    const CpuRecurrent *rnn = call->recurrent;
    rnn->rows.add(call->gates, call->products, call->count, call->h);
    cpu_recurrent_clip(rnn, call->h, call->count);
    cpu_recurrent_activate(&call->activations[0], call->h, call->count);
}

static CpuCell *const cells[2] = {run_cell, NULL};

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return cpu_recurrent_plan(device, level, "cpu.rnn", request, cells, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return cpu_recurrent_plan(device, CPU_LEVEL_PORTABLE, "cpu.rnn_portable", request, cells, out);
}

const Kernel cpu_rnn[] = {
    {OPERATOR_RNN, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.rnn", 0},
    {OPERATOR_RNN, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.rnn_portable", KERNEL_PORTABLE},
    {OPERATOR_RNN_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_fast, "cpu.rnn", 0},
    {OPERATOR_RNN_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_portable, "cpu.rnn_portable",
        KERNEL_PORTABLE},
    KERNELS_END,
};
