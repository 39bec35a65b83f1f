/* Elementwise operators and FusedElementwise. */
#include "kernels/cpu/cpu_pointwise.h"
#include "kernels/pointwise_program.h"

static Error *plan_elementwise(Device *device, const PlanRequest *request, Plan **out) {
    CpuSource operands[PLAN_INPUTS_MAX];
    for (uint32_t i = 0; i < request->input_count; i++) {
        bool present = request->inputs[i].present;
        CpuSourceKind kind = present ? CPU_SOURCE_INPUT : CPU_SOURCE_ABSENT;
        operands[i] = (CpuSource){kind, i, request->inputs[i].dtype};
    }
    OWN(CpuPointwise, program) = NULL;
    TRY(cpu_pointwise_create(cpu_device(device)->level, &program));
    (void)cpu_pointwise_add_operator(program, request->operator_info->id, request->attributes,
        operands, request->input_count, request->outputs[0].dtype);
    return cpu_pointwise_plan(device, request, "cpu.elementwise", program, out);
}

static CpuSource fused_operand(CpuPointwise *program, const PlanRequest *request,
    const PointwiseOperand *operand, const CpuSource *steps, DType constant_dtype) {
    if (operand->kind == POINTWISE_STEP) return steps[operand->index];
    if (operand->kind == POINTWISE_INPUT)
        return (CpuSource){CPU_SOURCE_INPUT, operand->index, request->inputs[operand->index].dtype};
    uint32_t count;
    const double *constants = attributes_floats(request->attributes, "constants", &count);
    return cpu_pointwise_add_constant(program, constant_dtype, constants[operand->index]);
}

static Error *plan_fused(Device *device, const PlanRequest *request, Plan **out) {
    OWN(PointwiseProgram, source) = NULL;
    TRY(pointwise_program_of(request, &source));
    TensorSpec specs[POINTWISE_STEPS_MAX];
    DType constant_dtypes[POINTWISE_STEPS_MAX];
    TRY(pointwise_program_infer(source, request->inputs, specs, constant_dtypes));
    OWN(CpuPointwise, program) = NULL;
    TRY(cpu_pointwise_create(cpu_device(device)->level, &program));
    CpuSource steps[POINTWISE_STEPS_MAX];
    for (uint32_t i = 0; i < source->step_count; i++) {
        const PointwiseStep *step = &source->steps[i];
        CpuSource operands[POINTWISE_OPERANDS_MAX];
        for (uint32_t k = 0; k < step->operand_count; k++)
            operands[k] =
                fused_operand(program, request, &step->operands[k], steps, constant_dtypes[i]);
        steps[i] = cpu_pointwise_add_operator(program, step->operator_info->id, step->attributes,
            operands, step->operand_count, specs[i].dtype);
    }
    return cpu_pointwise_plan(device, request, "cpu.fused_elementwise", program, out);
}

#define ROW(operator_id, dtypes)                                                                   \
    { operator_id, dtypes, plan_elementwise, "cpu.elementwise", KERNEL_PORTABLE }
#define BOOL DTYPE_BIT(DTYPE_BOOL)

const Kernel cpu_elementwise[] = {
    ROW(OPERATOR_ADD, DTYPES_NUMBER),
    ROW(OPERATOR_SUB, DTYPES_NUMBER),
    ROW(OPERATOR_MUL, DTYPES_NUMBER),
    ROW(OPERATOR_DIV, DTYPES_NUMBER),
    ROW(OPERATOR_POW, DTYPES_NUMBER),
    ROW(OPERATOR_MOD, DTYPES_NUMBER),
    ROW(OPERATOR_MAX, DTYPES_NUMBER),
    ROW(OPERATOR_MIN, DTYPES_NUMBER),
    ROW(OPERATOR_SUM, DTYPES_NUMBER),
    ROW(OPERATOR_MEAN, DTYPES_NUMBER),
    ROW(OPERATOR_AND, BOOL),
    ROW(OPERATOR_OR, BOOL),
    ROW(OPERATOR_XOR, BOOL),
    ROW(OPERATOR_NOT, BOOL),
    ROW(OPERATOR_EQUAL, DTYPES_NUMBER | BOOL),
    ROW(OPERATOR_GREATER, DTYPES_NUMBER),
    ROW(OPERATOR_LESS, DTYPES_NUMBER),
    ROW(OPERATOR_GREATER_OR_EQUAL, DTYPES_NUMBER),
    ROW(OPERATOR_LESS_OR_EQUAL, DTYPES_NUMBER),
    ROW(OPERATOR_WHERE, BOOL), /* the condition leads */
    ROW(OPERATOR_BITWISE_AND, DTYPES_INTEGER),
    ROW(OPERATOR_BITWISE_OR, DTYPES_INTEGER),
    ROW(OPERATOR_NEG, DTYPES_NUMBER),
    ROW(OPERATOR_ABS, DTYPES_NUMBER),
    ROW(OPERATOR_SIGN, DTYPES_NUMBER),
    ROW(OPERATOR_SQRT, DTYPES_FLOAT),
    ROW(OPERATOR_RECIPROCAL, DTYPES_FLOAT),
    ROW(OPERATOR_EXP, DTYPES_FLOAT),
    ROW(OPERATOR_LOG, DTYPES_FLOAT),
    ROW(OPERATOR_SIN, DTYPES_FLOAT),
    ROW(OPERATOR_COS, DTYPES_FLOAT),
    ROW(OPERATOR_ERF, DTYPES_FLOAT),
    ROW(OPERATOR_TANH, DTYPES_FLOAT),
    ROW(OPERATOR_SIGMOID, DTYPES_FLOAT),
    ROW(OPERATOR_RELU, DTYPES_NUMBER),
    ROW(OPERATOR_LEAKY_RELU, DTYPES_FLOAT),
    ROW(OPERATOR_ELU, DTYPES_FLOAT),
    ROW(OPERATOR_SELU, DTYPES_FLOAT),
    ROW(OPERATOR_PRELU, DTYPES_NUMBER),
    ROW(OPERATOR_GELU, DTYPES_FLOAT),
    ROW(OPERATOR_SOFTPLUS, DTYPES_FLOAT),
    ROW(OPERATOR_HARD_SIGMOID, DTYPES_FLOAT),
    ROW(OPERATOR_HARD_SWISH, DTYPES_FLOAT),
    ROW(OPERATOR_FLOOR, DTYPES_FLOAT),
    ROW(OPERATOR_CEIL, DTYPES_FLOAT),
    ROW(OPERATOR_ROUND, DTYPES_FLOAT),
    ROW(OPERATOR_IS_NAN, DTYPES_FLOAT),
    ROW(OPERATOR_CLIP, DTYPES_NUMBER),
    ROW(OPERATOR_CAST, DTYPES_ANY),
    {OPERATOR_FUSED_ELEMENTWISE, DTYPES_ANY, plan_fused, "cpu.fused_elementwise", KERNEL_PORTABLE},
    KERNELS_END,
};
