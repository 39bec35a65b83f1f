#pragma once
/* The parts that the files of the lowering share. Threads: one at a time per program. */
#include "compiler/ir/ir_build.h"
#include "compiler/relay/relay_operators.h"

typedef struct RelayLower {
    RelayProgram *program;
    IrModule *module;
} RelayLower;

/* Lowers an expression at the end of *inout_block. A value is one variable. */
MUST_CHECK Error *relay_lower_expr(
    RelayLower *lower, IrBlock *block, const RelayExpr *expr, IrVariable **out);
MUST_CHECK Error *relay_lower_match(
    RelayLower *lower, IrBlock *block, const RelayExpr *match, IrVariable **out);
/* Makes the module's function for a global without its body. */
MUST_CHECK Error *relay_lower_declare(RelayLower *lower, const char *name, const IrBlock *outer,
    const RelayExpr *function, IrFunction **out);
MUST_CHECK Error *relay_lower_body(RelayLower *lower, const RelayExpr *function, IrFunction *made);
/* relay_ports.c: exports a global under its name. *out_fits: false if its type has no ports. */
MUST_CHECK Error *relay_lower_export(RelayLower *lower, const RelayGlobal *global);
/* Whether values of a parameter's and result's types can pass a port. */
bool relay_has_ports(const RelayGlobal *global);
