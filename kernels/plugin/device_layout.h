#pragma once
/* A fingerprint of the layout that a plugin and its host must share: the place of each member of
 * their common structures, and the numbers of operators, element types and errors. Two builds with
 * different fingerprints do not understand each other, whatever DEVICE_ABI_VERSION says. Compared
 * by plugin.c; a compile-time constant. */
#include <stddef.h>

#include "kernels/operator/attributes_internal.h"
#include "kernels/operator/kernel.h"
#include "kernels/tensor/storage.h"
#include "kernels/tensor/tensor.h"

/* Includes the line of the row, so that the order counts. */
#define DEVICE_LAYOUT_WORD(a, b) ((uint64_t)__LINE__ << 40 ^ (uint64_t)(a) << 20 ^ (uint64_t)(b))
#define DEVICE_LAYOUT_MIX(word) (((word) ^ (word) >> 29) * UINT64_C(0xbf58476d1ce4e5b9))

/* Above 0, since 0 means a table without a fingerprint. */
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
