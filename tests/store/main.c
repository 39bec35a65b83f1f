/* Runs every group of this folder; groups.def lists them. Arguments name the groups to run, or
 * behind "without" those that do not run. */
#include <string.h>

#include "tests/store/store_fixtures.h"

static bool is_wanted(int argument_count, char **arguments, const char *group) {
    if (argument_count < 2) return true;
    const bool excludes = strcmp(arguments[1], "without") == 0;
    for (int i = 1; i < argument_count; i++)
        if (strcmp(arguments[i], group) == 0) return !excludes;
    return excludes;
}

int main(int argument_count, char **arguments) {
    int failures = 0;
#define GROUP(name)                                                                                \
    if (is_wanted(argument_count, arguments, #name)) failures += test_##name();
#include "tests/store/groups.def"
#undef GROUP
    return failures > 0;
}
