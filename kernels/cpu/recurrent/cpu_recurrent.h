#pragma once
/* The common part of LSTM, GRU and RNN, and of those with weights of bfloat16 or bytes: reads a
 * call, computes one matrix product for all inputs and one for each step's states, and orders the
 * steps. The work on one element of the batch in a step is a cell of cpu_lstm.c, cpu_gru.c or
 * cpu_rnn.c. Called by those when they plan and launch. Pure: a CpuRecurrent belongs to its plan.
 */
#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/loops/cpu_loops.h"
#include "kernels/cpu/matmul/cpu_matmul_kernel.h"
#include "kernels/cpu/recurrent/cpu_recurrent_bytes.h"

enum { CPU_RECURRENT_ACTIVATIONS_MAX = 3 };

typedef struct CpuRecurrentActivation {
    CpuLoopId id; /* CPU_LOOP_COUNT: an activation that is no operator's */
    CpuLoop *loop;
    CpuParameters parameters;
} CpuRecurrentActivation;

typedef struct CpuRecurrent CpuRecurrent;

/* One element of the batch at one step, or a slice of it. */
typedef struct CpuCellCall {
    const CpuRecurrent *recurrent;
    const CpuRecurrentActivation *activations; /* of the direction */
    int64_t count;           /* units of the state, beginning where the pointers below point to */
    float *gates;            /* X W' + bias, each gate `hidden` elements after the last;
                              * overwritten */
    float *products;         /* H R' of as many gates as the first product has; the same */
    const float *state_bias; /* R's bias; NULL: none */
    const float *peepholes;  /* NULL: none */
    float *reset;            /* the input of the second product */
    const float *candidate;  /* the result of the second product */
    float *h, *c;
} CpuCellCall;

typedef void CpuCell(const CpuCellCall *call);

/* Rows of elements, each by itself: the same bits at every level. */
typedef struct CpuRecurrentRows {
    void (*add)(const float *a, const float *b, int64_t count, float *to);
    void (*multiply)(const float *a, const float *b, int64_t count, float *to);
    /* to = to + a * b */
    void (*multiply_add)(const float *a, const float *b, int64_t count, float *to);
    /* to = a * to + b * c */
    void (*combine)(const float *a, const float *b, const float *c, int64_t count, float *to);
    /* to = (1 - a) * b + a * to */
    void (*blend)(const float *a, const float *b, int64_t count, float *to);
} CpuRecurrentRows;

struct CpuRecurrent {
    const char *name;
    int64_t length, batch, input, hidden, directions;
    int64_t gates;
    int64_t joined_gates; /* the first ones, whose two biases are added up beforehand */
    /* Gates of the first product of a step; the others are in a second product, of the first cell's
     * results. */
    int64_t first_gates;
    bool sliced; /* threads share the units of the state, each with its columns of the products */
    bool batch_first;
    bool reverse_only; /* one direction, the reverse one */
    bool has_bias, has_lengths, has_h, has_c, has_peepholes, input_forget;
    bool packed[2];          /* W, R */
    bool packed_bfloat16;    /* R, as cpu_panels_bfloat16.h has it; LSTM's, or a GRU's as a whole */
    bool in_bytes;           /* W and R are bytes, [depth, gates * H] of each direction */
    CpuRecurrentBytes bytes; /* if in_bytes */
    bool wanted[3];          /* Y, Y_h, Y_c */
    uint32_t activation_count;
    CpuRecurrentActivation activations[2][CPU_RECURRENT_ACTIVATIONS_MAX]; /* of each direction */
    CpuLevel level;
    CpuMatmul inputs, first, second;
    CpuLoop *clip_loop; /* NULL: none */
    float clip_limits[2];
    CpuRecurrentRows rows;
    CpuLstmLoop *lstm_loop;
    CpuCell *cells[2]; /* the second cell: after the second product */
};

/* Reads a request of one of the three operators; the caller sets the cells. level: of the loops;
 * dtype: float32 or float64, the type of the computation. Errors: UNSUPPORTED an unknown
 * activation; INVALID too few of them. */
MUST_CHECK Error *cpu_recurrent_of(
    const PlanRequest *request, CpuLevel level, DType dtype, CpuRecurrent *out);
/* Rows of Y, and of an initial or last state. */
int64_t cpu_recurrent_output_row(
    const CpuRecurrent *recurrent, int64_t t, int64_t direction, int64_t n);
int64_t cpu_recurrent_state_row(const CpuRecurrent *recurrent, int64_t direction, int64_t n);
/* The row of X of element n of the batch at time t. */
int64_t cpu_recurrent_time_row(const CpuRecurrent *recurrent, int64_t t, int64_t n);
/* Copies the lengths, each loaded once and checked; given NULL: all have the whole length. */
MUST_CHECK Error *cpu_recurrent_lengths(
    const CpuRecurrent *recurrent, const void *given, int32_t *out);

void cpu_recurrent_activate(const CpuRecurrentActivation *activation, float *row, int64_t count);
void cpu_recurrent_clip(const CpuRecurrent *recurrent, float *row, int64_t count);

/* ---- float32, and float16 and bfloat16 through it ---- */

CpuRecurrentRows cpu_recurrent_rows_for(CpuLevel level);
/* Sets the sizes of the products and the code for rows. */
void cpu_recurrent_prepare(CpuRecurrent *recurrent, CpuLevel level);
/* Floats of workspace. */
int64_t cpu_recurrent_workspace_count(const CpuRecurrent *recurrent);
/* Makes a plan of a request with these cells. */
MUST_CHECK Error *cpu_recurrent_plan(Device *device, CpuLevel level, const char *kernel_name,
    const PlanRequest *request, CpuCell *const cells[2], Plan **out);
