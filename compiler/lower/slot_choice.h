#pragma once
/* Which slot each value of a lifted module is in: 0 host, 1 the execution's device, by kind alone.
 *
 * Shapes, trip counts, conditions and strings are on the host, the rest on the device. Small
 * integers and bools whose only uses are of that kind, or that are made from values on the host,
 * stay there too. Starts with every value that might be on the host there and moves to the device
 * what must not stay, until nothing changes: the answer does not depend on the order.
 *
 * All results of an operator are in the slot that its kernel runs in, whatever their sizes: a small
 * one that decides something is copied to the host by the pass assign_slots. Strings and all that
 * is made of them by their operator are pinned to the host, and so is what an instruction gives
 * there only, like a shape. slot_check.h says whether it is so. */
#include "compiler/ir/ir.h"

enum { SLOT_HOST_ANY = 2 };

typedef struct SlotChoice {
    const IrModule *module;
    uint8_t *of;            /* by variable id */
    bool *strings;          /* by variable id: slot_strings.h */
    uint8_t *needs;         /* by variable id: bit 0 used on the host, bit 1 on the device */
    uint8_t *eligible;      /* by variable id: may be on the host */
    uint8_t *pinned;        /* by variable id: stays where it is whatever uses it */
    uint32_t *first_result; /* by function: its first result in results */
    uint8_t *results;       /* by function and result */
    uint8_t *result_pinned; /* by function and result */
    uint8_t *result_needs;  /* the same, over all calls */
    bool *is_closure;       /* by function */
    uint64_t visits;        /* how often a binding or function was looked at; for tests */
} SlotChoice;

/* From where slot_settle goes on: every value that might be on the host is there. */
MUST_CHECK Error *slot_choice_begin(const IrModule *module, SlotChoice *out);
void slot_choice_deinit(SlotChoice *choice);
/* Where a binding wants its operand i: 0, 1 or SLOT_HOST_ANY. */
uint8_t slot_choice_of_operand(const SlotChoice *choice, const IrBinding *binding, uint32_t index);
/* Where a block's result i goes. */
uint8_t slot_choice_of_result(const SlotChoice *choice, const IrBlock *block, uint32_t index);
/* Whether a tensor of that type surely has few elements. */
bool slot_choice_is_small(const IrType *type);
/* Whether values of that kind have a slot at all. */
bool slot_choice_applies(const IrType *type);
