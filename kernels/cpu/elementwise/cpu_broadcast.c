#include "kernels/cpu/elementwise/cpu_broadcast.h"

void cpu_broadcast_collapse(const Shape *shape, uint32_t operand_count,
    int64_t (*strides)[SHAPE_RANK_MAX], CpuBroadcast *out) {
    CpuBroadcast made = {.rank = 0, .count = shape_count_unchecked(shape)};
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 1) continue;
        bool joins = made.rank > 0;
        for (uint32_t k = 0; joins && k < operand_count; k++)
            joins = strides[k][made.rank - 1] == strides[k][i] * shape->dims[i];
        uint32_t at = joins ? made.rank - 1 : made.rank++;
        made.dims[at] = joins ? made.dims[at] * shape->dims[i] : shape->dims[i];
        for (uint32_t k = 0; k < operand_count; k++) strides[k][at] = strides[k][i];
    }
    if (made.rank == 0) {
        made.rank = 1;
        made.dims[0] = 1;
        for (uint32_t k = 0; k < operand_count; k++) strides[k][0] = 0;
    }
    *out = made;
}
