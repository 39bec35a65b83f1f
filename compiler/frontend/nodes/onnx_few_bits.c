#include "compiler/frontend/nodes/onnx_few_bits.h"

#include <inttypes.h>

#include "base/checked.h"
#include "kernels/tensor/dtype_bits.h"

enum { PIECE = 4096 /* codes that are unpacked at a time: a multiple of PACKED_GROUP */ };

DType few_bits_dtype(const FewBits *codes) {
    if (codes->bits <= 2) return codes->is_signed ? DTYPE_INT2 : DTYPE_UINT2;
    if (codes->bits <= 4) return codes->is_signed ? DTYPE_INT4 : DTYPE_UINT4;
    return codes->is_signed ? DTYPE_INT8 : DTYPE_UINT8;
}

/* The code at an index of a row. A code ends at most one byte after the byte where it begins. */
static uint32_t code_at(const FewBits *codes, const uint8_t *row, uint64_t index) {
    if (codes->high_first) index ^= 1;
    const uint64_t first = index * codes->bits, at = first / 8;
    uint32_t two = row[at];
    if (at + 1 < codes->row_bytes) two |= (uint32_t)row[at + 1] << 8;
    return two >> first % 8 & ((1u << codes->bits) - 1);
}

static void write_codes(const FewBits *codes, const uint8_t *from, Tensor *to) {
    const uint32_t bits = dtype_bits(to->dtype);
    const uint32_t mask = (1u << bits) - 1, half = codes->is_signed ? 1u << (codes->bits - 1) : 0;
    const uint64_t count = codes->rows * codes->count;
    uint8_t *data = tensor_data(to), piece[PIECE];
    uint64_t row = 0, column = 0;
    for (uint64_t first = 0; first < count; first += PIECE) {
        const uint64_t length = count - first < PIECE ? count - first : PIECE;
        for (uint64_t i = 0; i < length; i++) {
            const uint32_t code = code_at(codes, from + row * codes->row_bytes, column);
            piece[i] = (uint8_t)((code - half) & mask);
            if (++column < codes->count) continue;
            column = 0;
            row++;
        }
        if (bits == 8)
            memcpy(data + first, piece, length);
        else
            dtype_bits_pack(bits, piece, first, length, data);
    }
}

Error *few_bits_constant(const OnnxNode *node, const FewBits *codes, const char *input,
    const Shape *shape, IrVariable **out) {
    const Tensor *packed = codes->packed;
    OWN(Tensor, made) = NULL;
    uint64_t bytes;
    if (packed->dtype != DTYPE_UINT8)
        FAIL(INVALID, "%s of %s, not uint8", input, dtype_name(packed->dtype));
    if (!checked_mul_u64(codes->rows, codes->row_bytes, &bytes) || bytes != tensor_bytes(packed))
        FAIL(INVALID, "%s has %" PRIu64 " bytes, not %" PRIu64 " rows of %" PRIu64, input,
            tensor_bytes(packed), codes->rows, codes->row_bytes);
    TRY(tensor_create_on_host(node->import->device, few_bits_dtype(codes), shape, &made));
    if (bytes) write_codes(codes, tensor_data(packed), made);
    return ir_constant_tensor(node->import->module, made, out);
}

Error *few_bits_unpack(const OnnxNode *node, const IrVariable *bytes, int64_t bits, int64_t count,
    bool is_signed, IrVariable **out) {
    const Tensor *packed = bytes ? ir_variable_tensor(bytes) : NULL;
    if (!packed) FAIL(UNSUPPORTED, "quantized weights that are no initializers");
    if (bits != 2 && bits != 4 && bits != 8)
        FAIL(INVALID, "weights of %" PRId64 " bits, not 2, 4 or 8", bits);
    Shape shape = packed->shape;
    if (shape.rank == 0) FAIL(INVALID, "quantized weights of rank 0");
    int64_t *last = &shape.dims[shape.rank - 1];
    const int64_t row_bytes = *last, held = row_bytes * (8 / bits);
    *last = count > 0 ? count : held;
    if (*last > held || (*last * bits + 7) / 8 != row_bytes)
        FAIL(INVALID, "rows of %" PRId64 " bytes for %" PRId64 " numbers of %" PRId64 " bits",
            row_bytes, *last, bits);
    const FewBits codes = {
        .packed = packed,
        .rows = (uint64_t)shape_product(&shape, 0, shape.rank - 1),
        .row_bytes = (uint64_t)row_bytes,
        .count = (uint64_t)*last,
        .bits = (uint32_t)bits,
        .is_signed = is_signed,
    };
    return few_bits_constant(node, &codes, "quantized weights", &shape, out);
}

Error *few_bits_input(const OnnxNode *node, uint32_t index, const char *input, Tensor **out) {
    const IrVariable *variable = onnx_input(node, index);
    if (!variable) FAIL(INVALID, "input %s is missing", input);
    *out = ir_variable_tensor(variable);
    if (!*out)
        FAIL(UNSUPPORTED, "input %s is computed; save the model with %s as an initializer", input,
            input);
    return NULL;
}

Error *few_bits_size(const OnnxNode *node, const char *name, int64_t *out) {
    TRY(onnx_attribute_int(node, name, 0, out));
    if (*out < 1) FAIL(INVALID, "attribute %s is %" PRId64 ", not 1 or more", name, *out);
    return NULL;
}

Error *few_bits_check_block(int64_t block) {
    if (block < FEW_BITS_BLOCK_MIN || (block & (block - 1)) != 0)
        FAIL(INVALID, "block_size %" PRId64 " is no power of two from %d on", block,
            FEW_BITS_BLOCK_MIN);
    return NULL;
}
