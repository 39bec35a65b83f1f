#pragma once
/* Passes: functions that change a module, run in the order of passes.def. */
#include "compiler/ir/ir.h"
#include "compiler/passes/precision.h"
#include "kernels/device/device.h"

typedef struct PassContext {
    IrModule *module;
    Device *portable;    /* kernels whose bits are the same everywhere: for folding and probing */
    Precision precision; /* of what lower_precision finds to be lowered */
    PrecisionReport *report; /* what became of it */
} PassContext;

typedef Error *PassFunction(PassContext *context);

#define PASS(name, lifted, text) MUST_CHECK Error *name##_pass(PassContext *context);
#include "compiler/passes/passes.def"
#undef PASS
