#include "compiler/passes/quantized.h"

#include <math.h>

#include "compiler/ir/constants.h"
#include "kernels/tensor/dtype_scalar.h"

bool quantized_is_byte(DType dtype) { return dtype == DTYPE_INT8 || dtype == DTYPE_UINT8; }

/* Whether also their reciprocals and products are normal numbers. */
static bool are_in_range(const Tensor *scales) {
    const float *values = tensor_data(scales);
    const int64_t count = shape_count_unchecked(&scales->shape);
    for (int64_t i = 0; i < count; i++)
        if (!(values[i] > 0x1p-100f && values[i] < 0x1p100f)) return false;
    return count > 0;
}

int64_t quantized_code(const Tensor *codes, int64_t i) {
    const uint32_t size = dtype_bits(codes->dtype) / 8;
    int64_t code = 0;
    (void)dtype_scalar_read_int(
        codes->dtype, (const char *)tensor_data(codes) + (size_t)i * size, &code);
    return code;
}

static bool is_plain(const Attributes *attributes, const char *type) {
    return !attributes_has(attributes, type) || attributes_dtype(attributes, type) == DTYPE_FLOAT32;
}

/* Whether the zero points are constants with as many elements as the scales. */
static bool read_zero(Quantized *out) {
    const Tensor *zeros = out->zero ? ir_variable_tensor(out->zero) : NULL;
    if (!out->zero) return true;
    if (!zeros || zeros->dtype != out->dtype) return false;
    if (shape_count_unchecked(&zeros->shape) != shape_count_unchecked(&out->scales->shape))
        return false;
    out->one_zero = (int32_t)quantized_code(zeros, 0);
    return true;
}

bool quantized_read(IrBinding *binding, OperatorId id, Quantized *out) {
    const DTypeSet takes = DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_INT16) |
                           DTYPE_BIT(DTYPE_UINT16) | DTYPE_BIT(DTYPE_INT32);
    if (!binding || binding->kind != IR_OPERATOR || binding->operator_info->id != id) return false;
    const Attributes *attributes = binding->attributes;
    const bool quantizes = id == OPERATOR_QUANTIZE_LINEAR;
    *out = (Quantized){.binding = binding,
        .values = fusion_operand(binding, 0),
        .scale = fusion_operand(binding, 1),
        .zero = fusion_operand(binding, 2)};
    const IrVariable *result = binding->results[0];
    const IrType *floats = quantizes ? &out->values->type : &result->type;
    const IrType *codes = quantizes ? &result->type : &out->values->type;
    if (floats->kind != IR_TYPE_TENSOR || floats->dtype != DTYPE_FLOAT32) return false;
    if (codes->kind != IR_TYPE_TENSOR || !dtype_in(takes, codes->dtype)) return false;
    out->dtype = codes->dtype;
    out->scales = ir_variable_tensor(out->scale);
    if (!out->scales || out->scales->dtype != DTYPE_FLOAT32) return false;
    if (attributes_int(attributes, "block_size") != 0) return false;
    if (!is_plain(attributes, quantizes ? "precision" : "output_dtype")) return false;
    if (!are_in_range(out->scales) || !read_zero(out)) return false;
    out->axis = attributes_int(attributes, "axis");
    out->is_one = shape_count_unchecked(&out->scales->shape) == 1;
    out->one_scale = *(const float *)tensor_data(out->scales);
    return out->is_one || out->scales->shape.rank == 1;
}

bool quantized_of(const IrBinding *consumer, const IrVariable *variable, Quantized *out) {
    IrBinding *maker = fusion_maker(consumer, variable, OPERATOR_DEQUANTIZE_LINEAR);
    return maker && quantized_read(maker, OPERATOR_DEQUANTIZE_LINEAR, out);
}

void quantized_limits(DType dtype, double *out_low, double *out_high) {
    const double codes = dtype_bits(dtype) == 8 ? UINT8_MAX : UINT16_MAX;
    *out_low = dtype_is_signed(dtype) ? -(codes + 1) / 2 : 0;
    *out_high = *out_low + codes;
}

bool quantized_is_same(const Quantized *a, const Quantized *b) {
    return a->is_one && b->is_one && a->dtype == b->dtype && a->one_scale == b->one_scale &&
           a->one_zero == b->one_zero;
}

int64_t quantized_round(const Quantized *to, double value) {
    uint64_t code = 0;
    int64_t rounded = 0;
    const double scaled = nearbyint((double)((float)value / to->one_scale)) + to->one_zero;
    (void)dtype_scalar_write(to->dtype, scaled, &code);
    (void)dtype_scalar_read_int(to->dtype, &code, &rounded);
    return rounded;
}

Error *quantized_scalar(IrModule *module, DType dtype, double value, IrVariable **out) {
    const Shape shape = {0};
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    (void)dtype_scalar_write(dtype, value, tensor_data(tensor));
    return ir_constant_tensor(module, tensor, out);
}

Error *quantized_scale(IrModule *module, const Quantized *from, IrVariable **out) {
    *out = from->scale;
    if (!from->is_one || from->scales->shape.rank == 0) return NULL;
    return quantized_scalar(module, DTYPE_FLOAT32, (double)from->one_scale, out);
}

Error *quantized_zero(IrModule *module, const Quantized *from, IrVariable **out) {
    *out = from->zero;
    if (from->is_one && (!from->zero || ir_variable_tensor(from->zero)->shape.rank > 0))
        return quantized_scalar(module, from->dtype, (double)from->one_zero, out);
    if (from->zero) return NULL;
    return constants_zeros(module, from->dtype, &from->scales->shape, out);
}
