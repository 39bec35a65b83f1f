/* Runs every group of a folder; the build defines TEST_GROUPS: "tests/<folder>/groups.def".
 * Arguments name the groups to run, or behind "without" those that do not run. LAYOVER_TEST in the
 * environment picks tests by name, as in "test_departure_run_*". With LAYOVER_TEST_TIMES set each
 * group says how long the processors worked for it, its processes included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/test_support.h"

/* Seconds of the processors' time that this process and its ended children used. */
static double used_seconds(void) {
    double seconds = 0;
    for (int who = 0; who < 2; who++) {
        struct rusage usage;
        if (getrusage(who == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &usage) != 0) continue;
        seconds += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
        seconds += (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    }
    return seconds;
}

static int run_group(const char *name, int (*group)(void)) {
    double begin = used_seconds();
    int failures = group();
    if (getenv("LAYOVER_TEST_TIMES"))
        (void)fprintf(stderr, "%8.3f s %s\n", used_seconds() - begin, name);
    return failures;
}

static bool is_wanted(int argument_count, char **arguments, const char *group) {
    if (argument_count < 2) return true;
    const bool excludes = strcmp(arguments[1], "without") == 0;
    for (int i = 1; i < argument_count; i++)
        if (strcmp(arguments[i], group) == 0) return !excludes;
    return excludes;
}

int main(int argument_count, char **arguments) {
    int failures = 0;
    const char *wanted = getenv("LAYOVER_TEST");
    if (wanted) cmocka_set_test_filter(wanted);
#ifdef TEST_WORKER /* the program of worker processes */
    if (setenv("LAYOVER_WORKER", TEST_WORKER, 0) != 0) return 1;
#endif
#define GROUP(name)                                                                                \
    if (is_wanted(argument_count, arguments, #name)) failures += run_group(#name, test_##name);
#include TEST_GROUPS
#undef GROUP
    return failures > 0;
}
