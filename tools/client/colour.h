#pragma once
/* Colours of words that people look for: errors, warnings, states. Callers: tools/cli,
 * tools/client. Threads: any; no state.
 *
 * A descriptor gets colours where it is a terminal, NO_COLOR is unset or empty
 * (https://no-color.org), and TERM is not "dumb". */
#include <stdbool.h>

typedef enum Colour {
    COLOUR_RED,
    COLOUR_GREEN,
    COLOUR_YELLOW,
} Colour;

bool colour_is_on(int descriptor);
/* The letters that begin and end a colour; "" where the descriptor gets none. Constants. */
const char *colour_begin(int descriptor, Colour colour);
const char *colour_end(int descriptor);
