#pragma once
/* The rules of the pass integers, by file. Each looks at one operator. Callers: integers.c. */
#include "compiler/passes/quantized.h"

/* integers_movement.c */
/* Movement of dequantized values becomes the dequantization of moved bytes. */
MUST_CHECK Error *integers_sink(Fusion *fusion, IrBinding *binding);
/* The quantization of moved values becomes the movement of quantized ones. */
MUST_CHECK Error *integers_raise(Fusion *fusion, IrBinding *binding);

/* integers_products.c */
/* A convolution or product between dequantizations and a quantization becomes one operator. */
MUST_CHECK Error *integers_product(Fusion *fusion, IrBinding *quantize);
/* One whose result stays float becomes an operator of integers, whose result is scaled. */
MUST_CHECK Error *integers_product_to_float(Fusion *fusion, IrBinding *binding);
