#include "kernels/cpu/elementwise/cpu_elementwise.h"

#include "kernels/planning/pointwise_program.h"

static Error *lower_operator(const PlanRequest *request, CpuLevel level, CpuPointwise **out) {
    CpuSource operands[PLAN_INPUTS_MAX];
    for (uint32_t i = 0; i < request->input_count; i++) {
        bool present = request->inputs[i].present;
        CpuSourceKind kind = present ? CPU_SOURCE_INPUT : CPU_SOURCE_ABSENT;
        operands[i] = (CpuSource){kind, i, request->inputs[i].dtype};
    }
    CpuPointwise *program;
    TRY(cpu_pointwise_create(level, &program));
    (void)cpu_pointwise_add_operator(program, request->operator_info->id, request->attributes,
        operands, request->input_count, request->outputs[0].dtype);
    *out = program;
    return NULL;
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

static Error *lower_fused(const PlanRequest *request, CpuLevel level, CpuPointwise **out) {
    OWN(PointwiseProgram, source) = NULL;
    TRY(pointwise_program_of(request, &source));
    TensorSpec specs[POINTWISE_STEPS_MAX];
    DType constant_dtypes[POINTWISE_STEPS_MAX];
    TRY(pointwise_program_infer(source, request->inputs, specs, constant_dtypes));
    CpuPointwise *program;
    TRY(cpu_pointwise_create(level, &program));
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
    *out = program;
    return NULL;
}

Error *cpu_elementwise_lower(const PlanRequest *request, CpuLevel level, CpuPointwise **out) {
    bool fused = request->operator_info->id == OPERATOR_FUSED_ELEMENTWISE;
    return (fused ? lower_fused : lower_operator)(request, level, out);
}

static Error *plan_as(Device *device, const PlanRequest *request, const char *name, Plan **out) {
    OWN(CpuPointwise, program) = NULL;
    TRY(cpu_elementwise_lower(request, cpu_device(device)->level, &program));
    cpu_pointwise_join_bytes(program);
    if (cpu_pointwise_has_table(request, program))
        return cpu_pointwise_plan_table(device, request, name, program, out);
    TRY(cpu_pointwise_join_tables(device, program));
    return cpu_pointwise_plan(device, request, name, program, out);
}

static Error *plan_elementwise(Device *device, const PlanRequest *request, Plan **out) {
    return plan_as(device, request, "cpu.elementwise", out);
}

static Error *plan_fused(Device *device, const PlanRequest *request, Plan **out) {
    return plan_as(device, request, "cpu.fused_elementwise", out);
}

const Kernel cpu_elementwise[] = {
#define ELEMENTWISE_EACH(id, dtypes)                                                               \
    {OPERATOR_##id, dtypes, plan_elementwise, "cpu.elementwise", KERNEL_PORTABLE},
#include "kernels/operator/elementwise.def"
    {OPERATOR_CAST_LIKE, DTYPES_POINTWISE, plan_elementwise, "cpu.elementwise", KERNEL_PORTABLE},
    {OPERATOR_FUSED_ELEMENTWISE, DTYPES_ANY, plan_fused, "cpu.fused_elementwise", KERNEL_PORTABLE},
    KERNELS_END,
};
