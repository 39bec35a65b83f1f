/* Lowers operators to programs of loops. */
#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/cpu/elementwise/cpu_pointwise.h"
#include "kernels/cpu/loops/cpu_loop_find.h"

typedef struct Lowering {
    OperatorId operator_id;
    CpuLoopId loop;
    uint32_t parameters; /* number of attributes that become alpha and beta */
} Lowering;

/* Operators that are one loop over their operands in order. */
static const Lowering lowerings[] = {
#define ELEMENTWISE_DERIVED(id, operands, parameters) {OPERATOR_##id, CPU_LOOP_##id, parameters},
#define ELEMENTWISE_LOOP(id, loop, cost) {OPERATOR_##id, CPU_LOOP_##loop, 0},
#include "kernels/operator/elementwise.def"
    {OPERATOR_IDENTITY, CPU_LOOP_COPY, 0},
};

static const Lowering *find_lowering(OperatorId operator_id) {
    for (size_t i = 0; i < sizeof lowerings / sizeof lowerings[0]; i++)
        if (lowerings[i].operator_id == operator_id) return &lowerings[i];
    return NULL;
}

Error *cpu_pointwise_create(CpuLevel level, CpuPointwise **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(CpuPointwise), &block));
    CpuPointwise *program = block;
    program->level = level;
    *out = program;
    return NULL;
}

void cpu_pointwise_release(CpuPointwise *program) { memory_free(program); }

/* Appends a step. what: the template with the step's loop and types, without operands. */
static CpuSource add_loop(CpuPointwise *program, const CpuPointwiseStep *what,
    const CpuSource *operands, uint32_t operand_count) {
    CpuSource result = {CPU_SOURCE_STEP, program->step_count, what->dtype};
    if (!what->loop || program->step_count == CPU_POINTWISE_STEPS_MAX) {
        program->missing = true;
        result.index = 0;
        return result;
    }
    CpuPointwiseStep *step = &program->steps[program->step_count++];
    *step = *what;
    step->operand_count = operand_count;
    for (uint32_t i = 0; i < operand_count; i++) {
        step->operands[i] = operands[i];
        if (operands[i].kind == CPU_SOURCE_ABSENT) program->missing = true;
    }
    return result;
}

/* Appends the loop of the first operand's element type, or of `by`. */
static CpuSource add_step(
    CpuPointwise *program, CpuLoopId id, DType by, const CpuSource *operands, DType result) {
    CpuLoop *loop = cpu_loop_find(program->level, id, by);
    CpuPointwiseStep step = {.loop = loop, .id = id, .by = by, .dtype = result};
    return add_loop(program, &step, operands, cpu_loop_operands(id));
}

static CpuSource add_binary(
    CpuPointwise *program, CpuLoopId id, CpuSource a, CpuSource b, DType result) {
    CpuSource operands[2] = {a, b};
    if (a.dtype != b.dtype) program->missing = true;
    return add_step(program, id, a.dtype, operands, result);
}

static bool is_float8(DType dtype) { return dtype_in(DTYPES_FLOAT8, dtype); }

static bool is_half(DType dtype) { return dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16; }

static CpuSource add_direct_cast(CpuPointwise *program, CpuSource from, DType to, bool saturate) {
    CpuPointwiseStep step = {.loop = cpu_loop_find_cast(program->level, from.dtype, to, saturate),
        .id = CPU_LOOP_COUNT,
        .by = from.dtype,
        .saturate = saturate,
        .dtype = to};
    return add_loop(program, &step, &from, 1);
}

/* Casts from small floats through float32, and to them through float64, so that each value is
 * rounded once. */
static CpuSource add_cast(CpuPointwise *program, CpuSource from, DType to, bool saturate) {
    if (from.dtype == to && to != DTYPE_BOOL)
        return add_step(program, CPU_LOOP_COPY, to, &from, to);
    if (is_half(from.dtype) || is_float8(from.dtype)) {
        from = add_direct_cast(program, from, DTYPE_FLOAT32, false);
        if (to == DTYPE_FLOAT32) return from;
    }
    if (cpu_loop_find_cast(program->level, from.dtype, to, saturate))
        return add_direct_cast(program, from, to, saturate);
    if (from.dtype == DTYPE_INT64 || from.dtype == DTYPE_UINT64)
        from = add_step(program, CPU_LOOP_STICKY, from.dtype, &from, DTYPE_FLOAT64);
    else if (from.dtype != DTYPE_FLOAT64)
        from = add_direct_cast(program, from, DTYPE_FLOAT64, false);
    return add_direct_cast(program, from, to, saturate);
}

