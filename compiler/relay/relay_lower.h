#pragma once
/* Lowers a checked Relay program to the IR. Caller: relay_import.c. Threads: one at a time per
 * program.
 *
 * Functions become functions of one result; those inside others become local ones, whose captured
 * values lambda lifting finds. Type parameters leave no trace: values are tagged. main, or every
 * function if there is no main, becomes an exported function with a port for each tensor. */
#include "compiler/relay/text/relay_tree.h"

MUST_CHECK Error *relay_lower(RelayProgram *program, IrModule *module);
