#pragma once
/* Element types of tensors: names, sizes, sets of them. Used everywhere. Pure: constant tables. */
#include <stdbool.h>
#include <stdint.h>

typedef enum DType {
    DTYPE_NONE = 0,
#define DTYPE(name, number, bits, dlpack_code, text, numpy) DTYPE_##name = number,
#include "kernels/tensor/dtypes.def"
#undef DTYPE
    DTYPE_COUNT
} DType;

/* A set of element types, for kernel rows. */
typedef uint32_t DTypeSet;
#define DTYPE_BIT(dtype) ((DTypeSet)1 << (dtype))
static inline bool dtype_in(DTypeSet set, DType dtype) { return set >> dtype & 1; }
/* Types that are computed in float32. */
#define DTYPES_FLOAT32_AND_HALF                                                                    \
    (DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_BFLOAT16))
#define DTYPES_FLOAT (DTYPES_FLOAT32_AND_HALF | DTYPE_BIT(DTYPE_FLOAT64))
#define DTYPES_INTEGER                                                                             \
    (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_INT32) |                     \
        DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_UINT16) |                \
        DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))
#define DTYPES_NUMBER (DTYPES_FLOAT | DTYPES_INTEGER)
/* With a sign; FLOAT8E8M0, a power of two, is not among them. */
#define DTYPES_FLOAT8                                                                              \
    (DTYPE_BIT(DTYPE_FLOAT8E4M3FN) | DTYPE_BIT(DTYPE_FLOAT8E4M3FNUZ) |                             \
        DTYPE_BIT(DTYPE_FLOAT8E5M2) | DTYPE_BIT(DTYPE_FLOAT8E5M2FNUZ))
/* All types with whole bytes, which data movement takes. */
#define DTYPES_ANY                                                                                 \
    (DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL) | DTYPES_FLOAT8 | DTYPE_BIT(DTYPE_FLOAT8E8M0))
/* Types that elementwise programs (operator/elementwise.def) compute with. */
#define DTYPES_POINTWISE (DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL) | DTYPES_FLOAT8)
/* Types of less than a byte, packed. */
#define DTYPES_PACKED_FLOAT                                                                        \
    (DTYPE_BIT(DTYPE_FLOAT4E2M1) | DTYPE_BIT(DTYPE_FLOAT6E2M3) | DTYPE_BIT(DTYPE_FLOAT6E3M2))
#define DTYPES_PACKED_INTEGER                                                                      \
    (DTYPE_BIT(DTYPE_UINT2) | DTYPE_BIT(DTYPE_INT2) | DTYPE_BIT(DTYPE_UINT4) |                     \
        DTYPE_BIT(DTYPE_INT4))
#define DTYPES_PACKED (DTYPES_PACKED_FLOAT | DTYPES_PACKED_INTEGER)
/* All types of fixed size. */
#define DTYPES_SIZED (DTYPES_ANY | DTYPES_PACKED)

/* False for numbers without a row. */
bool dtype_is_known(uint32_t number);
/* "float32"; "none" for DTYPE_NONE. */
const char *dtype_name(DType dtype);
/* DTYPE_NONE if no row has that text. */
DType dtype_find(const char *text);
/* npy descr such as "<f4", NULL where npy has none. */
const char *dtype_numpy(DType dtype);
/* Bits of one element; 0 for string. */
uint32_t dtype_bits(DType dtype);
bool dtype_is_float(DType dtype);
bool dtype_is_integer(DType dtype);
bool dtype_is_signed(DType dtype);
/* DLPack's {code, bits}; lanes are always 1. False if DLPack has none (string). */
bool dtype_to_dlpack(DType dtype, uint8_t *out_code, uint8_t *out_bits);
DType dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes);
