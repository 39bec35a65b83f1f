#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static const char lists[] =
    "def @main(%xs: List[List[int32]]) {\n"
    "  @foldl(fn (%a: int32, %l: List[int32]) { %a * 10 + @sum(%l) }, 0, %xs) }";

static void test_relay_port_read_makes_lists_of_lists(void **state) {
    (void)state;
    relay_expect(lists, "int64[3] 2 0 1; list int32[] 1 | int32[] 2 | int32[] 3 -> int32[] 303");
    relay_expect(lists, "int64[0]; list -> int32[] 0");
    relay_expect(lists, "int64[2] 0 0; list -> int32[] 0");
    relay_expect("def @main(%xs: List[List[List[int32]]]) { @sum(@hd(@tl(@hd(@tl(%xs))))) }",
        "int64[2] 1 2; int64[3] 0 1 2; list int32[] 1 | int32[] 2 | int32[] 3 -> int32[] 5");
}

static void test_relay_port_read_makes_lists_of_tuples(void **state) {
    (void)state;
    static const char program[] =
        "def @main(%xs: List[(int32, (int32, List[int32]))]) {\n"
        "  @map(fn (%x: (int32, (int32, List[int32]))) { %x.0 * %x.1.0 + @sum(%x.1.1) }, %xs) }";
    relay_expect(program,
        "list int32[] 2 | int32[] 3; list int32[] 5 | int32[] 7; int64[2] 1 2; list int32[] 1 | "
        "int32[] 2 | int32[] 3 -> list int32[] 11 | int32[] 26");
    relay_expect(program, "list; list; int64[0]; list -> list");
    relay_expect_failure(program, "list int32[] 1; list; int64[1] 0; list",
        "inputs xs.0 and xs.1.0 have different numbers of items");
    relay_expect_failure(program, "list int32[] 1; list int32[] 1; int64[2] 0 0; list",
        "inputs xs.0 and xs.1.1.sizes have different numbers of items");
}

static void test_relay_port_read_makes_options(void **state) {
    (void)state;
    static const char pair[] = "def @main(%o: Option[(int32, int32)]) {\n"
                               "  match (%o) { Some(%p) => %p.0 + %p.1, None => 0 } }";
    static const char inner[] =
        "def @main(%xs: List[Option[int32]]) { @map(fn (%o) { @option_or(%o, 7) }, %xs) }";
    static const char twice[] = "def @main(%o: Option[Option[int32]]) {\n"
                                "  match (%o) { Some(%p) => @option_or(%p, 1), None => 2 } }";
    relay_expect(pair, "int32[] 1; int32[] 2 -> int32[] 3");
    relay_expect(pair, "none; none -> int32[] 0");
    relay_expect_failure(
        pair, "int32[] 1; none", "inputs o.0 and o.1 have different numbers of items");
    relay_expect(inner, "bool[3] 0 1 0; list int32[] 5 -> list int32[] 7 | int32[] 5 | int32[] 7");
    relay_expect_failure(
        inner, "bool[1] 1; list", "input xs.present is not true as often as input xs has items");
    relay_expect_failure(inner, "bool[1] 0; list int32[] 1",
        "input xs.present is not true as often as input xs has items");
    relay_expect(twice, "bool[1] 1; int32[] 5 -> int32[] 5");
    relay_expect(twice, "bool[1] 0; none -> int32[] 1");
    relay_expect(twice, "bool[0]; none -> int32[] 2");
    relay_expect_failure(twice, "bool[2] 0 0; none", "input o.present has more than one item");
}

static void test_relay_port_read_makes_data(void **state) {
    (void)state;
    static const char program[] =
        "type Shape { Circle(int32), Box(int32, int32), Point }\n"
        "def @area(%s: Shape) {\n"
        "  match (%s) { Circle(%r) => 3 * %r * %r, Box(%a, %b) => %a * %b, Point => 0 } }\n"
        "def @main(%s: Shape, %xs: List[Shape]) { (@area(%s), @map(@area, %xs)) }";
    relay_expect(program,
        "int64[] 1; none; int32[] 2; int32[] 3; int64[3] 0 2 0; list int32[] 1 | int32[] 2; list; "
        "list -> int32[] 6; list int32[] 3 | int32[] 0 | int32[] 12");
    relay_expect(program, "int64[] 2; none; none; none; int64[0]; list; list; list "
                          "-> int32[] 0; list");
    relay_expect_failure(program, "int64[] 3; none; none; none; int64[0]; list; list; list",
        "input s.tag has a number that is not from 0 to 2");
    relay_expect_failure(program, "int64[] -1; none; none; none; int64[0]; list; list; list",
        "input s.tag has a number that is not from 0 to 2");
    relay_expect_failure(program, "int64[] 0; none; none; none; int64[0]; list; list; list",
        "input s.tag does not name a constructor as often as input s.Circle has items");
    relay_expect_failure(program,
        "int64[] 2; none; none; none; int64[0]; list; list int32[] 1; "
        "list int32[] 1",
        "input xs.tag does not name a constructor as often as input xs.Box.0 has items");
    relay_expect("type Pair[A, B] { Pair(A, B) }\n"
                 "def @main(%p: Pair[int32, float32]) { match (%p) { Pair(%a, %b) => (%b, %a) } }",
        "int32[] 1; float32[] 2 -> float32[] 2; int32[] 1");
}

/* Children before their parent. */
static void test_relay_port_read_makes_trees(void **state) {
    (void)state;
    static const char rose[] =
        "def @total(%t: Tree[int32]) -> int32 {\n"
        "  match (%t) { Rose(%x, %c) => %x + 10 * @sum(@map(@total, %c)) } }\n"
        "def @main(%t: Tree[int32]) { @total(%t) }";
    static const char binary[] =
        "type Tree2 { Leaf(int32), Node(Tree2, Tree2, int32) }\n"
        "def @total(%t: Tree2) -> int32 {\n"
        "  match (%t) { Leaf(%x) => %x, Node(%a, %b, %x) => %x + @total(%a) - @total(%b) } }\n"
        "def @main(%ts: List[Tree2]) { @map(@total, %ts) }";
    relay_expect(rose, "list int32[] 1 | int32[] 2 | int32[] 3 | int32[] 4; int64[4] 0 1 0 2 -> "
                       "int32[] 154");
    relay_expect(rose, "list int32[] 5; int64[1] 0 -> int32[] 5");
    relay_expect_failure(
        rose, "list; int64[0]", "input t.0 has more or fewer items than one value of type Tree");
    relay_expect_failure(rose, "list int32[] 5 | int32[] 5; int64[2] 0 0",
        "input t.0 has more or fewer items than one value of type Tree");
    relay_expect_failure(rose, "list int32[] 5; int64[1] 9223372036854775807",
        "input t.0 has more or fewer items than one value of type Tree");
    relay_expect(binary,
        "int64[4] 0 0 1 0; list int32[] 1 | int32[] 2 | int32[] 9; list int32[] 5; "
        "int64[] 2 -> list int32[] 4 | int32[] 9");
}

int test_relay_port_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_port_read_makes_lists_of_lists),
        cmocka_unit_test(test_relay_port_read_makes_lists_of_tuples),
        cmocka_unit_test(test_relay_port_read_makes_options),
        cmocka_unit_test(test_relay_port_read_makes_data),
        cmocka_unit_test(test_relay_port_read_makes_trees),
    };
    return cmocka_run_group_tests_name("relay_port_read", tests, NULL, NULL);
}
