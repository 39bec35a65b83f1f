#pragma once
/* Loads a pointwise program's operands, several neighbouring elements at a time, and stores its
 * result. Contiguous ones move in one access of up to 16 bytes. Included by device_group.h and
 * device_pointwise.cu; runs on the GPU. */
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
DEVICE int is_whole(const CudaPointwiseOperands *p, uint64_t base, uint32_t size, uint64_t at) {
    uint64_t bytes = size == 8 ? 16 : (uint64_t)size * LANES;
    return at + LANES <= p->count && (base + at * size) % bytes == 0;
}

DEVICE StepLanes load_same(uint64_t bits) {
    StepLanes lanes;
    UNROLLED for (int i = 0; i < LANES; i++) lanes.bits[i] = bits;
    return lanes;
}

/* Loads lane by lane: strided operands, and contiguous ones at unaligned addresses. */
DEVICE StepLanes load_each(const CudaPointwiseOperands *p, const CudaPointwiseInput *input,
    uint32_t layout, uint32_t size, uint32_t rank, uint64_t at) {
    StepLanes lanes;
    const int strided = layout == CUDA_POINTWISE_STRIDED;
    int64_t first = 0;
    if (strided) first = element_offset(at, p->count, rank, p->dims, input->strides);
    UNROLLED for (uint64_t i = 0; i < LANES; i++) {
        uint64_t element = at + i < p->count ? at + i : p->count - 1;
        int64_t offset = (int64_t)element;
        if (strided && p->rows_whole)
            offset = first + (int64_t)i * input->strides[rank - 1];
        else if (strided)
            offset = element_offset(element, p->count, rank, p->dims, input->strides);
        lanes.bits[i] = element_load(input->address, size, offset);
    }
    return lanes;
}

DEVICE void store_lanes(
    const CudaPointwiseOperands *p, uint32_t size, uint64_t at, const StepLanes *lanes) {
    if (is_whole(p, p->out, size, at)) {
        store_whole(p->out + at * size, size, lanes);
        return;
    }
    UNROLLED for (uint64_t i = 0; i < LANES; i++) if (at + i < p->count)
        element_store(p->out, size, (int64_t)(at + i), lanes->bits[i]);
}