CpuSource cpu_pointwise_add_constant(CpuPointwise *program, DType dtype, double value) {
    CpuSource source = {CPU_SOURCE_CONSTANT, program->constant_count, dtype};
    CpuLoop *cast = cpu_loop_find_cast(CPU_LEVEL_PORTABLE, DTYPE_FLOAT64, dtype, true);
    if (program->constant_count == CPU_POINTWISE_CONSTANTS_MAX ||
        (!cast && dtype != DTYPE_FLOAT64)) {
        program->missing = true;
        source.index = 0;
        return source;
    }
    uint64_t *constant = &program->constants[program->constant_count++];
    *constant = 0;
    CpuOperand operand = {&value, 0};
    if (cast)
        cast(constant, &operand, 1, NULL);
    else
        memcpy(constant, &value, sizeof value);
    return source;
}

/* Max, Min, Sum, Mean: combines the operands from left to right. */
static CpuSource add_variadic(CpuPointwise *program, CpuLoopId id, const CpuSource *operands,
    uint32_t operand_count, DType result) {
    CpuSource total = operands[0];
    for (uint32_t i = 1; i < operand_count; i++)
        total = add_binary(program, id, total, operands[i], result);
    if (operand_count == 1) total = add_step(program, CPU_LOOP_COPY, result, &total, result);
    return total;
}

static CpuSource add_pow(CpuPointwise *program, const CpuSource *operands, DType result) {
    CpuSource base = operands[0], exponent = operands[1];
    CpuLoopId id = CPU_LOOP_POW;
    DType exponent_dtype = base.dtype;
    if (dtype_is_integer(base.dtype)) {
        bool whole = dtype_is_integer(exponent.dtype);
        id = whole ? CPU_LOOP_POW_BY_INT64 : CPU_LOOP_POW_BY_FLOAT64;
        exponent_dtype = whole ? DTYPE_INT64 : DTYPE_FLOAT64;
    }
    if (exponent.dtype != exponent_dtype)
        exponent = add_cast(program, exponent, exponent_dtype, true);
    CpuSource both[2] = {base, exponent};
    return add_step(program, id, base.dtype, both, result);
}

static CpuSource add_clip(
    CpuPointwise *program, const CpuSource *operands, uint32_t operand_count, DType result) {
    CpuSource all[3] = {operands[0], {0}, {0}};
    for (uint32_t i = 1; i < 3; i++) {
        bool present = i < operand_count && operands[i].kind != CPU_SOURCE_ABSENT;
        double limit = i == 1 ? -(double)INFINITY : (double)INFINITY;
        all[i] = present ? operands[i] : cpu_pointwise_add_constant(program, result, limit);
    }
    return add_step(program, CPU_LOOP_CLIP, result, all, result);
}

/* bias and limit are real numbers if the element type is an integer; otherwise they have the
 * element type. */
static CpuSource add_shrink(
    CpuPointwise *program, const Attributes *attributes, CpuSource operand, DType result) {
    double bias = attributes_float(attributes, "bias"),
           limit = attributes_float(attributes, "lambd");
    const DType real = dtype_is_integer(result) ? DTYPE_FLOAT64 : result;
    CpuSource all[3] = {operand, {0}, {0}};
    all[1] = cpu_pointwise_add_constant(program, real, bias);
    all[2] = cpu_pointwise_add_constant(program, real, limit);
    return add_step(program, CPU_LOOP_SHRINK, result, all, result);
}

/* 8-bit floats are compared as float32: widening keeps NaN and infinity. */
static CpuSource add_is_special(
    CpuPointwise *program, CpuLoopId id, CpuSource operand, DType result) {
    if (is_float8(operand.dtype)) operand = add_direct_cast(program, operand, DTYPE_FLOAT32, false);
    return add_step(program, id, operand.dtype, &operand, result);
}

static CpuSource add_is_inf(
    CpuPointwise *program, const Attributes *attributes, CpuSource operand, DType result) {
    CpuSource done = add_is_special(program, CPU_LOOP_IS_INF, operand, result);
    if (program->missing) return done;
    CpuParameters *parameters = &program->steps[program->step_count - 1].parameters;
    parameters->alpha = attributes_int(attributes, "detect_negative") != 0;
    parameters->beta = attributes_int(attributes, "detect_positive") != 0;
    return done;
}

