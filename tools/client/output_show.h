#pragma once
/* Where the outputs of run, resume and result go: to a file, to people, or into the JSON answer.
 * Callers: run_report.c, remote_run.c, command_changes.c. Threads: the main thread. */
#include "serialize/arrays/array_list.h"
#include "tools/client/command.h"

#define OUTPUT_OPTION                                                                              \
    {                                                                                              \
        "output", "FILE.npz|-", false,                                                             \
            "where the outputs go (also -o); -: one JSON object; default: printed"                 \
    }

/* The file of --output; NULL: the outputs are printed. */
const char *output_file(const CommandContext *context);
/* Whether the answer is JSON: by --json, or by --output -. */
bool output_is_json(const CommandContext *context);

/* Prints the arrays for people (array_print.h). */
MUST_CHECK Error *output_show(const ArrayList *arrays);
/* Prints the object as one line, with the arrays as a last field "outputs", and frees it. With
 * --output - arrays of any size are whole. arrays NULL: no such field. */
MUST_CHECK Error *output_show_json(
    const CommandContext *context, json_object *owned_object, const ArrayList *arrays);
