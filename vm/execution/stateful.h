#pragma once
/* The stateful interface: set inputs one by one, invoke, read outputs; inputs and saved calls are
 * part of the execution and of its checkpoints. Called by tests and by hosts of the VM, and
 * execution_restore.c sets the inputs of a checkpoint; one thread at a time. */
#include "vm/execution/execution.h"

enum { STATEFUL_INPUTS_MAX = 4096 };

/* Keeps the value as input `parameter` of a function, in its port's slot. Errors: INVALID. */
MUST_CHECK Error *stateful_set_input(
    Execution *execution, uint32_t function, uint32_t parameter, const Value *value);
/* Finds a parameter by name. Errors: NOT_FOUND, naming the inputs. */
MUST_CHECK Error *stateful_find_input(
    const Executable *executable, uint32_t function, const char *name, uint32_t *out_parameter);
/* Calls a function with the inputs set; execution_run then runs it. The inputs stay set. Errors:
 * CONFLICT a call is under way; INVALID an input is not set. */
MUST_CHECK Error *stateful_invoke(Execution *execution, uint32_t function);
/* Reads a part of the result: path has field indices from the outermost tuple or list inwards;
 * count 0 is the result itself. The caller owns *out. Errors: CONFLICT no call has finished;
 * INVALID. */
MUST_CHECK Error *stateful_get_output(
    const Execution *execution, const uint32_t *path, uint32_t count, Value *out);
/* Keeps a function with all its arguments under a name. Replaces an earlier one of that name. */
MUST_CHECK Error *stateful_save_function(Execution *execution, const char *name, uint32_t function,
    const Value *arguments, uint32_t argument_count);
/* Calls a saved function. Errors: NOT_FOUND. */
MUST_CHECK Error *stateful_invoke_saved(Execution *execution, const char *name);
/* Values that packed functions keep by name: part of the execution like inputs. NULL: there is no
 * such name. Borrowed until the next change. */
const Value *stateful_find_named(const Execution *execution, const char *name);
/* Sets or replaces. Consumes the value, even on failure. Errors: EXHAUSTED too many. */
MUST_CHECK Error *stateful_set_named(Execution *execution, const char *name, Value owned_value);
/* Removes the value whose name is the prefix and then `name`; NULL: all with the prefix. */
void stateful_remove_named(Execution *execution, const char *prefix, const char *name);
