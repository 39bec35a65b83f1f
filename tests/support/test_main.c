/* Runs every group of a folder. The build defines TEST_GROUPS: "tests/<folder>/groups.def". */
#include <stdlib.h>

#include "tests/support/test_support.h"

int main(void) {
    int failures = 0;
#ifdef TEST_WORKER /* the program of worker processes */
    if (setenv("LAYOVER_WORKER", TEST_WORKER, 0) != 0) return 1;
#endif
#define GROUP(name) failures += test_##name();
#include TEST_GROUPS
#undef GROUP
    return failures > 0;
}
