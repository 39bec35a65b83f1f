#pragma once
/* Instrumentation: a host function called before and after every operator, packed function and
 * instruction that makes a closure or calls one of bytecode; it
 * may have the call skipped. An instrument belongs to the host, not to the execution: attach it
 * again after a resume. Set by the command line's profile (tools/run/run_profile.c); called on
 * the thread of the execution. */
#include "vm/execution/execution.h"
#include "vm/execution/instrument_call.h"

/* Between two runs. NULL removes the instrument. */
void execution_set_instrument(Execution *execution, Instrument *instrument, void *context);
