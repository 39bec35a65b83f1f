#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

/* Every case runs with a snapshot behind each instruction, too: aliases stay aliases. */
static void test_relay_lower_heap_keeps_aliases(void **state) {
    (void)state;
    relay_expect("def @bump(%r: Ref[int32]) -> () { ref_write(%r, ref_read(%r) + 1) }\n"
                 "def @main(%n: int32) {\n"
                 "  let %r = ref(%n); let %alias = %r; let %all = Cons(%r, Cons(ref(50), Nil));\n"
                 "  let %u = @bump(%alias); let %before = ref_read(%r);\n"
                 "  let %v = @foldl(fn (%x: (), %q: Ref[int32]) { @bump(%q) }, (), %all);\n"
                 "  (%before, ref_read(%alias), @foldl(add, 0, @map(ref_read, %all))) }",
        "int32[] 1 -> int32[] 2; int32[] 3; int32[] 54");
    relay_expect("def @main(%x: Tensor[(2), float32]) {\n"
                 "  let %r = ref(%x); let %old = ref_read(%r); let %u = ref_write(%r, %x + %old);\n"
                 "  (%x, %old, ref_read(%r)) }",
        "float32[2] 1 2 -> float32[2] 1 2; float32[2] 1 2; float32[2] 2 4");
}

static void test_relay_lower_heap_goes_through_branches_and_arms(void **state) {
    (void)state;
    relay_expect("type T { A, B(int32), C }\n"
                 "def @set(%r: Ref[int32], %t: T, %u: T) -> () {\n"
                 "  match? ((%t, %u)) {\n"
                 "    (A, %x) => if (ref_read(%r) > 5) { ref_write(%r, 0) } else { () },\n"
                 "    (B(%x), A) => ref_write(%r, ref_read(%r) + %x),\n"
                 "    (%x, %y) => { let %a = ref_write(%r, ref_read(%r) * 2); @set(%r, A, C) },\n"
                 "  } }\n"
                 "def @main(%n: int32) {\n"
                 "  let %r = ref(%n); let %a = @set(%r, B(10), A); let %one = ref_read(%r);\n"
                 "  let %b = @set(%r, C, C); let %two = ref_read(%r);\n"
                 "  let %c = @set(%r, B(3), B(1)); (%one, %two, ref_read(%r)) }",
        "int32[] 1 -> int32[] 11; int32[] 0; int32[] 0");
    relay_expect_failure("def @main(%n: int32) { let %r = ref(Nil);\n"
                         "  let %u = ref_write(%r, Cons(%n, Nil));\n"
                         "  match? (ref_read(%r)) { Nil => 1 } }",
        "int32[] 1", "line 3, column 3: no arm of the match fits the value");
}

/* Circles are places in the heap, so that nothing holds itself. */
static void test_relay_lower_heap_may_have_circles(void **state) {
    (void)state;
    relay_expect(
        "type Node { Node(int32, Ref[Link]) }\ntype Link { To(Node), End }\n"
        "def @sum(%l: Link, %left: int32) -> int32 {\n"
        "  if (%left == 0) { 0 } else { match (%l) {\n"
        "    To(Node(%v, %next)) => %v + @sum(ref_read(%next), %left - 1), End => 0 } } }\n"
        "def @main() {\n"
        "  let %end = ref(End); let %a = Node(1, %end);\n"
        "  let %u = ref_write(%end, To(Node(10, ref(To(%a))))); @sum(To(%a), 5) }",
        "-> int32[] 23");
    relay_expect("def @main(%n: int32) {\n"
                 "  let %f = ref(fn (%k: int32) -> int32 { 0 });\n"
                 "  let %u = ref_write(%f, fn (%k: int32) -> int32 {\n"
                 "    if (%k == 0) { 7 } else { ref_read(%f)(%k - 1) } });\n"
                 "  ref_read(%f)(%n) }",
        "int32[] 4 -> int32[] 7");
}

static void test_relay_lower_heap_checks_types(void **state) {
    (void)state;
    relay_refused(INVALID,
        "line 1, column 55: argument 2 of ref_write is of type Tensor[(), float32], not "
        "Tensor[(), int32]",
        "def @main() { let %r = ref(1); let %u = ref_write(%r, 2f); ref_read(%r) }");
    relay_refused(INVALID, "argument 1 of ref_read is of type Tensor[(), int32], not Ref[_]",
        "def @main() { ref_read(1) }");
    relay_refused(INVALID, "line 1, column 15: ref_write takes 2 arguments, not 1",
        "def @main() { ref_write(ref(1)) }");
    relay_refused(
        INVALID, "line 1, column 22: ref has no attribute axis", "def @main() { ref(1, axis=1) }");
    relay_refused(UNSUPPORTED, "the result of @main is of type Ref[Tensor[(), int32]]",
        "def @main() -> ref(int32) { ref(1) }");
}

int test_relay_lower_heap(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_lower_heap_keeps_aliases),
        cmocka_unit_test(test_relay_lower_heap_goes_through_branches_and_arms),
        cmocka_unit_test(test_relay_lower_heap_may_have_circles),
        cmocka_unit_test(test_relay_lower_heap_checks_types),
    };
    return cmocka_run_group_tests_name("relay_lower_heap", tests, NULL, NULL);
}
