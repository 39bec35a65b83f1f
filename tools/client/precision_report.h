#pragma once
/* What a precision below float32 comes to: how many products were lowered, and how far the results
 * are from float32's, on inputs that are given or made up. */
#include "compiler/passes/precision.h"
#include "tools/client/command.h"
#include "tools/client/model_access.h"

/* "mode", "lowered", "left", "left_by": {why: count}. */
MUST_CHECK Error *precision_counts_json(
    const char *mode, const PrecisionReport *report, json_object **out);
/* One sentence. */
void precision_print_counts(json_object *precision);

/* Runs function main of the model file in float32 and of the executable that was lowered, on the
 * cpu, and adds "inputs", "outputs": [{"name", "max_abs_error", "rms_error_relative",
 * "argmax_agreement" or "equal"}] to inout_precision; of inputs that were made up and that the
 * model refuses "unmeasured" says why.
 *
 * Inputs are those of --input, or floats from N(0, 1), integers 1 and bools true, with 1 for every
 * dimension that is free.
 * Errors: what compiling says, and what running on given inputs says. */
MUST_CHECK Error *precision_measure(const CommandContext *context, ModelAccess *access,
    const char *path, const ModelFileOptions *options, const Executable *lowered,
    json_object *inout_precision);
/* The same for people. */
void precision_print_errors(json_object *precision);
