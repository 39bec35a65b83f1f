#include "kernels/tensor/dtype_bits.h"

#include <string.h>

#include "kernels/tensor/dtype_scalar.h"

static uint8_t get(uint32_t bits, const uint8_t *packed, uint64_t index) {
    const uint64_t at = index * bits;
    const uint32_t shift = at % 8;
    uint32_t word = packed[at / 8];
    if (shift + bits > 8) word |= (uint32_t)packed[at / 8 + 1] << 8;
    return (uint8_t)(word >> shift & ((1u << bits) - 1));
}

static void put(uint32_t bits, uint8_t *packed, uint64_t index, uint8_t code) {
    const uint64_t at = index * bits;
    const uint32_t shift = at % 8, mask = (1u << bits) - 1;
    const uint32_t value = (code & mask) << shift, cleared = mask << shift;
    packed[at / 8] = (uint8_t)((packed[at / 8] & ~cleared) | value);
    if (shift + bits > 8)
        packed[at / 8 + 1] = (uint8_t)((packed[at / 8 + 1] & ~(cleared >> 8)) | value >> 8);
}

void dtype_bits_unpack(
    uint32_t bits, const uint8_t *packed, uint64_t first, uint64_t count, uint8_t *out) {
    uint64_t i = 0;
    for (; i < count && (first + i) % PACKED_GROUP != 0; i++) out[i] = get(bits, packed, first + i);
    for (; bits == 4 && i + 2 <= count; i += 2) {
        const uint8_t byte = packed[(first + i) / 2];
        out[i] = byte & 15;
        out[i + 1] = byte >> 4;
    }
    for (; bits == 2 && i + 4 <= count; i += 4) {
        const uint8_t byte = packed[(first + i) / 4];
        for (uint32_t k = 0; k < 4; k++) out[i + k] = byte >> 2 * k & 3;
    }
    for (; i < count; i++) out[i] = get(bits, packed, first + i);
}

void dtype_bits_pack(
    uint32_t bits, const uint8_t *codes, uint64_t first, uint64_t count, uint8_t *packed) {
    uint8_t *to = packed + first / PACKED_GROUP * bits;
    const uint32_t mask = (1u << bits) - 1;
    for (uint64_t i = 0; i < count; i += PACKED_GROUP) {
        const uint64_t left = count - i < PACKED_GROUP ? count - i : PACKED_GROUP;
        uint64_t word = 0;
        for (uint64_t k = 0; k < left; k++) word |= (uint64_t)(codes[i + k] & mask) << k * bits;
        for (uint64_t k = 0; k < (left * bits + 7) / 8; k++) *to++ = (uint8_t)(word >> 8 * k);
    }
}

void dtype_bits_clear_rest(uint32_t bits, uint64_t count, uint8_t *packed) {
    const uint64_t used = count * bits;
    if (used % 8 != 0) packed[used / 8] &= (uint8_t)((1u << used % 8) - 1);
}

/* Sub-byte elements are converted through the byte of a one-byte scalar. */
bool dtype_bits_read_element(DType dtype, const void *data, uint64_t index, double *out) {
    const uint32_t bits = dtype_bits(dtype);
    if (bits == 0) return false;
    if (bits >= 8) return dtype_scalar_read(dtype, (const uint8_t *)data + index * (bits / 8), out);
    *out = dtype_scalar_from_code(dtype, get(bits, data, index));
    return true;
}

bool dtype_bits_write_element(DType dtype, void *data, uint64_t index, double value) {
    const uint32_t bits = dtype_bits(dtype);
    if (bits == 0) return false;
    if (bits >= 8) return dtype_scalar_write(dtype, value, (uint8_t *)data + index * (bits / 8));
    put(bits, data, index, dtype_scalar_to_code(dtype, value));
    return true;
}
