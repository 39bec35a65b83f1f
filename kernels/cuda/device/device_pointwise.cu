/* Elementwise programs of any shape, interpreted: a thread takes a few neighbouring elements of the
 * output through all steps. Contiguous operands come and go in one access of up to 16 bytes. */
#include "kernels/cuda/device/device_step.h"

typedef struct LANES_ALIGNED(4) Lanes8 {
    uint8_t of[LANES];
} Lanes8;
typedef struct LANES_ALIGNED(8) Lanes16 {
    uint16_t of[LANES];
} Lanes16;
typedef struct LANES_ALIGNED(16) Lanes32 {
    uint32_t of[LANES];
} Lanes32;
typedef struct LANES_ALIGNED(16) Lanes64 {
    uint64_t of[LANES];
} Lanes64;

#define LOAD_LANES(Wide)                                                                           \
    {                                                                                              \
        const Wide wide = *(const Wide *)(uintptr_t)address;                                       \
        UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] = wide.of[i];                       \
        break;                                                                                     \
    }
DEVICE StepLanes load_whole(uint64_t address, uint32_t size) {
    StepLanes lanes;
    switch (size) {
    case 1:
        LOAD_LANES(Lanes8)
    case 2:
        LOAD_LANES(Lanes16)
    case 4:
        LOAD_LANES(Lanes32)
    default:
        LOAD_LANES(Lanes64)
    }
    return lanes;
}

#define STORE_LANES(Wide, T)                                                                       \
    {                                                                                              \
        Wide wide;                                                                                 \
        UNROLLED for (int i = 0; i < LANES; i++) wide.of[i] = (T)lanes->bits[i];                   \
        *(Wide *)(uintptr_t)address = wide;                                                        \
        break;                                                                                     \
    }
DEVICE void store_whole(uint64_t address, uint32_t size, const StepLanes *lanes) {
    switch (size) {
    case 1:
        STORE_LANES(Lanes8, uint8_t)
    case 2:
        STORE_LANES(Lanes16, uint16_t)
    case 4:
        STORE_LANES(Lanes32, uint32_t)
    default:
        STORE_LANES(Lanes64, uint64_t)
    }
}

/* Whether all lanes from `at` on exist and may be moved in one access. */
DEVICE int is_whole(const CudaPointwiseParams *p, uint64_t base, uint32_t size, uint64_t at) {
    uint64_t bytes = size == 8 ? 16 : (uint64_t)size * LANES;
    return at + LANES <= p->count && (base + at * size) % bytes == 0;
}

/* Lane by lane: broadcast operands, and contiguous ones at odd addresses. */
DEVICE_CALL void load_each(
    const CudaPointwiseParams *p, const CudaPointwiseInput *input, uint64_t at, StepLanes *out) {
    int64_t first = 0;
    if (!input->contiguous) first = element_offset(at, p->count, p->rank, p->dims, input->strides);
    for (uint64_t i = 0; i < LANES; i++) {
        uint64_t element = at + i < p->count ? at + i : p->count - 1;
        int64_t offset = (int64_t)element;
        if (!input->contiguous && p->rows_whole)
            offset = first + (int64_t)i * input->strides[p->rank - 1];
        else if (!input->contiguous)
            offset = element_offset(element, p->count, p->rank, p->dims, input->strides);
        out->bits[i] = element_load(input->address, input->size, offset);
    }
}

DEVICE StepLanes load_input(
    const CudaPointwiseParams *p, const CudaPointwiseInput *input, uint64_t at) {
    if (input->contiguous && is_whole(p, input->address, input->size, at))
        return load_whole(input->address + at * input->size, input->size);
    StepLanes lanes;
    load_each(p, input, at, &lanes);
    return lanes;
}

DEVICE StepLanes load_operand(const CudaPointwiseParams *p, const CudaPointwiseStep *step,
    uint32_t operand, const StepLanes *slots, uint64_t at) {
    StepLanes lanes;
    uint32_t index = step->indices[operand];
    if (operand < step->operand_count) {
        if (step->kinds[operand] == CUDA_POINTWISE_INPUT)
            return load_input(p, &p->inputs[index], at);
        if (step->kinds[operand] == CUDA_POINTWISE_SLOT) return slots[index];
    }
    uint64_t constant = operand < step->operand_count ? p->constants[index] : 0;
    UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] = constant;
    return lanes;
}

DEVICE StepLanes run_step(const CudaPointwiseParams *p, const CudaPointwiseStep *step,
    const StepLanes *slots, uint64_t at) {
    const StepLanes a = load_operand(p, step, 0, slots, at);
    const StepLanes b = load_operand(p, step, 1, slots, at);
    const StepLanes c = load_operand(p, step, 2, slots, at);
    const double alpha = p->parameters[step->parameters];
    const double beta = p->parameters[step->parameters + 1];
    StepLanes lanes;
    if (step_bits(step, &a, &b, &c, &lanes)) return lanes;
    if (element_is_float(step->dtype) && step->dtype != DTYPE_FLOAT64)
        return step_f32(step, (float)alpha, (float)beta, &a, &b, &c);
    const StepLanes away_a = a, away_b = b, away_c = c;
    if (step->dtype == DTYPE_FLOAT64)
        step_f64(step, alpha, beta, &away_a, &away_b, &away_c, &lanes);
    else if (element_is_signed(step->dtype))
        step_int64(step, &away_a, &away_b, &away_c, &lanes);
    else
        step_uint64(step, &away_a, &away_b, &away_c, &lanes);
    return lanes;
}

DEVICE void store_result(const CudaPointwiseParams *p, uint64_t at, const StepLanes *lanes) {
    if (is_whole(p, p->out, p->out_size, at)) {
        store_whole(p->out + at * p->out_size, p->out_size, lanes);
        return;
    }
    UNROLLED for (uint64_t i = 0; i < LANES; i++) if (at + i < p->count)
        element_store(p->out, p->out_size, (int64_t)(at + i), lanes->bits[i]);
}

KERNEL(layover_pointwise, CudaPointwiseParams) {
    THREADS(t) {
        EACH_UNIT(unit, t, (p.count + LANES - 1) / LANES) {
            StepLanes slots[CUDA_POINTWISE_SLOTS_MAX];
            const uint64_t at = unit * LANES;
            StepLanes result;
            for (uint32_t s = 0; s < p.step_count; s++) {
                result = run_step(&p, &p.steps[s], slots, at);
                if (s + 1 < p.step_count) slots[p.steps[s].slot] = result;
            }
            store_result(&p, at, &result);
        }
    }
}
