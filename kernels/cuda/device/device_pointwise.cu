/* Elementwise programs of any shape, interpreted: a thread takes a few neighbouring elements of the
 * output through all steps. */
#include "kernels/cuda/device/device_operands.h"

DEVICE_CALL void load_away(
    const CudaPointwiseOperands *p, const CudaPointwiseInput *input, uint64_t at, StepLanes *out) {
    *out = load_each(p, input, input->layout, input->size, p->rank, at);
}

DEVICE StepLanes load_input(
    const CudaPointwiseOperands *p, const CudaPointwiseInput *input, uint64_t at) {
    if (input->layout == CUDA_POINTWISE_REPEATED)
        return load_same(element_load(input->address, input->size, 0));
    if (input->layout == CUDA_POINTWISE_CONTIGUOUS && is_whole(p, input->address, input->size, at))
        return load_whole(input->address + at * input->size, input->size);
    StepLanes lanes;
    load_away(p, input, at, &lanes);
    return lanes;
}

DEVICE StepLanes load_operand(const CudaPointwiseOperands *p, const CudaPointwiseStep *step,
    uint32_t operand, const StepLanes *slots, uint64_t at) {
    uint32_t index = step->indices[operand];
    if (operand >= step->operand_count) return load_same(0);
    if (step->kinds[operand] == CUDA_POINTWISE_INPUT) return load_input(p, &p->inputs[index], at);
    return step->kinds[operand] == CUDA_POINTWISE_SLOT ? slots[index]
                                                       : load_same(p->constants[index]);
}

DEVICE StepLanes run_step(const CudaPointwiseOperands *p, const CudaPointwiseStep *step,
    const StepLanes *slots, uint64_t at) {
    const StepLanes a = load_operand(p, step, 0, slots, at);
    const StepLanes b = load_operand(p, step, 1, slots, at);
    const StepLanes c = load_operand(p, step, 2, slots, at);
    const double alpha = p->parameters[step->parameters];
    const double beta = p->parameters[step->parameters + 1];
    if (step->family == CUDA_POINTWISE_BITS) return step_bits(step, &a, &b, &c);
    if (step->family == CUDA_POINTWISE_F32)
        return step_f32(step, (float)alpha, (float)beta, &a, &b, &c);
    StepLanes lanes;
    const StepLanes away_a = a, away_b = b, away_c = c;
    if (step->family == CUDA_POINTWISE_CASTS)
        step_away_cast(step, &away_a, &lanes);
    else if (step->family == CUDA_POINTWISE_F64)
        step_f64(step, alpha, beta, &away_a, &away_b, &away_c, &lanes);
    else if (step->family == CUDA_POINTWISE_INT64)
        step_int64(step, &away_a, &away_b, &away_c, &lanes);
    else
        step_uint64(step, &away_a, &away_b, &away_c, &lanes);
    return lanes;
}

KERNEL(layover_pointwise, CudaPointwiseParams) {
    THREADS(t) {
        EACH_UNIT(unit, t, (p.operands.count + LANES - 1) / LANES) {
            StepLanes slots[CUDA_POINTWISE_SLOTS_MAX];
            const uint64_t at = unit * LANES;
            StepLanes result;
            for (uint32_t s = 0; s < p.step_count; s++) {
                result = run_step(&p.operands, &p.steps[s], slots, at);
                if (s + 1 < p.step_count) slots[p.steps[s].slot] = result;
            }
            store_lanes(&p.operands, p.operands.out_size, at, &result);
        }
    }
}
