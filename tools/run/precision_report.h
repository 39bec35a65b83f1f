#pragma once
/* Reports the effect of a precision below float32: the number of lowered products, and the distance
 * of the results from float32's, on given or made-up inputs. Callers: command_compile.c,
 * command_register.c. Threads: the main thread. */
#include "compiler/passes/precision.h"
#include "tools/client/command.h"
#include "tools/client/model_access.h"

/* Makes "mode", "lowered", "left", "left_by": {why: count}. */
MUST_CHECK Error *precision_counts_json(
    const char *mode, const PrecisionReport *report, json_object **out);
/* Prints one sentence. */
void precision_print_counts(json_object *precision);

/* Runs function main of the model file in float32 and of the lowered executable, on the cpu, and
 * adds "inputs", "outputs": [{"name", "max_abs_error", "rms_error_relative", "argmax_agreement" or
 * "equal"}] to inout_precision. "unmeasured" gives the reason when the model refuses made-up
 * inputs.
 *
 * Inputs are those of --input, or floats from N(0, 1), integers 1 and bools true, with 1 for every
 * free dimension.
 * Errors: those of compiling, and of running on given inputs. */
MUST_CHECK Error *precision_measure(const CommandContext *context, ModelAccess *access,
    const char *path, const ModelFileOptions *options, const Executable *lowered,
    json_object *inout_precision);
/* Prints these errors for people. */
void precision_print_errors(json_object *precision);
