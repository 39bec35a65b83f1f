#include "kernels/operator/operator_lower.h"

#include <stddef.h>

static const OperatorLower lowers[] = {
#define LOWER(id, of, weights) {OPERATOR_##id, OPERATOR_##of, DTYPE_##weights},
#include "kernels/operator/lower_operators.def"
#undef LOWER
};
enum { COUNT = sizeof lowers / sizeof *lowers };

const OperatorLower *operator_lower_get(OperatorId id) {
    for (size_t i = 0; i < COUNT; i++)
        if (lowers[i].id == id) return &lowers[i];
    return NULL;
}

OperatorId operator_lower_find(OperatorId of, DType weights) {
    for (size_t i = 0; i < COUNT; i++)
        if (lowers[i].of == of && lowers[i].weights == weights) return lowers[i].id;
    return OPERATOR_NONE;
}

OperatorId operator_lower_of(OperatorId id) {
    const OperatorLower *lower = operator_lower_get(id);
    return lower ? lower->of : id;
}
