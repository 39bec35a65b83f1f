#pragma once
/* Checks a Relay program and completes its tree: names are resolved, every expression gets its
 * type, matches are exhaustive. Caller: relay_import.c. Threads: one at a time per program.
 *
 * Types are found by unification (Hindley, Milner); operators answer once the types of their
 * arguments are known. Errors: INVALID, UNSUPPORTED "line 3, column 5: …". */
#include "compiler/relay/text/relay_tree.h"

MUST_CHECK Error *relay_check(RelayProgram *program);
