/* Runs every group of a folder; LAYOVER_TEST in the environment picks tests by name, as in
 * "test_departure_run_*". The build defines TEST_GROUPS: "tests/<folder>/groups.def". */
#include <stdlib.h>

#include "tests/support/test_support.h"

int main(void) {
    int failures = 0;
    const char *wanted = getenv("LAYOVER_TEST");
    if (wanted) cmocka_set_test_filter(wanted);
#ifdef TEST_WORKER /* the program of worker processes */
    if (setenv("LAYOVER_WORKER", TEST_WORKER, 0) != 0) return 1;
#endif
#define GROUP(name) failures += test_##name();
#include TEST_GROUPS
#undef GROUP
    return failures > 0;
}
