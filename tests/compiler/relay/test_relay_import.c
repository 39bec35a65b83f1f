#include "compiler/relay/relay_import.h"

#include <string.h>

#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_import_runs_a_thin_program(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(2, 2), float32]) { add(%x, %x) }",
        "float32[2,2] 0 1 2 3 -> float32[2,2] 0 2 4 6");
}

/* Definitions of the program take the place of the prelude's. */
static void test_relay_import_prefers_the_programs_own_definitions(void **state) {
    (void)state;
    relay_expect("type List[A] { Nil, Cons(A, List[A]), }\n"
                 "def @length[A](%l: List[A]) -> int32 { 7 }\n"
                 "def @main() { (@length(Cons(1, Nil)), @sum(Cons(2, Cons(3, Nil)))) }",
        "-> int32[] 7; int32[] 5");
}

static void test_relay_import_knows_programs_by_their_beginning(void **state) {
    (void)state;
    static const char *const programs[] = {"#[version = \"0.0.5\"]\n", "def @main() { 1 }",
        "/* c */ // d\n  fn (%x) { %x }", "type T { A }", "v0.0.4\n"};
    static const char *const others[] = {"", "/*", "/* x */", "\x08\x07onnx", "definition", "//"};
    for (size_t i = 0; i < 5; i++)
        assert_true(relay_probe((const uint8_t *)programs[i], strlen(programs[i])));
    for (size_t i = 0; i < 6; i++)
        assert_false(relay_probe((const uint8_t *)others[i], strlen(others[i])));
}

/* Stacking takes apart what unstacking put together, for every element type of the family. */
static void test_relay_import_has_tensor_arrays(void **state) {
    (void)state;
    relay_expect(
        "def @main(%x: Tensor[(?, ?), int64]) {\n"
        "  let %a = @tensor_array_unstack_tensor2_int64(%x);\n"
        "  let %b = @tensor_array_write_int64(%a, 1, tensor1_int64(full(9i64, shape=[2])));\n"
        "  let %s = @tensor_array_stack_int64(@rev(%b));\n"
        "  let %c = @tensor_array_concat_int64(%b);\n"
        "  (match? (%s) { tensor2_int64(%y) => %y }, match? (%c) { tensor1_int64(%y) => %y },\n"
        "   @length(@tensor_array_bool(4))) }",
        "int64[3,2] 1 2 3 4 5 6 -> int64[3,2] 5 6 9 9 1 2; int64[6] 1 2 9 9 5 6; int32[] 4");
}

/* A network in graph form, as TVM prints it, with a batch that a run decides. */
static void test_relay_import_runs_a_graph_of_a_network(void **state) {
    (void)state;
    relay_expect(
        "#[version = \"0.0.5\"]\n"
        "def @main(%data: Tensor[(?, 1, 2, 2), float32], %fc: Tensor[(3, 2), float32])\n"
        "    -> (Tensor[(?, 3), float32], Tensor[(?, 3), float32]) {\n"
        "  %0 = ones(shape=[2, 1, 3, 3], dtype=\"float32\");\n"
        "  %1 = nn.conv2d(%data, %0, padding=[1, 1, 1, 1], channels=2, kernel_size=[3, 3])\n"
        "    /* ty=Tensor[(?, 2, 2, 2), float32] */;\n"
        "  %2 = ones(shape=[2], dtype=\"float32\");\n"
        "  %3 = zeros(shape=[2], dtype=\"float32\");\n"
        "  %4 = nn.batch_norm(%1, %2, %3, %3, %2, epsilon=0f);\n"
        "  %5 = %4.0;\n"
        "  %6 = nn.relu(%5);\n"
        "  %7 = nn.max_pool2d(%6, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);\n"
        "  %8 = nn.batch_flatten(%7);\n"
        "  %9 = nn.dense(%8, %fc, units=3);\n"
        "  (%9, nn.softmax(%9))\n}",
        "float32[1,1,2,2] 1 2 3 4; float32[3,2] 0.5 0.5 1 0 0 1 -> "
        "float32[1,3] 10 10 10; float32[1,3] 0.333333 0.333333 0.333333");
}

/* Types with parameters, a parameter that only the use of a call tells, and functions of functions.
 */
static void test_relay_import_runs_generic_programs(void **state) {
    (void)state;
    relay_expect(
        "type Pair[A, B] { Pair(A, B) }\ntype Either[L, R] { Left(L), Right(R) }\n"
        "type Stack[T] { Stack(List[T], int32) }\n"
        "def @empty[T]() -> Stack[T] { Stack(Nil, 0) }\n"
        "def @push[T](%s: Stack[T], %x: T) -> Stack[T] {\n"
        "  match (%s) { Stack(%l, %n) => Stack(Cons(%x, %l), %n + 1) } }\n"
        "def @pop[T](%s: Stack[T]) -> Option[(T, Stack[T])] {\n"
        "  match (%s) { Stack(Cons(%x, %l), %n) => Some((%x, Stack(%l, %n - 1))),\n"
        "               Stack(Nil, _) => None } }\n"
        "def @swap[A, B](%p: Pair[A, B]) -> Pair[B, A] { match (%p) { Pair(%a, %b) => Pair(%b, %a) "
        "} }\n"
        "def @first[A, B](%p: Pair[A, B]) -> A { match (%p) { Pair(%a, _) => %a } }\n"
        "def @either[L, R, T](%f: fn (L) -> T, %g: fn (R) -> T, %e: Either[L, R]) -> T {\n"
        "  match (%e) { Left(%l) => %f(%l), Right(%r) => %g(%r) } }\n"
        "def @default[T]() -> Option[T] { None }\n"
        "def @main(%x: Tensor[(2), float32], %n: int32) {\n"
        "  let %s = @push(@push(@empty(), %x), %x * 2f);\n"
        "  let %top = match (@pop(%s)) { Some((%t, _)) => %t, None => %x };\n"
        "  let %p = @swap(Pair(%top, %n));\n"
        "  let %e: Either[Tensor[(2), float32], int32] = if (%n > 3) { Left(%top) } else { "
        "Right(%n) "
        "};\n"
        "  (@first(%p), @either(fn (%t) { sum(%t) }, fn (%i) { cast(%i, dtype=\"float32\") }, "
        "%e),\n"
        "   @option_or(@default(), %n), nn.relu(@id(@id)(%x))) }",
        "float32[2] 1 2; int32[] 5 -> int32[] 5; float32[] 6; int32[] 5; float32[2] 1 2");
}

