#include "compiler/ir/ir_parse.h"
#include "tests/compiler/compiler_fixtures.h"

static void check_refused(const char *text, const char *message) {
    IrModule *module = NULL;
    assert_fails_saying(INVALID, message, ir_parse_module(text, &module));
    assert_null(module);
}

static void test_ir_parse_names_the_line_that_is_wrong(void **state) {
    (void)state;
    check_refused("function @main() {\n  %1 = Frobnicate()\n  -> %1\n}\n", "line 2: an operator");
    check_refused("function @main() {\n  -> %1\n}\n", "line 3: %1 is not known");
    check_refused("function @main() {\n  ->\n", "line 3: a type is wanted");
    check_refused("function @main(%0: float33[2]) {\n  ->\n}\n", "line 1: a type");
    check_refused("function @main() {\n  %0 = call @none()\n  -> %0\n}\n", "line 2: a function");
    check_refused("function @main() {\n  %0 = Concat() {axis=0, axle=1}\n  -> %0\n}\n", "axle");
}

int test_ir_parse(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_parse_names_the_line_that_is_wrong),
    };
    return cmocka_run_group_tests_name("ir_parse", tests, NULL, NULL);
}
