#pragma once
/* Who calls each function of a module: made once by a pass that would otherwise look for the calls
 * of one function after the other, which costs the square of their number. It holds while no call
 * comes or goes. */
#include "compiler/ir/ir.h"

typedef struct CallLists {
    IrBinding **calls; /* by function called, in program order */
    size_t *first;     /* by index: where a function's calls begin; one more for the end */
    bool *is_closure;  /* by index: another function makes a closure of it */
} CallLists;

MUST_CHECK Error *call_lists_init(const IrModule *module, CallLists *out);
void call_lists_deinit(CallLists *lists);
#define OWN_CALLS(name) __attribute__((cleanup(call_lists_deinit))) name

/* Borrowed. */
IrBinding *const *call_lists_get(
    const CallLists *lists, const IrFunction *function, size_t *out_count);
bool call_lists_calls_itself(const CallLists *lists, const IrFunction *function);
