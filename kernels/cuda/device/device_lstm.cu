/* The steps of an LSTM, after the product of its inputs: gates, cell, output. */
#include "kernels/cuda/device/device_step.h"

DEVICE_CALL float lstm_activate(const CudaLstmActivation *activation, float x) {
    const float alpha = activation->alpha, beta = activation->beta;
    switch (activation->op) {
    case CUDA_POINTWISE_RELU:
        return scalar_relu_f32(x);
    case CUDA_POINTWISE_LEAKY_RELU:
        return scalar_leaky_relu_f32(x, alpha);
    case CUDA_POINTWISE_HARD_SIGMOID:
        return scalar_hard_sigmoid_f32(x, alpha, beta);
    default:
        return step_long_f32(activation->op, x, 0, alpha, beta);
    }
}

/* The gate's sum of element n at row `row` of the inputs. */
DEVICE float lstm_gate(const CudaLstmParams *p, int64_t row, int64_t n, int64_t at) {
    const int64_t width = 4 * p->hidden;
    float x = ((const float *)(uintptr_t)p->gates)[row * width + at];
    if (p->bias) {
        const float *bias = (const float *)(uintptr_t)p->bias;
        x += bias[at] + bias[width + at];
    }
    return x + ((const float *)(uintptr_t)p->recurrent)[n * width + at];
}

DEVICE float lstm_clip(const CudaLstmParams *p, float x) {
    return p->clips ? scalar_clip_f32(x, -p->clip, p->clip) : x;
}

DEVICE float lstm_peephole(const CudaLstmParams *p, int64_t at, float c) {
    return p->peepholes ? ((const float *)(uintptr_t)p->peepholes)[at] * c : 0;
}

/* The new hidden state. */
DEVICE float lstm_cell(const CudaLstmParams *p, int64_t row, int64_t n, int64_t j) {
    float *c = (float *)(uintptr_t)p->c + n * p->hidden + j;
    const int64_t hidden = p->hidden;
    float input = lstm_gate(p, row, n, j), output = lstm_gate(p, row, n, hidden + j);
    float forget = lstm_gate(p, row, n, 2 * hidden + j);
    float update = lstm_gate(p, row, n, 3 * hidden + j);
    input = lstm_clip(p, input + lstm_peephole(p, j, *c));
    forget = lstm_clip(p, forget + lstm_peephole(p, 2 * hidden + j, *c));
    input = lstm_activate(&p->activations[0], input);
    forget = lstm_activate(&p->activations[0], forget);
    update = lstm_activate(&p->activations[1], lstm_clip(p, update));
    if (p->input_forget) forget = 1.0f - input;
    *c = forget * *c + input * update;
    output = lstm_clip(p, output + lstm_peephole(p, hidden + j, *c));
    return lstm_activate(&p->activations[0], output) * lstm_activate(&p->activations[2], *c);
}

KERNEL(layover_lstm_step, CudaLstmParams) {
    THREADS(t) {
        EACH_UNIT(i, t, (uint64_t)(p.batch * p.hidden)) {
            const int64_t n = (int64_t)i / p.hidden, j = (int64_t)i % p.hidden;
            const int64_t length =
                p.lengths ? ((const int32_t *)(uintptr_t)p.lengths)[n] : p.length;
            int64_t time = p.step;
            float h = 0; /* past the end the state stays and the output is zero */
            if (p.step < length && length <= p.length) {
                if (p.reverse) time = length - 1 - p.step;
                h = lstm_cell(&p, time * p.gates_time + n * p.gates_batch, n, j);
                ((float *)(uintptr_t)p.h)[i] = h;
            }
            if (p.y)
                ((float *)(uintptr_t)p.y)[(time * p.y_time + n * p.y_batch) * p.hidden + j] = h;
        }
    }
}
