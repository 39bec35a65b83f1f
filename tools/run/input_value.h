#pragma once
/* Inputs that are written on the command line: numbers, JSON, texts, random numbers, images.
 * Callers: run_inputs.c, job_inputs.c. Threads: the main thread.
 *
 * What stands for V in --input NAME=V:
 *   1,2,3 · true · -1e-3       elements; the model's signature gives element type and shape
 *   [[1, 2], [3, 4]] · "text"  JSON
 *   random · zeros · ones      made: floats from N(0, 1), integers from 0 to 7
 *   @FILE.json                 the same as JSON, from a file
 *   FILE.png · FILE.jpg        an image (input_image.h); @ may stand before the name
 *   any other text             one element of an input of strings, unless it is a file's name
 * --input @FILE.json has several inputs: {"NAME": V, ...}, or the object that --output - prints. */
#include "serialize/arrays/array_list.h"
#include "tools/client/command.h"
#include "vm/code/executable.h"

/* Whether the option needs the function's signature. False: files of arrays, folders. */
bool input_value_is_inline(const char *option);
/* Whether an --input of the command line is inline. */
bool input_value_any_inline(const CommandContext *context);
/* Makes the arrays of an inline option. inout_function: becomes the function that also takes values
 * for the model's own inputs (executable_choose_function), if one of them is named.
 *
 * Errors: USAGE the value's form; INVALID a value that does not fit the input, or no such input. */
MUST_CHECK Error *input_value_read(const CommandContext *context, const char *option,
    const Executable *executable, uint32_t *inout_function, ArrayList *list);
