/* LSTM of float32 and, through float32, of float16 and bfloat16; also with weights in bytes. ONNX's
 * gate order: input, output, forget, cell. */
#include <string.h>

#include "kernels/cpu/recurrent/cpu_recurrent.h"

/* No more than most LSTMs have. */
static bool is_plain(const CpuCellCall *call) {
    const CpuRecurrentActivation *activations = call->activations;
    const CpuRecurrent *lstm = call->recurrent;
    return activations[0].id == CPU_LOOP_SIGMOID && activations[1].id == CPU_LOOP_TANH &&
           activations[2].id == CPU_LOOP_TANH && !call->peepholes && !lstm->clip_loop &&
           !lstm->input_forget;
}

static void run_cell(const CpuCellCall *call) {
    const CpuRecurrent *lstm = call->recurrent;
    if (is_plain(call)) {
        lstm->lstm_loop(&(CpuLstmRow){
            call->gates, call->products, lstm->hidden, call->count, call->c, call->h});
        return;
    }
    const CpuRecurrentRows *rows = &lstm->rows;
    const CpuRecurrentActivation *activations = call->activations;
    const int64_t hidden = lstm->hidden, count = call->count;
    float *input = call->gates, *output = input + hidden, *forget = input + 2 * hidden;
    float *update = input + 3 * hidden;
    for (int64_t gate = 0; gate < 4; gate++) {
        float *to = call->gates + gate * hidden;
        rows->add(to, call->products + gate * hidden, count, to);
    }
    if (call->peepholes) {
        rows->multiply_add(call->peepholes, call->c, count, input);
        rows->multiply_add(call->peepholes + 2 * hidden, call->c, count, forget);
    }
    cpu_recurrent_clip(lstm, input, count);
    cpu_recurrent_clip(lstm, forget, count);
    cpu_recurrent_clip(lstm, update, count);
    cpu_recurrent_activate(&activations[0], input, count);
    cpu_recurrent_activate(&activations[0], forget, count);
    cpu_recurrent_activate(&activations[1], update, count);
    if (lstm->input_forget)
        for (int64_t i = 0; i < count; i++) forget[i] = 1.0f - input[i];
    rows->combine(forget, input, update, count, call->c);
    if (call->peepholes) rows->multiply_add(call->peepholes + hidden, call->c, count, output);
    cpu_recurrent_clip(lstm, output, count);
    cpu_recurrent_activate(&activations[0], output, count);
    memcpy(update, call->c, (size_t)count * sizeof(float));
    cpu_recurrent_activate(&activations[2], update, count);
    rows->multiply(output, update, count, call->h);
}

static CpuCell *const cells[2] = {run_cell, NULL};

static Error *plan_fast(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return cpu_recurrent_plan(device, level, "cpu.lstm", request, cells, out);
}

static Error *plan_portable(Device *device, const PlanRequest *request, Plan **out) {
    return cpu_recurrent_plan(device, CPU_LEVEL_PORTABLE, "cpu.lstm_portable", request, cells, out);
}

const Kernel cpu_lstm[] = {
    {OPERATOR_LSTM, DTYPES_FLOAT32_AND_HALF, plan_fast, "cpu.lstm", 0},
    {OPERATOR_LSTM, DTYPES_FLOAT32_AND_HALF, plan_portable, "cpu.lstm_portable", KERNEL_PORTABLE},
    {OPERATOR_LSTM_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_fast, "cpu.lstm", 0},
    {OPERATOR_LSTM_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_portable, "cpu.lstm_portable",
        KERNEL_PORTABLE},
    {OPERATOR_DYNAMIC_QUANTIZE_LSTM, DTYPE_BIT(DTYPE_FLOAT32), plan_fast, "cpu.lstm", 0},
    {OPERATOR_DYNAMIC_QUANTIZE_LSTM, DTYPE_BIT(DTYPE_FLOAT32), plan_portable, "cpu.lstm_portable",
        KERNEL_PORTABLE},
    KERNELS_END,
};
