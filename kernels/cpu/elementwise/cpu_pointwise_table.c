/* Programs, or the steps of one, of one tensor of bytes whose result is bytes: every element is
 * looked up in a table, which the steps fill when the program is planned. */
#include <string.h>

#include "base/allocator.h"
#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/elementwise/cpu_pointwise.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    CODES = 256,
    STEPS_MIN = 3,            /* of a program: loops over fewer steps are as fast as a table */
    RESULT_BYTES = CODES * 8, /* of a step */
    UNIT = 1 << 14,
    UNITS_PER_PART = 16,
};

typedef void Lookup(const uint8_t *table, const uint8_t *from, uint8_t *to, int64_t count);

typedef struct State {
    uint8_t table[CODES];
    Lookup *lookup;
    uint64_t count;
} State;

typedef struct Run {
    const State *state;
    const uint8_t *from;
    uint8_t *to;
} Run;

static void look_up(const uint8_t *table, const uint8_t *from, uint8_t *to, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] = table[from[i]];
}

#if defined(__x86_64__)
/* Sixteen codes at a time choose from each row of the table; a code that is not among a row's or
 * the earlier ones' has its sign set, and chooses 0. A row holds what differs from the row before,
 * so all that a code has chosen adds up to its own row. */
CPU_TARGET_AVX2 static void look_up_avx2(
    const uint8_t *table, const uint8_t *from, uint8_t *to, int64_t count) {
    enum { VECTOR = 32, ROW = 16, ROWS = 8 /* of each half */ };
    const __m256i row = _mm256_set1_epi8(ROW), half = _mm256_set1_epi8((char)0x80);
    __m256i low[ROWS], high[ROWS];
    for (int k = 0; k < ROWS; k++) {
        const __m128i *at = (const __m128i *)(const void *)(table + k * ROW);
        low[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128(at));
        high[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128(at + ROWS));
    }
    for (int k = ROWS - 1; k > 0; k--) {
        low[k] = _mm256_xor_si256(low[k], low[k - 1]);
        high[k] = _mm256_xor_si256(high[k], high[k - 1]);
    }
    int64_t i = 0;
    for (; i + VECTOR <= count; i += VECTOR) {
        __m256i codes = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
        __m256i others = _mm256_xor_si256(codes, half), found = _mm256_setzero_si256();
        CPU_UNROLL for (int k = 0; k < ROWS; k++) {
            found = _mm256_xor_si256(found, _mm256_shuffle_epi8(low[k], codes));
            found = _mm256_xor_si256(found, _mm256_shuffle_epi8(high[k], others));
            codes = _mm256_subs_epi8(codes, row);
            others = _mm256_subs_epi8(others, row);
        }
        _mm256_storeu_si256((__m256i *)(void *)(to + i), found);
    }
    look_up(table, from + i, to + i, count - i);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi"))) static void look_up_vbmi(
    const uint8_t *table, const uint8_t *from, uint8_t *to, int64_t count) {
    enum { VECTOR = 64 };
    const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + VECTOR);
    const __m512i c = _mm512_loadu_si512(table + 2 * VECTOR);
    const __m512i d = _mm512_loadu_si512(table + 3 * VECTOR);
    int64_t i = 0;
    for (; i + VECTOR <= count; i += VECTOR) {
        const __m512i codes = _mm512_loadu_si512(from + i);
        const __m512i low = _mm512_permutex2var_epi8(a, codes, b);
        const __m512i high = _mm512_permutex2var_epi8(c, codes, d);
        _mm512_storeu_si512(to + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high));
    }
    look_up(table, from + i, to + i, count - i);
}
#endif

static Lookup *find_lookup(const Device *device) {
#if defined(__x86_64__)
    /* with VNNI, so that a limit on the instruction set holds here, too */
    if (((const CpuDevice *)device)->has_vnni && __builtin_cpu_supports("avx512vbmi"))
        return look_up_vbmi;
    if (((const CpuDevice *)device)->level >= CPU_LEVEL_AVX2) return look_up_avx2;
#endif
    (void)device;
    return look_up;
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (uint64_t i = begin; i < end; i++) {
        const uint64_t first = i * UNIT, left = run->state->count - first;
        run->state->lookup(run->state->table, run->from + first, run->to + first,
            (int64_t)(left < UNIT ? left : UNIT));
    }
    return NULL;
}

static Error *launch_table(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    Run run = {plan_state(plan), cpu_input(launch, 0), cpu_output(launch, 0)};
    (void)output_shapes;
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (run.state->count + UNIT - 1) / UNIT, UNITS_PER_PART, run_units, &run);
}

/* Runs the steps up to `last` that are of the table over all codes. results: RESULT_BYTES for each
 * step. */
static void fill_table(const CpuPointwise *program, const bool *is_of_table, uint32_t last,
    char *results, uint8_t *out) {
    uint8_t codes[CODES];
    int64_t strides[CPU_POINTWISE_STEPS_MAX];
    for (int i = 0; i < CODES; i++) codes[i] = (uint8_t)i;
    for (uint32_t s = 0; s <= last; s++) {
        const CpuPointwiseStep *step = &program->steps[s];
        CpuOperand operands[CPU_LOOP_OPERANDS_MAX];
        strides[s] = 0;
        if (!is_of_table[s]) continue;
        for (uint32_t i = 0; i < step->operand_count; i++) {
            const CpuSource *from = &step->operands[i];
            if (from->kind == CPU_SOURCE_INPUT)
                operands[i] = (CpuOperand){codes, 1};
            else if (from->kind == CPU_SOURCE_STEP)
                operands[i] = (CpuOperand){
                    results + (size_t)from->index * RESULT_BYTES, strides[from->index]};
            else
                operands[i] = (CpuOperand){&program->constants[from->index], 0};
            strides[s] |= operands[i].step;
        }
        step->loop(results + (size_t)s * RESULT_BYTES, operands, strides[s] ? CODES : 1,
            &step->parameters);
    }
    memcpy(out, results + (size_t)last * RESULT_BYTES, CODES);
}

