#include "vm/objects/scalar.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "vm/objects/object.h"

bool scalar_write_int(DType dtype, int64_t value, void *to) {
    uint32_t bits = dtype_bits(dtype);
    if (!dtype_is_integer(dtype) || bits < 8) return false;
    if (dtype_is_signed(dtype)) {
        if (bits < 64 && (value < -(INT64_C(1) << (bits - 1)) || value >= INT64_C(1) << (bits - 1)))
            return false;
    } else if (value < 0 || (bits < 64 && value >= INT64_C(1) << bits)) {
        return false;
    }
    memcpy(to, &value, bits / 8); /* little-endian */
    return true;
}

Error *scalar_write(const Value *value, DType dtype, void *to) {
    if (dtype == DTYPE_BOOL) {
        if (value->tag != VALUE_BOOL) FAIL(INVALID, "a %s is not a bool", value_kind_name(value));
        *(uint8_t *)to = value->boolean;
        return NULL;
    }
    if (dtype_is_integer(dtype)) {
        if (value->tag != VALUE_INT) FAIL(INVALID, "a %s is not an int", value_kind_name(value));
        if (!scalar_write_int(dtype, value->integer, to))
            FAIL(INVALID, "%" PRIi64 " does not fit %s", value->integer, dtype_name(dtype));
        return NULL;
    }
    double real = value->tag == VALUE_INT ? (double)value->integer : value->real;
    if (value->tag != VALUE_INT && value->tag != VALUE_FLOAT)
        FAIL(INVALID, "a %s is not a number", value_kind_name(value));
    if (!dtype_scalar_write(dtype, real, to))
        FAIL(UNSUPPORTED, "scalars of element type %s", dtype_name(dtype));
    return NULL;
}

Error *scalar_read(DType dtype, const void *from, Value *out) {
    if (dtype == DTYPE_BOOL) {
        *out = value_bool(*(const uint8_t *)from != 0);
        return NULL;
    }
    if (dtype_is_integer(dtype) && dtype_bits(dtype) >= 8) {
        uint64_t word = 0;
        memcpy(&word, from, dtype_bits(dtype) / 8);
        if (dtype == DTYPE_UINT64 && word > INT64_MAX)
            FAIL(INVALID, "%" PRIu64 " does not fit int64", word);
        uint32_t shift = 64 - dtype_bits(dtype);
        *out =
            value_int(dtype_is_signed(dtype) ? (int64_t)(word << shift) >> shift : (int64_t)word);
        return NULL;
    }
    double real;
    if (!dtype_scalar_read(dtype, from, &real))
        FAIL(UNSUPPORTED, "scalars of element type %s", dtype_name(dtype));
    *out = value_float(real);
    return NULL;
}
