#pragma once
/* The product of the input woven into the steps. A step of one sequence waits for R, which a third
 * level cache gives at half the speed that a core multiplies with; so while some steps run, they
 * multiply the rows of X that as many steps behind them will add, from a piece of W that a first
 * level cache holds. The bits are those of the product by itself. */
#include "kernels/cpu/recurrent/cpu_recurrent.h"

typedef struct CpuRecurrentWeave {
    int64_t block;  /* steps whose rows the steps before them make; 0: nothing is woven */
    int64_t blocks; /* whole ones; the first one's rows and those behind the last are not woven */
    int64_t parts;  /* of X's depth, CPU_WOVEN_DEPTH each */
    /* set by whoever runs it */
    const float *x, *weights; /* X's row of step 0; W in panels */
    const float *bias;        /* of all gates; NULL: none */
    float *gates;             /* step 0's row of X W' + bias */
    bool reverse;             /* the rows of later steps lie in front */
} CpuRecurrentWeave;

/* Panels of R that a thread multiplies in a step one after the other, of one gate. */
typedef struct CpuWeavePlace {
    int64_t step, gate;
    int64_t first, panels; /* the thread's panels of each gate */
    int64_t before;        /* gates that the thread is done with in this step */
    bool backwards;        /* from the last one on */
} CpuWeavePlace;

/* For so many steps of the batch's only sequence; block 0 where it would gain nothing. */
CpuRecurrentWeave cpu_recurrent_weave_of(const CpuRecurrent *recurrent, int64_t steps);
/* Whether something is woven into this step. */
static inline bool cpu_recurrent_weaves(const CpuRecurrentWeave *weave, int64_t step) {
    return weave->block > 0 && step / weave->block + 1 < weave->blocks;
}
/* The panels' products of the state, and the rows of X whose turn it is. */
void cpu_recurrent_weave_panels(const CpuRecurrent *recurrent, const CpuRecurrentWeave *weave,
    const CpuMatmulBuffers *state, const CpuWeavePlace *place);
