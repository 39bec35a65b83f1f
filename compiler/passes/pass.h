#pragma once
/* Passes: functions that change a module. compile.c runs them in the order of passes.def. Threads:
 * one at a time per module. */
#include "compiler/ir/ir.h"
#include "compiler/passes/precision.h"
#include "kernels/device/device.h"

typedef struct PassContext {
    IrModule *module;
    /* a device whose kernels have the same bits on every machine, for folding and probing */
    Device *portable;
    /* whether dequantizations of constants are folded; not before the pass integers */
    bool folds_dequantized;
    Precision precision;     /* the precision that lower_precision lowers operators to */
    PrecisionReport *report; /* the effect of the precision */
} PassContext;

typedef Error *PassFunction(PassContext *context);

#define PASS(name, lifted, text) MUST_CHECK Error *name##_pass(PassContext *context);
#include "compiler/passes/passes.def"
#undef PASS
