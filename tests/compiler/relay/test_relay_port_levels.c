#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static const char lists[] =
    "def @main(%xs: List[List[int32]]) {\n"
    "  @foldl(fn (%a: int32, %l: List[int32]) { %a * 10 + @sum(%l) }, 0, %xs) }";

/* Sizes are those of another list: none of them reaches beyond the items. */
static void test_relay_port_levels_refuse_wrong_sizes(void **state) {
    (void)state;
    static const char message[] =
        "the numbers in input xs.sizes do not add up to the number of items of input xs";
    relay_expect_failure(lists, "int64[1] 2; list int32[] 1", message);
    relay_expect_failure(lists, "int64[1] 0; list int32[] 1", message);
    relay_expect_failure(lists, "int64[0]; list int32[] 1", message);
    relay_expect_failure(
        lists, "int64[2] -1 1; list int32[] 1", "input xs.sizes has a negative number");
    /* the sum is 1 in 64 bits */
    relay_expect_failure(
        lists, "int64[3] 9223372036854775807 9223372036854775807 3; list int32[] 1", message);
    relay_expect_failure(lists, "int32[1] 1; list int32[] 1", "input xs.sizes is int32, not int64");
    relay_expect_failure(lists, "int64[] 1; list int32[] 1", "input xs.sizes");
}

int test_relay_port_levels(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_port_levels_refuse_wrong_sizes),
    };
    return cmocka_run_group_tests_name("relay_port_levels", tests, NULL, NULL);
}