typedef struct Refusal {
    ErrorCode code;
    const char *message, *program;
} Refusal;

/* Line, column and the value that is wrong, in one sentence. */
static void test_relay_import_says_where_and_what_is_wrong(void **state) {
    (void)state;
    static const Refusal refusals[] = {
        {ERROR_UNSUPPORTED,
            "line 1, column 26: there is no operator or constructor nn.rellu; the nearest is "
            "nn.relu",
            "def @main(%x: float32) { nn.rellu(%x) }"},
        {ERROR_UNSUPPORTED, "no operator or constructor ref_red; the nearest is ref_read",
            "def @main(%x: float32) { ref_red(%x) }"},
        {ERROR_UNSUPPORTED, "no operator or constructor Conss; the nearest is Cons",
            "def @main() { Conss(1, Nil) }"},
        {ERROR_INVALID, "line 1, column 33: there is no constructor Sone; the nearest is Some",
            "def @main() { match (Some(1)) { Sone(%x) => 1, _ => 2 } }"},
        {ERROR_INVALID, "line 2, column 26: there is no function @square; the nearest is @squar",
            "def @squar(%x: float32) { %x }\ndef @main(%x: float32) { @square(%x) }"},
        {ERROR_INVALID, "line 1, column 33: there is no variable %ax; the nearest is %axe",
            "def @main(%axe: float32) { 1f + %ax }"},
        {ERROR_INVALID, "line 1, column 15: there is no type flot32; the nearest is float32",
            "def @main(%x: flot32) { 1 }"},
        {ERROR_INVALID, "line 1, column 62: attribute axis of nn.softmax stands twice",
            "def @main(%x: Tensor[(2), float32]) { nn.softmax(%x, axis=0, axis=0) }"},
        {ERROR_INVALID, "line 2, column 21: the pattern has variable %a twice",
            "def @main(%p: (int32, int32)) {\n  match (%p) { (%a, %a) => %a }\n}"},
        {ERROR_INVALID, "line 1, column 30: two parameters are named %a",
            "def @f(%a: int32, %b: int32, %a: int32) { %a }\ndef @main() { @f(1, 2, 3) }"},
        {ERROR_INVALID, "line 1, column 34: what is called would be of a type that holds itself",
            "def @main() { let %f = fn (%x) { %x(%x) }; 1 }"},
        {ERROR_UNSUPPORTED, "line 1, column 13: the program is of version 1.7; versions 0.0.1 to",
            "#[version = \"1.7\"]\ndef @main() { 1 }"},
        {ERROR_UNSUPPORTED, "line 1, column 1: the program is of version 0.0.9; versions 0.0.1 to",
            "v0.0.9\ndef @main() { 1 }"},
        {ERROR_UNSUPPORTED,
            "line 2, column 1: T is extern; a program has to define all its types and functions",
            "type A { A }\nextern type T[A];\ndef @main() { 1 }"},
        {ERROR_UNSUPPORTED, "line 1, column 1: @f is extern; a program has to define",
            "extern def @f(%x: int32) -> int32;\ndef @main() { @f(1) }"},
        {ERROR_INVALID, "line 1, column 6: the name of a type is wanted, not {",
            "\xef\xbb\xbftype { A }"},
        {ERROR_INVALID, "line 1, column 1: the program begins as UTF-16 does; programs are UTF-8",
            "\xff\xfe"
            "d"},
        {ERROR_INVALID,
            "line 1, column 11: a name has letters from a to z, digits, _ and dots, and "
            "not the byte 0xc3",
            "def @main(%\xc3\xa9: int32) { 1 }"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        relay_check_refused(
            refusals[i].program, refusals[i].code, refusals[i].message, __FILE__, __LINE__);
}

/* What a pattern binds hides what is outside; the mark of UTF-8 is no part of a program. */
static void test_relay_import_reads_what_other_tools_write(void **state) {
    (void)state;
    relay_expect("\xef\xbb\xbf#[version = \"0.0.4\"]\ndef @main(%x: int32) {\n"
                 "  match (Some(%x + 1)) { Some(%x) => %x, None => %x } }",
        "int32[] 1 -> int32[] 2");
}

int test_relay_import(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_import_runs_a_thin_program),
        cmocka_unit_test(test_relay_import_prefers_the_programs_own_definitions),
        cmocka_unit_test(test_relay_import_knows_programs_by_their_beginning),
        cmocka_unit_test(test_relay_import_has_tensor_arrays),
        cmocka_unit_test(test_relay_import_runs_a_graph_of_a_network),
        cmocka_unit_test(test_relay_import_runs_generic_programs),
        cmocka_unit_test(test_relay_import_says_where_and_what_is_wrong),
        cmocka_unit_test(test_relay_import_reads_what_other_tools_write),
    };
    return cmocka_run_group_tests_name("relay_import", tests, NULL, NULL);
}
