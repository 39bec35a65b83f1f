#include "kernels/cpu/recurrent/cpu_recurrent_scratch.h"

static int64_t round_up(int64_t count) { return (count + 15) / 16 * 16; }

int64_t cpu_recurrent_weight_depth(const CpuRecurrent *recurrent, int index) {
    return index == CPU_RECURRENT_W ? recurrent->input : recurrent->hidden;
}

int64_t cpu_recurrent_weight_columns(const CpuRecurrent *recurrent, int index) {
    const int64_t second = recurrent->gates - recurrent->first_gates;
    const int64_t gates[CPU_RECURRENT_WEIGHTS] = {recurrent->gates, recurrent->first_gates, second};
    return gates[index] * recurrent->hidden;
}

int64_t cpu_recurrent_weight_count(const CpuRecurrent *recurrent, int index) {
    return cpu_matmul_packed_count(cpu_recurrent_weight_depth(recurrent, index),
        cpu_recurrent_weight_columns(recurrent, index));
}

bool cpu_recurrent_packs(const CpuRecurrent *recurrent, int index) {
    if (recurrent->in_bytes || cpu_recurrent_weight_columns(recurrent, index) == 0) return false;
    if (index != CPU_RECURRENT_W && recurrent->packed_bfloat16) return !recurrent->sliced;
    return !recurrent->packed[index == CPU_RECURRENT_W ? 0 : 1];
}

static float *take(float *memory, int64_t count, int64_t *inout_end) {
    float *piece = memory ? memory + *inout_end : NULL;
    *inout_end += round_up(count);
    return piece;
}

CpuRecurrentScratch cpu_recurrent_scratch_of(const CpuRecurrent *recurrent, float *memory) {
    const int64_t gates = recurrent->gates * recurrent->hidden;
    const int64_t states = recurrent->batch * recurrent->hidden;
    const int64_t second = recurrent->first_gates < recurrent->gates ? states : 0;
    CpuRecurrentScratch scratch = {0};
    scratch.bias = take(memory, gates, &scratch.end);
    scratch.gates = take(memory, recurrent->length * recurrent->batch * gates, &scratch.end);
    scratch.products = take(memory, recurrent->first_gates * states, &scratch.end);
    scratch.h = take(memory, states, &scratch.end);
    scratch.next_h = recurrent->sliced ? take(memory, states, &scratch.end) : scratch.h;
    scratch.c = take(memory, states, &scratch.end);
    scratch.reset = take(memory, second, &scratch.end);
    scratch.candidate = take(memory, second, &scratch.end);
    for (int i = 0; i < CPU_RECURRENT_WEIGHTS; i++)
        scratch.packed[i] = take(memory,
            cpu_recurrent_packs(recurrent, i) ? cpu_recurrent_weight_count(recurrent, i) : 0,
            &scratch.end);
    scratch.lengths = (int32_t *)(void *)take(memory, recurrent->batch, &scratch.end);
    scratch.bytes = take(memory,
        recurrent->in_bytes ? (int64_t)(recurrent->bytes.workspace_bytes / sizeof(float)) : 0,
        &scratch.end);
    return scratch;
}

int64_t cpu_recurrent_workspace_count(const CpuRecurrent *recurrent) {
    return cpu_recurrent_scratch_of(recurrent, NULL).end;
}
