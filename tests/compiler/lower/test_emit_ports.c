#include "tests/compiler/compiler_fixtures.h"

static void test_emit_ports_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("emit_ports");
}

int test_emit_ports(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emit_ports_gives_what_its_golden_files_say),
    };
    return cmocka_run_group_tests_name("emit_ports", tests, NULL, NULL);
}
