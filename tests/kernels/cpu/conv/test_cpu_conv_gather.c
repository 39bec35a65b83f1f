#include "kernels/cpu/conv/cpu_conv_gather.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/gather_check.h"

static void test_gather_puts_zeros_where_the_row_ends(void **state) {
    (void)state;
    gather_check(cpu_conv_gather_portable);
}

int test_cpu_conv_gather(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather_puts_zeros_where_the_row_ends),
    };
    return cmocka_run_group_tests_name("cpu_conv_gather", tests, NULL, NULL);
}
