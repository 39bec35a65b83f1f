#pragma once
/* Reads quantizations and dequantizations whose scales and zero points are constants. Callers: the
 * passes that compute with integers. Threads: one at a time per module. */
#include "compiler/passes/fusion.h"

/* A QuantizeLinear or DequantizeLinear between float32 and integers, without blocks. */
typedef struct Quantized {
    IrBinding *binding;
    IrVariable *values;       /* its first operand */
    IrVariable *scale, *zero; /* constants; zero may be NULL */
    const Tensor *scales;     /* above 0, neither tiny nor huge */
    DType dtype;              /* of the integers */
    int64_t axis;             /* of the scales when there are several; may be negative */
    bool is_one;              /* one scale and one zero point for all elements */
    float one_scale;          /* of the first element */
    int32_t one_zero;
} Quantized;

/* Whether the binding is the operator of that id in such a form. */
bool quantized_read(IrBinding *binding, OperatorId id, Quantized *out);
/* Whether the variable is dequantized so in the consumer's block. */
bool quantized_of(const IrBinding *consumer, const IrVariable *variable, Quantized *out);
/* Whether a type is int8 or uint8, the integers that products and convolutions take. */
bool quantized_is_byte(DType dtype);
/* The lowest and the highest code of int8, uint8, int16 or uint16. */
void quantized_limits(DType dtype, double *out_low, double *out_high);
/* Whether both have one scale and one zero point, and these are the same. */
bool quantized_is_same(const Quantized *a, const Quantized *b);
/* The number that the code i of a constant stands for; the codes are int8, uint8 or int32. */
int64_t quantized_code(const Tensor *codes, int64_t i);
/* The code nearest to a number, saturated. For one scale. */
int64_t quantized_round(const Quantized *to, double value);

/* Make constants of rank 0. */
MUST_CHECK Error *quantized_scalar(IrModule *module, DType dtype, double value, IrVariable **out);
/* The scale as a constant of rank 0 when there is one, else as it is. */
MUST_CHECK Error *quantized_scale(IrModule *module, const Quantized *from, IrVariable **out);
/* The zero point with the shape of quantized_scale; zeros where it is absent. */
MUST_CHECK Error *quantized_zero(IrModule *module, const Quantized *from, IrVariable **out);
