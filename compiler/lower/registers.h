#pragma once
/* Register allocation: the register of its frame that each variable of a function gets. Used by the
 * emitter. Threads: one at a time per module.
 *
 * Functions have no loops but the jump of a self tail call, and only parameters are alive over it.
 * So program order suffices, and a register is free again behind its variable's last use. The
 * branches of an If write its results in place, and an argument of a self tail call is made in the
 * parameter's register if that is free. */
#include "compiler/ir/ir.h"

#define REGISTERS_NONE UINT32_MAX

typedef struct Registers {
    uint32_t *of; /* by variable id; REGISTERS_NONE: the variable's function was not assigned yet */
    uint32_t count;
    uint32_t scratch; /* for moves and tuples; not used by any variable */
    /* By variable id, while a function is assigned. Allocated once for all functions: one
     * allocation per function would cost the square of their number. */
    uint32_t *last_use, *prefer;
} Registers;

/* Prepares for all functions of the module. Release with registers_deinit, also after an error. */
MUST_CHECK Error *registers_init(const IrModule *module, Registers *out);
void registers_deinit(Registers *registers);
/* Fills inout_registers->of for this function's variables. */
MUST_CHECK Error *registers_assign(const IrFunction *function, Registers *inout_registers);
