#pragma once
/* Prints models for people, from the JSON of a store or a daemon (model_json.h). Callers:
 * command_models.c, remote_models.c. Threads: the main thread. */
#include <json-c/json_object.h>

#include "tools/client/command.h"

void model_print_header(void);
void model_print_row(json_object *version);
/* Prints the header, the row, and the ports of every function. */
void model_print_all(json_object *version);

/* Prints warnings of the compiler to stderr, or with --json adds them as the array "warnings" to
 * the object, which may be NULL without --json. */
void model_print_warnings(
    const CommandContext *context, const TextBuilder *warnings, json_object *inout_object);
