#include "tools/client/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool colour_is_on(int descriptor) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if ((refused && *refused) || !terminal || strcmp(terminal, "dumb") == 0) return false;
    return isatty(descriptor);
}

const char *colour_begin(int descriptor, Colour colour) {
    static const char *const begins[] = {
        [COLOUR_RED] = "\x1b[31m", [COLOUR_GREEN] = "\x1b[32m", [COLOUR_YELLOW] = "\x1b[33m"};
    return colour_is_on(descriptor) ? begins[colour] : "";
}

const char *colour_end(int descriptor) { return colour_is_on(descriptor) ? "\x1b[0m" : ""; }