static CpuSource add_shift(
    CpuPointwise *program, const Attributes *attributes, const CpuSource *operands, DType result) {
    bool left = strcmp(attributes_text(attributes, "direction"), "LEFT") == 0;
    return add_binary(program, left ? CPU_LOOP_SHIFT_LEFT : CPU_LOOP_SHIFT_RIGHT, operands[0],
        operands[1], result);
}

static CpuSource add_simple(CpuPointwise *program, const Lowering *lowering,
    const Attributes *attributes, const CpuSource *operands, uint32_t operand_count, DType result) {
    if (cpu_loop_operands(lowering->loop) != operand_count) program->missing = true;
    if (program->missing) return operands[0];
    DType by = operands[lowering->loop == CPU_LOOP_WHERE ? 1 : 0].dtype;
    CpuSource done = add_step(program, lowering->loop, by, operands, result);
    if (program->missing) return done;
    CpuPointwiseStep *step = &program->steps[program->step_count - 1];
    if (lowering->parameters > 0) step->parameters.alpha = attributes_float_at(attributes, 0);
    if (lowering->parameters > 1) step->parameters.beta = attributes_float_at(attributes, 1);
    return done;
}

bool cpu_pointwise_knows(OperatorId id) {
    return find_lowering(id) || id == OPERATOR_GREATER || id == OPERATOR_GREATER_OR_EQUAL ||
           id == OPERATOR_MOD || id == OPERATOR_MAX || id == OPERATOR_MIN || id == OPERATOR_SUM ||
           id == OPERATOR_MEAN || id == OPERATOR_POW || id == OPERATOR_CLIP ||
           id == OPERATOR_CAST || id == OPERATOR_CAST_LIKE || id == OPERATOR_GELU ||
           id == OPERATOR_IS_NAN || id == OPERATOR_SHRINK || id == OPERATOR_IS_INF ||
           id == OPERATOR_BIT_SHIFT;
}

CpuSource cpu_pointwise_add_operator(CpuPointwise *program, OperatorId id,
    const Attributes *attributes, const CpuSource *operands, uint32_t operand_count, DType result) {
    const Lowering *lowering = find_lowering(id);
    if (lowering) return add_simple(program, lowering, attributes, operands, operand_count, result);
    if (id == OPERATOR_GREATER)
        return add_binary(program, CPU_LOOP_LESS, operands[1], operands[0], result);
    if (id == OPERATOR_GREATER_OR_EQUAL)
        return add_binary(program, CPU_LOOP_LESS_OR_EQUAL, operands[1], operands[0], result);
    if (id == OPERATOR_MOD) {
        CpuLoopId loop = attributes_int(attributes, "fmod") ? CPU_LOOP_FMOD : CPU_LOOP_MOD;
        return add_binary(program, loop, operands[0], operands[1], result);
    }
    if (id == OPERATOR_MAX)
        return add_variadic(program, CPU_LOOP_MAX, operands, operand_count, result);
    if (id == OPERATOR_MIN)
        return add_variadic(program, CPU_LOOP_MIN, operands, operand_count, result);
    if (id == OPERATOR_SUM || id == OPERATOR_MEAN) {
        CpuSource sum = add_variadic(program, CPU_LOOP_ADD, operands, operand_count, result);
        if (id == OPERATOR_SUM || operand_count == 1) return sum;
        CpuSource count = cpu_pointwise_add_constant(program, result, (double)operand_count);
        return add_binary(program, CPU_LOOP_DIV, sum, count, result);
    }
    if (id == OPERATOR_POW) return add_pow(program, operands, result);
    if (id == OPERATOR_SHRINK) return add_shrink(program, attributes, operands[0], result);
    if (id == OPERATOR_IS_NAN) return add_is_special(program, CPU_LOOP_IS_NAN, operands[0], result);
    if (id == OPERATOR_IS_INF) return add_is_inf(program, attributes, operands[0], result);
    if (id == OPERATOR_BIT_SHIFT) return add_shift(program, attributes, operands, result);
    if (id == OPERATOR_CLIP) return add_clip(program, operands, operand_count, result);
    if (id == OPERATOR_CAST || id == OPERATOR_CAST_LIKE)
        return add_cast(program, operands[0], result, attributes_int(attributes, "saturate") != 0);
    if (id == OPERATOR_GELU) {
        bool erf = strcmp(attributes_text(attributes, "approximate"), "tanh") != 0;
        CpuLoopId loop = erf ? CPU_LOOP_GELU_ERF : CPU_LOOP_GELU_TANH;
        return add_step(program, loop, result, operands, result);
    }
    program->missing = true;
    return operands[0];
}
