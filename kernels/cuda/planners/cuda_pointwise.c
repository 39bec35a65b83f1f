/* Elementwise operators and FusedElementwise: the program that the cpu runs as loops, as the
 * parameters of one kernel that interprets it. */
#include "kernels/cuda/planners/cuda_pointwise.h"

#include <assert.h>
#include <string.h>

#include "kernels/cpu/elementwise/cpu_broadcast.h"
#include "kernels/cpu/elementwise/cpu_elementwise.h"

static_assert((uint32_t)CUDA_POINTWISE_CAST == (uint32_t)CPU_LOOP_COUNT, "casts follow the loops");

/* The kind of an operand in the parameters' tables. */
static CudaPointwiseKind kind_of(CpuSourceKind kind) {
    if (kind == CPU_SOURCE_INPUT) return CUDA_POINTWISE_INPUT;
    return kind == CPU_SOURCE_STEP ? CUDA_POINTWISE_SLOT : CUDA_POINTWISE_CONSTANT;
}

/* True for loops whose functions work on bits, whatever the element type is. */
static bool is_of_bits(CpuLoopId id, DType dtype) {
    const bool is_half = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    if (id == CPU_LOOP_COPY || id == CPU_LOOP_WHERE || id == CPU_LOOP_NOT) return true;
    if (id == CPU_LOOP_BIT_AND || id == CPU_LOOP_BIT_OR || id == CPU_LOOP_BIT_XOR) return true;
    if (id == CPU_LOOP_EQUAL) return dtype == DTYPE_BOOL;
    return is_half && (id == CPU_LOOP_NEG || id == CPU_LOOP_ABS);
}

static CudaPointwiseFamily family_of(CpuLoopId id, DType dtype) {
    if (id == CPU_LOOP_COUNT) return CUDA_POINTWISE_CASTS;
    if (is_of_bits(id, dtype)) return CUDA_POINTWISE_BITS;
    if (dtype_is_float(dtype))
        return dtype == DTYPE_FLOAT64 ? CUDA_POINTWISE_F64 : CUDA_POINTWISE_F32;
    return dtype_is_signed(dtype) ? CUDA_POINTWISE_INT64 : CUDA_POINTWISE_UINT64;
}

/* False when there are more of something than the parameters have room for. */
static bool add_step(CudaPointwiseParams *params, uint32_t *inout_parameters,
    const CpuPointwiseStep *from, const uint32_t *slots, uint32_t slot) {
    if (params->step_count == CUDA_POINTWISE_STEPS_MAX) return false;
    CudaPointwiseStep *step = &params->steps[params->step_count++];
    step->op = (uint8_t)from->id;
    step->family = (uint8_t)family_of(from->id, from->by);
    step->dtype = (uint8_t)from->by;
    step->result = (uint8_t)from->dtype;
    step->slot = (uint8_t)slot;
    step->operand_count = (uint8_t)from->operand_count;
    step->saturate = from->saturate;
    for (uint32_t i = 0; i < from->operand_count; i++) {
        CpuSource source = from->operands[i];
        uint32_t index = source.kind == CPU_SOURCE_STEP ? slots[source.index] : source.index;
        step->kinds[i] = (uint8_t)kind_of(source.kind);
        step->indices[i] = (uint8_t)index;
    }
    if (from->parameters.alpha == 0 && from->parameters.beta == 0) return true;
    if (*inout_parameters + 2 > CUDA_POINTWISE_PARAMETERS_MAX) return false;
    step->parameters = (uint8_t)*inout_parameters;
    params->operands.parameters[(*inout_parameters)++] = from->parameters.alpha;
    params->operands.parameters[(*inout_parameters)++] = from->parameters.beta;
    return true;
}

static bool place_steps(CudaPointwiseParams *params, const CpuPointwise *program) {
    bool needed[CPU_POINTWISE_STEPS_MAX];
    uint32_t slots[CPU_POINTWISE_STEPS_MAX], parameters = 2;
    if (program->constant_count > CUDA_POINTWISE_CONSTANTS_MAX) return false;
    if (cpu_pointwise_place(program, needed, slots) > CUDA_POINTWISE_SLOTS_MAX) return false;
    memcpy(
        params->operands.constants, program->constants, program->constant_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < program->step_count; i++)
        if (needed[i] && !add_step(params, &parameters, &program->steps[i], slots, slots[i]))
            return false;
    return true;
}

