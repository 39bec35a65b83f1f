#pragma once
/* An image file as an input: NAME=FILE.png. Callers: input_value.c. Threads: the main thread. */
#include "serialize/arrays/array_list.h"
#include "tools/client/command.h"
#include "vm/code/executable.h"

/* Whether the text ends like the name of a PNG or JPEG file. */
bool input_image_is_name(const char *text);
/* Makes the array of an input of rank 3 or 4: [N, C, H, W], [N, H, W, C], or the same without N. C
 * is the dimension of 1 or 3, the first such one; N is 1. One channel is the luma of ITU-R 601. A
 * fixed height and width must be the image's; the image is not resized.
 *
 * Errors: INVALID no such shape, an image of another size; those of image_decode; USAGE --scale or
 * --mean. */
MUST_CHECK Error *input_image_read(const CommandContext *context, const Port *port,
    const char *name, const char *path, NamedArray *out_array);
