#pragma once
/* Register allocation: which register of its frame each variable of a function is in.
 *
 * Functions have no loops but the jump of a self tail call, over which only parameters are alive:
 * so program order is enough, and a register is free again behind its variable's last use. Results
 * of an If are written by its branches in place, and what a self tail call passes on is made in
 * the parameter's register where that is free. */
#include "compiler/ir/ir.h"

#define REGISTERS_NONE UINT32_MAX

typedef struct Registers {
    uint32_t *of; /* by variable id; REGISTERS_NONE: of a function that was not assigned yet */
    uint32_t count;
    uint32_t scratch; /* for moves and tuples; not used by any variable */
    /* By variable id, while a function is assigned. They are made once for all functions: made for
     * each, they would cost the square of their number. */
    uint32_t *last_use, *prefer;
} Registers;

/* For all functions of the module; released with registers_deinit, on failure too. */
MUST_CHECK Error *registers_init(const IrModule *module, Registers *out);
void registers_deinit(Registers *registers);
/* Fills inout_registers->of for this function's variables. */
MUST_CHECK Error *registers_assign(const IrFunction *function, Registers *inout_registers);
