#pragma once
/* The steps of an LSTM after its inputs were multiplied: gates, cell, output. ONNX's gate order:
 * input, output, forget, cell. */
#include "kernels/cpu/cpu_float_plan.h"
#include "kernels/cpu/cpu_loops.h"
#include "kernels/cpu/cpu_matmul_kernel.h"

typedef struct CpuLstmActivation {
    CpuLoopId id;
    CpuLoop *loop;
    CpuParameters parameters;
} CpuLstmActivation;

typedef void CpuLstmAdd(const float *a, const float *b, int64_t count, float *to);
/* to = to + weights * state */
typedef void CpuLstmPeep(const float *weights, const float *state, int64_t count, float *to);
/* cell = forget * cell + input * update */
typedef void CpuLstmCell(
    const float *forget, const float *input, const float *update, int64_t count, float *cell);

typedef struct CpuLstm {
    int64_t length, batch, input, hidden, directions;
    bool batch_first;
    bool reverse_only; /* one direction, the reverse one */
    bool has_bias, has_lengths, has_h, has_c, has_peepholes, input_forget;
    bool packed[2];                      /* W, R */
    bool wanted[3];                      /* Y, Y_h, Y_c */
    CpuLstmActivation activations[2][3]; /* of each direction: gates, cell, output */
    CpuMatmul inputs, recurrent;
    CpuLoop *clip_loop; /* NULL: none */
    float clip_limits[2];
    CpuLstmAdd *add;
    CpuLstmPeep *peep;
    CpuLstmCell *cell;
} CpuLstm;

/* Reads a request. level: whose loops are put in. Errors: UNSUPPORTED an unknown activation;
 * INVALID too few of them. */
MUST_CHECK Error *cpu_lstm_of(const PlanRequest *request, CpuLevel level, CpuLstm *out);
/* Floats of workspace. */
int64_t cpu_lstm_workspace_count(const CpuLstm *lstm);
void cpu_lstm_prepare(CpuLstm *lstm, CpuLevel level);
MUST_CHECK Error *cpu_lstm_run(const void *state, const CpuFloatCall *call, bool *out_abandoned);
