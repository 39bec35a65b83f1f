#pragma once
/* Precisions below float32: the matrix products, convolutions and recurrent networks that an
 * executable computes at a lower precision, and the reasons for those that it does not. Callers:
 * compile.c, lower_precision.c, tools/client. Pure: no state, any thread. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef enum Precision {
    PRECISION_FP32 = 0, /* the precision of the model */
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
    uint32_t lowered;                    /* number of lowered operators */
    uint32_t left[PRECISION_LEFT_COUNT]; /* number of operators left, by reason */
} PrecisionReport;

/* Finds a precision by name; NULL: fp32. Errors: USAGE an unknown name. */
MUST_CHECK Error *precision_find(const char *name, Precision *out);
/* Returns false for NULL and "fp32", true for every other name, also an unknown one. */
bool precision_is_lower(const char *name);
const char *precision_left_name(PrecisionLeft left);
const char *precision_left_text(PrecisionLeft left);