static CudaPointwiseLayout layout_of(int64_t count, int64_t output_count) {
    if (count == 1) return CUDA_POINTWISE_REPEATED;
    return count == output_count ? CUDA_POINTWISE_CONTIGUOUS : CUDA_POINTWISE_STRIDED;
}

static void place_inputs(CudaPointwiseOperands *operands, const PlanRequest *request) {
    const Shape *shape = &request->outputs[0].shape;
    int64_t strides[CUDA_POINTWISE_INPUTS_MAX + 1][SHAPE_RANK_MAX] = {{0}};
    CpuBroadcast collapsed;
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].present)
            shape_broadcast_strides(&request->inputs[i].shape, shape, strides[i]);
    /* the output is included, so that dimensions which all inputs share keep its order */
    shape_strides(shape, strides[request->input_count]);
    cpu_broadcast_collapse(shape, request->input_count + 1, strides, &collapsed);
    operands->count = (uint64_t)collapsed.count;
    operands->rank = collapsed.rank;
    operands->rows_whole = collapsed.dims[collapsed.rank - 1] % CUDA_POINTWISE_LANES == 0;
    memcpy(operands->dims, collapsed.dims, sizeof operands->dims);
    for (uint32_t i = 0; i < request->input_count; i++) {
        const TensorSpec *spec = &request->inputs[i];
        CudaPointwiseInput *input = &operands->inputs[i];
        if (!spec->present) continue;
        input->size = (uint8_t)cuda_element_size(spec);
        input->layout = (uint8_t)layout_of(shape_count_unchecked(&spec->shape), collapsed.count);
        memcpy(input->strides, strides[i], sizeof input->strides);
    }
}

bool cuda_pointwise_fill(
    const PlanRequest *request, const CpuPointwise *program, CudaPointwiseParams *out) {
    if (program->missing || program->step_count == 0) return false;
    if (request->input_count > CUDA_POINTWISE_INPUTS_MAX) return false;
    memset(out, 0, sizeof *out);
    out->operands.out_size = cuda_element_size(&request->outputs[0]);
    out->operands.input_count = request->input_count;
    if (!place_steps(out, program)) return false;
    place_inputs(&out->operands, request);
    return true;
}

uint64_t cuda_pointwise_units(const CudaPointwiseOperands *operands) {
    return (operands->count + CUDA_POINTWISE_LANES - 1) / CUDA_POINTWISE_LANES;
}

void cuda_pointwise_address(const Launch *launch, CudaPointwiseOperands *inout) {
    inout->out = launch->outputs[0];
    for (uint32_t i = 0; i < inout->input_count; i++) inout->inputs[i].address = launch->inputs[i];
}

static Error *launch_pointwise(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    CudaPointwiseParams params = *(const CudaPointwiseParams *)plan_state(plan);
    (void)output_shapes;
    cuda_pointwise_address(launch, &params.operands);
    return cuda_run_units(plan, launch, CUDA_KERNEL_POINTWISE,
        cuda_pointwise_units(&params.operands), &params, sizeof params);
}

static Error *plan_program(
    Device *device, const PlanRequest *request, const char *name, Plan **out) {
    OWN(CpuPointwise, program) = NULL;
    OWN(Plan, plan) = NULL;
    TRY(cpu_elementwise_lower(request, CPU_LEVEL_PORTABLE, &program));
    TRY(plan_create(device, request, name, sizeof(CudaPointwiseParams), &plan));
    if (!cuda_pointwise_fill(request, program, plan_state(plan))) return cuda_decline(out);
    plan->launch = launch_pointwise;
    *out = TAKE(plan);
    return NULL;
}

static Error *plan_elementwise(Device *device, const PlanRequest *request, Plan **out) {
    return plan_program(device, request, "cuda.elementwise", out);
}

static Error *plan_fused(Device *device, const PlanRequest *request, Plan **out) {
    return plan_program(device, request, "cuda.fused_elementwise", out);
}

const Kernel cuda_pointwise[] = {
#define ELEMENTWISE_EACH(id, dtypes)                                                               \
    {OPERATOR_##id, dtypes, plan_elementwise, "cuda.elementwise", 0},
#include "kernels/operator/elementwise.def"
    {OPERATOR_FUSED_ELEMENTWISE, DTYPES_ANY, plan_fused, "cuda.fused_elementwise", 0},
    KERNELS_END,
};
