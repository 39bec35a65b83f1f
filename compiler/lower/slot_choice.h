#pragma once
/* The slot of each value of a lifted module: 0 host, 1 the execution's device, by kind alone.
 * Callers: slot_settle.c, which chooses, and the pass assign_slots. Threads: one at a time per
 * module.
 *
 * Shapes, trip counts, conditions and strings are on the host, the rest on the device. Small
 * integers and bools stay on the host, too, if they are made from host values alone, or if shapes
 * or control flow are made of them and the device does not use them. The choice starts with every
 * possible value on the host and moves values to the device until no slot changes, so the result
 * does not depend on the order.
 *
 * All results of an operator are in the slot that its kernel runs in, whatever their sizes; the
 * pass assign_slots copies a small result that decides something to the host. Strings, the results
 * of their operators, and values that an instruction makes only on the host, like a shape, are
 * pinned to the host. slot_check.h checks the result. */
#include "compiler/ir/ir.h"

enum { SLOT_HOST_ANY = 2 };

typedef struct SlotChoice {
    const IrModule *module;
    uint8_t *of;            /* by variable id */
    bool *strings;          /* by variable id: slot_strings.h */
    bool *demanded;         /* by variable id: slot_demand.h */
    bool *computed;         /* by variable id: depends on values that are on the device */
    uint8_t *needs;         /* by variable id: bit 0 used on the host, bit 1 on the device */
    uint8_t *eligible;      /* by variable id: may be on the host */
    uint8_t *pinned;        /* by variable id: the slot is fixed for every use */
    uint32_t *first_result; /* by function: index of its first result in results */
    uint8_t *results;       /* by function and result */
    uint8_t *result_pinned; /* by function and result */
    uint8_t *result_needs;  /* by function and result: needs over all calls */
    bool *is_closure;       /* by function */
    uint64_t visits;        /* visits of bindings and functions; for tests */
} SlotChoice;

/* Begins a choice, which slot_settle completes: every value that may be on the host is there.
 * Release: slot_choice_deinit. */
MUST_CHECK Error *slot_choice_begin(const IrModule *module, SlotChoice *out);
void slot_choice_deinit(SlotChoice *choice);
/* Returns the slot that a binding wants for its operand i: 0, 1 or SLOT_HOST_ANY. */
uint8_t slot_choice_of_operand(const SlotChoice *choice, const IrBinding *binding, uint32_t index);
/* Returns the slot of a block's result i. */
uint8_t slot_choice_of_result(const SlotChoice *choice, const IrBlock *block, uint32_t index);
/* Returns whether a tensor of that type certainly has few elements. */
bool slot_choice_is_small(const IrType *type);
/* Returns whether values of that kind have a slot. */
bool slot_choice_applies(const IrType *type);
