#include "kernels/tensor/dtype.h"

#include <stddef.h>
#include <string.h>

/* DLPack's type codes (dlpack.h), as dtypes.def uses them. */
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_OPAQUE = 3, DLPACK_BFLOAT = 4 };

typedef struct DTypeInfo {
    const char *text;
    const char *numpy;
    uint8_t bits;
    uint8_t dlpack_code;
} DTypeInfo;

static const DTypeInfo infos[DTYPE_COUNT] = {
#define DTYPE(name, number, bits, dlpack_code, text, numpy)                                        \
    [number] = {text, numpy, bits, dlpack_code},
#include "kernels/tensor/dtypes.def"
#undef DTYPE
};

bool dtype_is_known(uint32_t number) { return number < DTYPE_COUNT && infos[number].text; }

const char *dtype_name(DType dtype) { return dtype_is_known(dtype) ? infos[dtype].text : "none"; }

DType dtype_find(const char *text) {
    for (uint32_t i = 1; i < DTYPE_COUNT; i++)
        if (infos[i].text && strcmp(infos[i].text, text) == 0) return (DType)i;
    return DTYPE_NONE;
}

const char *dtype_numpy(DType dtype) { return dtype_is_known(dtype) ? infos[dtype].numpy : NULL; }

uint32_t dtype_bits(DType dtype) { return dtype_is_known(dtype) ? infos[dtype].bits : 0; }

bool dtype_is_float(DType dtype) {
    return dtype_is_known(dtype) && dtype != DTYPE_STRING && dtype != DTYPE_BOOL &&
           infos[dtype].dlpack_code != DLPACK_INT && infos[dtype].dlpack_code != DLPACK_UINT;
}

bool dtype_is_integer(DType dtype) {
    return dtype_is_known(dtype) &&
           (infos[dtype].dlpack_code == DLPACK_INT || infos[dtype].dlpack_code == DLPACK_UINT);
}

bool dtype_is_signed(DType dtype) {
    return dtype_is_float(dtype) ||
           (dtype_is_known(dtype) && infos[dtype].dlpack_code == DLPACK_INT);
}

bool dtype_to_dlpack(DType dtype, uint8_t *out_code, uint8_t *out_bits) {
    if (!dtype_is_known(dtype) || dtype == DTYPE_STRING) return false;
    *out_code = infos[dtype].dlpack_code;
    *out_bits = infos[dtype].bits;
    return true;
}

DType dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes) {
    if (lanes != 1 || code == DLPACK_OPAQUE) return DTYPE_NONE;
    for (uint32_t i = 1; i < DTYPE_COUNT; i++)
        if (infos[i].text && infos[i].dlpack_code == code && infos[i].bits == bits) return (DType)i;
    return DTYPE_NONE;
}
