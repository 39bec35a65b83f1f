/* Runs every group of this folder; groups.def lists them. */
#include "tests/serialize/serialize_fixtures.h"

int main(void) {
    int failures = 0;
#define GROUP(name) failures += test_##name();
#include "tests/serialize/groups.def"
#undef GROUP
    return failures > 0;
}
