#include "compiler/ir/ir_permutation.h"

bool ir_permutes(const IrBinding *binding, const int64_t *order, uint32_t rank) {
    if (!binding || binding->kind != IR_OPERATOR ||
        binding->operator_info->id != OPERATOR_TRANSPOSE)
        return false;
    uint32_t count;
    const int64_t *given = attributes_ints(binding->attributes, "perm", &count);
    if (!given || count != rank) return false;
    for (uint32_t i = 0; i < rank; i++)
        if (given[i] != order[i]) return false;
    return true;
}

bool ir_swaps_last(const IrBinding *transpose) {
    uint32_t count;
    const int64_t *given = attributes_ints(transpose->attributes, "perm", &count);
    if (!given || count < 2) return false;
    for (uint32_t i = 0; i + 2 < count; i++)
        if (given[i] != i) return false;
    return given[count - 1] == count - 2 && given[count - 2] == count - 1;
}
