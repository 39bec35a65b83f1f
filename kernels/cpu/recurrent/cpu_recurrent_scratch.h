#pragma once
/* The workspace of a recurrent network in float32, and the sizes of its weights. Called by
 * cpu_recurrent_run.c when it plans and launches. Pure: no state. */
#include "kernels/cpu/recurrent/cpu_recurrent.h"

/* W; R, or its first gates; the other gates of R */
enum { CPU_RECURRENT_W, CPU_RECURRENT_R_FIRST, CPU_RECURRENT_R_SECOND, CPU_RECURRENT_WEIGHTS };

typedef struct CpuRecurrentScratch {
    /* [gates * H]: X's bias, plus the state's bias where both are added at once */
    float *bias;
    float *gates;    /* [length × batch, gates * H]: X W' + bias */
    float *products; /* [batch, first gates * H]: H R' */
    float *h, *c;    /* [batch, H] */
    /* the state after the step; equal to h unless the state is cut into slices */
    float *next_h;
    float *reset, *candidate; /* [batch, H] each, if there is a second product */
    /* of the direction, if the weights are not packed already */
    float *packed[CPU_RECURRENT_WEIGHTS];
    int32_t *lengths; /* [batch] */
    float *bytes;     /* where cpu_recurrent_bytes.h has its own part */
    int64_t end;
} CpuRecurrentScratch;

int64_t cpu_recurrent_weight_depth(const CpuRecurrent *recurrent, int index);
int64_t cpu_recurrent_weight_columns(const CpuRecurrent *recurrent, int index);
/* Floats of the weights of a direction in panels. */
int64_t cpu_recurrent_weight_count(const CpuRecurrent *recurrent, int index);
/* Whether a launch packs these weights, or widens them. */
bool cpu_recurrent_packs(const CpuRecurrent *recurrent, int index);
/* memory NULL: computes only the sizes. */
CpuRecurrentScratch cpu_recurrent_scratch_of(const CpuRecurrent *recurrent, float *memory);
