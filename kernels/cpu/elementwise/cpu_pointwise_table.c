/* Programs of one tensor of bytes whose result is bytes: every element is looked up in a table,
 * which the program fills when it is planned. */
#include <string.h>

#include "base/allocator.h"
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

/* Runs the program over all codes. results: RESULT_BYTES for each step. */
static void fill_table(const CpuPointwise *program, char *results, uint8_t *out) {
    uint8_t codes[CODES];
    int64_t strides[CPU_POINTWISE_STEPS_MAX];
    for (int i = 0; i < CODES; i++) codes[i] = (uint8_t)i;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const CpuPointwiseStep *step = &program->steps[s];
        CpuOperand operands[CPU_LOOP_OPERANDS_MAX];
        strides[s] = 0;
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
    memcpy(out, results + (size_t)(program->step_count - 1) * RESULT_BYTES, CODES);
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
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, kernel_name, sizeof(State), &plan));
    State *state = plan_state(plan);
    TRY(memory_alloc(program->step_count, RESULT_BYTES, &results));
    fill_table(program, results, state->table);
    memory_free(results);
    state->lookup = find_lookup(device);
    state->count = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    plan->launch = launch_table;
    *out = TAKE(plan);
    return NULL;
}
