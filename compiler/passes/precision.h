#pragma once
/* Below float32: which products of matrices, convolutions and recurrent networks a model's
 * executable computes at a lower precision, and what became of the others. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef enum Precision {
    PRECISION_FP32 = 0, /* as the model says */
    PRECISION_BF16,     /* FusedMatMulBFloat16, FusedConvBFloat16, LSTMBFloat16, GRU…, RNN… */
    PRECISION_INT8,     /* FusedMatMulInt8, FusedConvInt8 */
} Precision;

typedef enum PrecisionLeft {
#define LEFT(id, name, text) PRECISION_LEFT_##id,
#include "compiler/passes/precision.def"
#undef LEFT
    PRECISION_LEFT_COUNT
} PrecisionLeft;

typedef struct PrecisionReport {
    uint32_t lowered;                    /* operators, as the others */
    uint32_t left[PRECISION_LEFT_COUNT]; /* by why */
} PrecisionReport;

/* NULL: fp32. Errors: USAGE an unknown name. */
MUST_CHECK Error *precision_find(const char *name, Precision *out);
/* Whether that name is a precision below float32, or none at all. */
bool precision_is_lower(const char *name);
const char *precision_left_name(PrecisionLeft left);
const char *precision_left_text(PrecisionLeft left);
