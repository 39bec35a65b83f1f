/* Runs every group of a folder. The build defines TEST_GROUPS: "tests/<folder>/groups.def". */
#include "tests/support/test_support.h"

int main(void) {
    int failures = 0;
#define GROUP(name) failures += test_##name();
#include TEST_GROUPS
#undef GROUP
    return failures > 0;
}
