#pragma once
/* The product of the input, woven into the steps. A step of one sequence waits for R, which a third
 * level cache delivers at half the speed of a core's multiplications. So while some steps run, they
 * also multiply rows of X that later steps will add, from a piece of W that a first level cache
 * holds. The bits are those of the separate product. Called by cpu_recurrent_run.c, on the threads
 * of a launch. Pure: no state. */
#include "kernels/cpu/recurrent/cpu_recurrent.h"

typedef struct CpuRecurrentWeave {
    int64_t block;  /* steps whose rows are computed during the steps before them; 0: nothing is
                     * woven */
    int64_t blocks; /* whole blocks; the rows of the first and those after the last are not woven */
    int64_t parts;  /* of X's depth, CPU_WOVEN_DEPTH each */
    /* The members below are set by the caller that runs it. */
    const float *x, *weights; /* X's row of step 0; W in panels */
    const float *bias;        /* of all gates; NULL: none */
    float *gates;             /* step 0's row of X W' + bias */
    bool reverse;             /* the rows of later steps come first */
} CpuRecurrentWeave;

/* Panels of R that a thread multiplies in a step one after the other, of one gate. */
typedef struct CpuWeavePlace {
    int64_t step, gate;
    int64_t first, panels; /* the thread's panels of each gate */
    int64_t before;        /* gates that the thread has finished in this step */
    bool backwards;        /* the panels are read from the last one on */
} CpuWeavePlace;

/* Plans the weave for so many steps of the batch's only sequence; block 0 if nothing is gained. */
CpuRecurrentWeave cpu_recurrent_weave_of(const CpuRecurrent *recurrent, int64_t steps);
/* Whether rows are woven into this step. */
static inline bool cpu_recurrent_weaves(const CpuRecurrentWeave *weave, int64_t step) {
    return weave->block > 0 && step / weave->block + 1 < weave->blocks;
}
/* Computes the panels' products of the state, and the rows of X that are due. */
void cpu_recurrent_weave_panels(const CpuRecurrent *recurrent, const CpuRecurrentWeave *weave,
    const CpuMatmulBuffers *state, const CpuWeavePlace *place);
