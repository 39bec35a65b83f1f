#include "base/text.h"
#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

/* What comes in goes out again. */
static void echo(const char *types, const char *type, const char *values) {
    TextBuilder OWN_TEXT(program) = {0};
    TextBuilder OWN_TEXT(signature) = {0};
    text_appendf(&program, "%sdef @main(%%x: %s) { %%x }", types, type);
    text_appendf(&signature, "%s -> %s", values, values);
    relay_expect(text_builder_get(&program), text_builder_get(&signature));
}

static void test_relay_port_write_is_the_way_back(void **state) {
    (void)state;
    echo("", "List[List[int32]]", "int64[3] 1 0 1; list int32[] 1 | int32[] 2");
    echo("", "List[List[List[int32]]]", "int64[2] 1 1; int64[2] 1 1; list int32[] 1 | int32[] 2");
    echo(
        "", "List[(int32, float32)]", "list int32[] 1 | int32[] 2; list float32[] 3 | float32[] 4");
    echo("", "List[Option[List[int32]]]", "bool[2] 0 1; int64[1] 2; list int32[] 1 | int32[] 2");
    echo("", "Option[List[(int32, int32)]]", "int64[1] 1; list int32[] 5; list int32[] 6");
    echo("", "Option[Option[int32]]", "bool[1] 0; none");
    echo("", "(Option[(int32, int32)], int32)", "int32[] 1; int32[] 2; int32[] 3");
    echo("", "Tree[(int32, int32)]",
        "list int32[] 1 | int32[] 2 | int32[] 3; list int32[] 4 | int32[] 5 | int32[] 6; "
        "int64[3] 0 0 2");
    echo("type T { A(int32, Option[T]), B(List[T]), C }\n", "List[T]",
        "int64[3] 3 0 2; int64[6] 2 0 0 2 1 1; list int32[] 1 | int32[] 2; bool[2] 1 0");
    echo("type Color { Red, Green, Blue }\n", "(Color, List[Color])", "int64[] 2; int64[3] 0 2 1");
    echo("", "List[tensor_int32_t]",
        "int64[3] 1 0 2; list int32[] 5; list int32[2] 1 2; list; list; list");
}

/* Two types that hold each other. */
static void test_relay_port_write_passes_types_that_hold_each_other(void **state) {
    (void)state;
    static const char types[] = "type Branch { Branch(int32, Forest) }\n"
                                "type Forest { End, Grow(Branch, Forest) }\n";
    echo(types, "Branch", "list int32[] 1 | int32[] 2 | int32[] 3; int64[3] 0 0 2");
    echo(types, "Forest", "int64[4] 0 0 2 1; list int32[] 1 | int32[] 2 | int32[] 3");
    echo("type L { L(int32, R), End }\ntype R { R(float32, L, List[L]) }\n", "L",
        "bool[4] 0 0 1 1; list int32[] 1 | int32[] 2; list float32[] 3 | float32[] 4; "
        "int64[2] 1 0");
}

int test_relay_port_write(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_port_write_is_the_way_back),
        cmocka_unit_test(test_relay_port_write_passes_types_that_hold_each_other),
    };
    return cmocka_run_group_tests_name("relay_port_write", tests, NULL, NULL);
}
