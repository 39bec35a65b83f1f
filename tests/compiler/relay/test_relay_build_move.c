#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_build_move_moves_elements(void **state) {
    (void)state;
    relay_expect(
        "def @main(%x: Tensor[(2, 2), float32]) {\n"
        "  let %s = split(%x, indices_or_sections=2, axis=1);\n"
        "  (reshape(%x, newshape=[-1]), transpose(%x), expand_dims(%x, axis=-1, num_newaxis=2),\n"
        "   squeeze(%s.1, axis=[1]), concatenate((%s.1, %s.0), axis=1), stack((%s.0, %s.0), "
        "axis=0),\n"
        "   split(%x, indices_or_sections=[1]).0, strided_slice(%x, begin=[0, 1], end=[2, 2]),\n"
        "   strided_slice(%x, begin=[1], end=[-1], slice_mode=\"size\", axes=[0]),\n"
        "   reverse(%x, axis=0), tile(squeeze(%s.0), reps=[2, 1]), gather(%x, cast(%x, "
        "dtype=\"int64\") * 0i64, axis=1)) }",
        "float32[2,2] 1 2 3 4 -> float32[4] 1 2 3 4; float32[2,2] 1 3 2 4; float32[2,2,1,1] 1 2 3 "
        "4; float32[2] 2 4; "
        "float32[2,2] 2 1 4 3; float32[2,2,1] 1 3 1 3; float32[1,2] 1 2; float32[2,1] 2 4; "
        "float32[1,2] 3 4; "
        "float32[2,2] 3 4 1 2; float32[2,2] 1 3 1 3; float32[2,2] 1 1 3 3");
}

static void test_relay_build_move_takes_inside(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(?, 2), float32], %i: Tensor[(3), int32]) {\n"
                 "  (take(%x, %i, axis=0), take(%x, %i, axis=1, mode=\"wrap\"), take(%x, %i), "
                 "take(%x, 0, axis=0, mode=\"fast\")) }",
        "float32[2,2] 1 2 3 4; int32[3] -1 1 9 -> float32[3,2] 1 2 3 4 3 4; float32[2,3] 2 2 2 4 4 "
        "4; float32[3] 1 2 4; float32[2] 1 2");
    relay_refused(INVALID, "split: 3 elements in 2 equal parts",
        "def @main(%x: Tensor[(3), float32]) { split(%x, indices_or_sections=2) }");
    relay_refused(UNSUPPORTED, "the length of the dimension is not known",
        "def @main(%x: Tensor[(?), float32]) { split(%x, indices_or_sections=2) }");
}

/* The codes of Relay's newshape, with dimensions that only a run knows. */
static void test_relay_build_move_reads_codes_of_newshape(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(?, 2, 2, 1), float32]) {\n"
                 "  (reshape(%x, newshape=[0, -3, -2]), reshape(%x, newshape=[0, -4, 1, -1, -2]),\n"
                 "   reshape(%x, newshape=[-4, 1, -1, -3, 0]), reshape(%x, newshape=[-2]),\n"
                 "   reshape(%x, newshape=[-3, 2, 1])) }",
        "float32[1,2,2,1] 1 2 3 4 -> float32[1,4,1] 1 2 3 4; float32[1,1,2,2,1] 1 2 3 4; "
        "float32[1,1,4,1] 1 2 3 4; float32[1,2,2,1] 1 2 3 4; float32[2,2,1] 1 2 3 4");
    relay_refused(INVALID, "newshape splits a dimension of 3 into 2 and -1",
        "def @main(%x: Tensor[(3), float32]) { reshape(%x, newshape=[-4, 2, -1]) }");
    relay_refused(INVALID, "newshape reads dimension 1 of 1",
        "def @main(%x: Tensor[(3), float32]) { reshape(%x, newshape=[-3]) }");
    relay_refused(INVALID, "newshape has -4 at place 0",
        "def @main(%x: Tensor[(3), float32]) { reshape(%x, newshape=[-4, 3]) }");
    relay_refused(UNSUPPORTED, "two sizes that are not known",
        "def @main(%x: Tensor[(?, ?, 2), float32]) { reshape(%x, newshape=[1, -3, -1]) }");
}

int test_relay_build_move(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_build_move_moves_elements),
        cmocka_unit_test(test_relay_build_move_takes_inside),
        cmocka_unit_test(test_relay_build_move_reads_codes_of_newshape),
    };
    return cmocka_run_group_tests_name("relay_build_move", tests, NULL, NULL);
}
