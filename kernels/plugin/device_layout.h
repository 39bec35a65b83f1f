#pragma once
/* A fingerprint of what a plugin and its host both know by heart: where each member of their common
 * structures is, and the numbers of operators, element types and errors. Two builds with different
 * ones do not understand each other, whatever DEVICE_ABI_VERSION says. */
#include <stddef.h>

#include "kernels/operator/attributes_internal.h"
#include "kernels/operator/kernel.h"
#include "kernels/tensor/storage.h"
#include "kernels/tensor/tensor.h"

/* By the line of its row, so that the order counts. */
#define DEVICE_LAYOUT_WORD(a, b) ((uint64_t)__LINE__ << 40 ^ (uint64_t)(a) << 20 ^ (uint64_t)(b))
#define DEVICE_LAYOUT_MIX(word) (((word) ^ (word) >> 29) * UINT64_C(0xbf58476d1ce4e5b9))

/* Above 0: a table that does not say has none. */
enum {
    DEVICE_LAYOUT = 1 + (int)((UINT64_C(0)
#define FIELD(type, member)                                                                        \
    +DEVICE_LAYOUT_MIX(DEVICE_LAYOUT_WORD(offsetof(type, member), sizeof(((type *)0)->member)))
#include "kernels/plugin/device_layout.def"
#undef FIELD
#define OPERATOR(id, name, version, inputs, outputs, attributes, rule, kind, purity, in_place,     \
    tolerance, expansion)                                                                          \
    +DEVICE_LAYOUT_MIX(DEVICE_LAYOUT_WORD(OPERATOR_##id, sizeof(name) + sizeof(attributes)))
#include "kernels/operator/operators.def"
#undef OPERATOR
#define DTYPE(name, number, bits, dlpack_code, text, numpy)                                        \
    +DEVICE_LAYOUT_MIX(DEVICE_LAYOUT_WORD(number, bits))
#include "kernels/tensor/dtypes.def"
#undef DTYPE
#define ERROR(name, number, http_status, exit_code, meaning)                                       \
    +DEVICE_LAYOUT_MIX(DEVICE_LAYOUT_WORD(number, exit_code))
#include "base/errors.def"
#undef ERROR
                                      ) >>
                              34)
};
