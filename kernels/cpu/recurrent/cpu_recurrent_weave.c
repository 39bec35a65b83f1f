#include "kernels/cpu/recurrent/cpu_recurrent_weave.h"

#include "kernels/cpu/core/cpu_sweep.h"

enum { BLOCK_MAX = 32 }; /* so many rows of X stay in a second level cache beside a part of R */

CpuRecurrentWeave cpu_recurrent_weave_of(const CpuRecurrent *recurrent, int64_t steps) {
    const CpuMatmul *state = &recurrent->first;
    const uint64_t bytes = (uint64_t)(state->depth * state->columns) * sizeof(float);
    const int64_t input = recurrent->input, parts = input / CPU_WOVEN_DEPTH;
    const CpuRecurrentWeave none = {0};
    if (!state->code.woven || !recurrent->sliced || recurrent->batch != 1 || recurrent->cells[1] ||
        recurrent->packed_bfloat16 || recurrent->in_bytes)
        return none;
    if (bytes <= CPU_SWEEP_KEPT_BYTES || bytes > CPU_SWEEP_NEAR_BYTES) return none;
    /* the input must be whole parts, and no deeper than a panel of R */
    if (parts == 0 || input % CPU_WOVEN_DEPTH != 0 || input > recurrent->hidden) return none;
    const int64_t block = BLOCK_MAX / parts * parts;
    if (block == 0 || steps < 2 * block) return none;
    return (CpuRecurrentWeave){.block = block, .blocks = steps / block, .parts = parts};
}

/* The row and the part that are multiplied beside a panel of R. */
typedef struct Turn {
    int64_t row, part;
    int64_t panel; /* index among the thread's panels, over all gates */
} Turn;

/* Each panel of R has as many turns as X has parts. After a block of steps every row had a turn
 * with every part of every panel: panel by panel, in each panel the parts in order. */
static Turn turn_at(
    const CpuRecurrent *recurrent, const CpuRecurrentWeave *weave, const CpuWeavePlace *place) {
    const int64_t panels = place->step % weave->block * recurrent->gates + place->before;
    const int64_t at = panels * place->panels * weave->parts;
    return (Turn){
        at % weave->block, at / weave->block % weave->parts, at / weave->block / weave->parts};
}

static void advance(const CpuRecurrentWeave *weave, Turn *inout_turn) {
    inout_turn->row += weave->parts;
    if (inout_turn->row < weave->block) return;
    inout_turn->row = 0;
    if (++inout_turn->part < weave->parts) return;
    inout_turn->part = 0;
    inout_turn->panel++;
}

static CpuWovenRows rows_of(const CpuRecurrent *recurrent, const CpuRecurrentWeave *weave,
    const CpuWeavePlace *place, const Turn *turn) {
    const int64_t input = recurrent->input, columns = recurrent->inputs.columns;
    const int64_t gate = turn->panel / place->panels;
    const int64_t column =
        gate * recurrent->hidden + (place->first + turn->panel % place->panels) * CPU_MATMUL_PANEL;
    const int64_t step = (place->step / weave->block + 1) * weave->block + turn->row;
    const int64_t direction = weave->reverse ? -1 : 1;
    return (CpuWovenRows){
        .count = weave->parts,
        .a = weave->x + direction * step * input + turn->part * CPU_WOVEN_DEPTH,
        .a_row = direction * input,
        .b = weave->weights + column * input + turn->part * CPU_WOVEN_DEPTH * CPU_MATMUL_PANEL,
        .bias = weave->bias && turn->part == weave->parts - 1 ? weave->bias + column : NULL,
        .out = weave->gates + direction * step * columns + column,
        .out_row = direction * columns,
        .accumulate = turn->part > 0,
    };
}

void cpu_recurrent_weave_panels(const CpuRecurrent *recurrent, const CpuRecurrentWeave *weave,
    const CpuMatmulBuffers *state, const CpuWeavePlace *place) {
    const int64_t depth = recurrent->hidden, count = place->panels;
    Turn turn = turn_at(recurrent, weave, place);
    for (int64_t i = 0; i < count; i++, advance(weave, &turn)) {
        const int64_t panel = place->first + (place->backwards ? count - 1 - i : i);
        const int64_t column = place->gate * recurrent->hidden + panel * CPU_MATMUL_PANEL;
        const CpuWovenRows rows = rows_of(recurrent, weave, place, &turn);
        recurrent->first.code.woven(
            state->a, state->b + column * depth, depth, state->c + column, &rows);
    }
}
