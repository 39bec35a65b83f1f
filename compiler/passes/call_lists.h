#pragma once
/* The calls of each function of a module, collected once by the pass append. Searching the calls of
 * one function after the other would cost the square of their number. Valid while no call is added
 * or removed. Threads: one at a time per module. */
#include "compiler/ir/ir.h"

typedef struct CallLists {
    IrBinding **calls; /* by called function, in program order */
    size_t *first;     /* by index: the start of a function's calls; one more entry for the end */
    bool *is_closure;  /* by index: another function makes a closure of it */
} CallLists;

MUST_CHECK Error *call_lists_init(const IrModule *module, CallLists *out);
void call_lists_deinit(CallLists *lists);
#define OWN_CALLS(name) __attribute__((cleanup(call_lists_deinit))) name

/* Returns the calls of a function. The lists own the array. */
IrBinding *const *call_lists_get(
    const CallLists *lists, const IrFunction *function, size_t *out_count);
bool call_lists_calls_itself(const CallLists *lists, const IrFunction *function);
