#pragma once
/* Relay's operators: a table from their names to what builds them of the IR's operators. Callers:
 * the type check, which asks for a call's type, and the lowering, which builds the call. Threads:
 * one at a time per scratch or module. */
#include "base/nearest.h"
#include "compiler/ir/ir.h"
#include "compiler/relay/relay_types.h"

typedef struct RelayOperator RelayOperator;

/* Considers the names of all operators. */
void relay_operator_nearest(Nearest *nearest);
/* NULL: there is none. */
const RelayOperator *relay_operator_find(const char *name);
const char *relay_operator_name(const RelayOperator *row);
/* The least number of arguments. */
uint32_t relay_operator_arity(const RelayOperator *row);
/* Checks the number of arguments and the names of attributes. */
MUST_CHECK Error *relay_operator_check_call(const RelayOperator *row, const RelayExpr *call);

/* A module in which calls are built to ask for their types. */
typedef struct RelayScratch RelayScratch;
MUST_CHECK Error *relay_scratch_create(RelayScratch **out);
void relay_scratch_release(RelayScratch *scratch);
/* Finds the type of a call's result. *out_known: false while an argument's type is not known.
 * Errors: INVALID, UNSUPPORTED arguments or attributes that the operator refuses. */
MUST_CHECK Error *relay_operator_infer(RelayProgram *program, RelayScratch *scratch,
    const RelayExpr *call, RelayType **out_type, bool *out_known);
/* Builds a checked call. inputs: the values of the arguments. */
MUST_CHECK Error *relay_operator_build(RelayProgram *program, IrCursor at, const RelayExpr *call,
    IrVariable *const *inputs, IrVariable **out);