static bool is_byte(DType dtype) { return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8; }

bool cpu_pointwise_has_table(const PlanRequest *request, const CpuPointwise *program) {
    bool reads = false;
    if (program->missing || program->step_count < STEPS_MIN || request->input_count != 1)
        return false;
    const CpuPointwiseStep *last = &program->steps[program->step_count - 1];
    for (uint32_t i = 0; i < last->operand_count; i++)
        reads = reads || last->operands[i].kind != CPU_SOURCE_CONSTANT;
    return reads && is_byte(request->inputs[0].dtype) && is_byte(request->outputs[0].dtype) &&
           shape_equal(&request->inputs[0].shape, &request->outputs[0].shape);
}

Error *cpu_pointwise_plan_table(Device *device, const PlanRequest *request, const char *kernel_name,
    const CpuPointwise *program, Plan **out) {
    void *results;
    bool all[CPU_POINTWISE_STEPS_MAX];
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, kernel_name, sizeof(State), &plan));
    State *state = plan_state(plan);
    TRY(memory_alloc(program->step_count, RESULT_BYTES, &results));
    memset(all, true, sizeof all);
    fill_table(program, all, program->step_count - 1, results, state->table);
    memory_free(results);
    state->lookup = find_lookup(device);
    state->count = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    plan->launch = launch_table;
    *out = TAKE(plan);
    return NULL;
}

/* ---- steps of a program ---- */

static void look_up_steps(
    void *out, const CpuOperand *operands, int64_t count, const CpuParameters *parameters) {
    (void)parameters;
    look_up(operands[1].data, operands[0].data, out, count);
}

#if defined(__x86_64__)
static void look_up_steps_avx2(
    void *out, const CpuOperand *operands, int64_t count, const CpuParameters *parameters) {
    (void)parameters;
    look_up_avx2(operands[1].data, operands[0].data, out, count);
}

static void look_up_steps_vbmi(
    void *out, const CpuOperand *operands, int64_t count, const CpuParameters *parameters) {
    (void)parameters;
    look_up_vbmi(operands[1].data, operands[0].data, out, count);
}
#endif

static CpuLoop *find_loop(const Device *device) {
    Lookup *lookup = find_lookup(device);
#if defined(__x86_64__)
    if (lookup == look_up_vbmi) return look_up_steps_vbmi;
    if (lookup == look_up_avx2) return look_up_steps_avx2;
#endif
    (void)lookup;
    return look_up_steps;
}

/* The steps that a step needs, and the one input of bytes that they read. False: they read another
 * input or none, or are too few for a table. */
static bool find_cone(
    const CpuPointwise *program, uint32_t last, bool *out_cone, CpuSource *out_input) {
    uint32_t count = 0;
    out_input->kind = CPU_SOURCE_ABSENT;
    memset(out_cone, 0, CPU_POINTWISE_STEPS_MAX * sizeof *out_cone);
    out_cone[last] = true;
    for (uint32_t s = last + 1; s-- > 0;) {
        if (!out_cone[s]) continue;
        count++;
        for (uint32_t i = 0; i < program->steps[s].operand_count; i++) {
            const CpuSource *from = &program->steps[s].operands[i];
            if (from->kind == CPU_SOURCE_STEP) out_cone[from->index] = true;
            if (from->kind != CPU_SOURCE_INPUT) continue;
            if (out_input->kind == CPU_SOURCE_INPUT && from->index != out_input->index)
                return false;
            *out_input = *from;
        }
    }
    return count >= STEPS_MIN && out_input->kind == CPU_SOURCE_INPUT && is_byte(out_input->dtype);
}

Error *cpu_pointwise_join_tables(const Device *device, CpuPointwise *program) {
    enum { WORDS = CODES / sizeof(uint64_t) };
    bool cone[CPU_POINTWISE_STEPS_MAX], joined[CPU_POINTWISE_STEPS_MAX] = {false};
    CpuSource input;
    for (uint32_t s = program->missing ? 0 : program->step_count; s-- > 0;) {
        CpuPointwiseStep *step = &program->steps[s];
        if (!is_byte(step->dtype) || joined[s] || !find_cone(program, s, cone, &input)) continue;
        if (program->constant_count + WORDS > CPU_POINTWISE_CONSTANTS_MAX) return NULL;
        uint64_t *table = &program->constants[program->constant_count];
        void *results;
        TRY(memory_alloc(program->step_count, RESULT_BYTES, &results));
        fill_table(program, cone, s, results, (uint8_t *)table);
        memory_free(results);
        for (uint32_t i = 0; i <= s; i++) joined[i] = joined[i] || cone[i];
        step->loop = find_loop(device);
        step->operand_count = 2;
        step->operands[0] = input;
        step->operands[1] = (CpuSource){CPU_SOURCE_CONSTANT, program->constant_count, DTYPE_UINT8};
        program->constant_count += WORDS;
    }
    return NULL;
}
