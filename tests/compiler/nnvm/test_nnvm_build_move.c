#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static void test_nnvm_build_move_moves(void **state) {
    (void)state;
    nnvm_expect("null __shape__=(1,4); SliceChannel 0 num_outputs=2; Concat 1:1 1 dim=1; Reshape 2 "
                "shape=(-1,2); heads 2 3",
        "float32[1,4] 1 2 3 4 -> float32[1,4] 3 4 1 2; float32[2,2] 3 4 1 2");
    nnvm_expect("null __shape__=(2,2); SliceChannel 0 num_outputs=2 squeeze_axis=1; heads 1:1",
        "float32[2,2] 1 2 3 4 -> float32[2] 2 4");
    nnvm_expect("null __shape__=(2,2); SwapAxis 0 dim1=0 dim2=1; slice_axis 1 axis=0 begin=1 "
                "end=None; expand_dims 2 axis=0; squeeze 3 axis=(0,); stack 4 4 axis=1",
        "float32[2,2] 1 2 3 4 -> float32[1,2,2] 2 4 2 4");
    nnvm_expect("null; pad 0 pad_width=(0,0,1,2) constant_value=7",
        "float32[1,1] 1 -> float32[1,4] 7 1 7 7");
    nnvm_expect("null; null __shape__=(2,1); Embedding 0 1 input_dim=2 output_dim=1",
        "float32[3] -1 1 9; float32[2,1] 10 20 -> float32[3,1] 10 20 20");
    nnvm_refused(
        UNSUPPORTED, "the shape has -3; sizes, 0 and -1 are read", "null; Reshape 0 shape=(-3,0)");
}

static void test_nnvm_build_move_reduces(void **state) {
    (void)state;
    nnvm_expect(
        "null __shape__=(2,2); mean 0; max 0 axis=1; sum 0 axis=0 exclude=True; heads 1 2 3",
        "float32[2,2] 1 2 3 4 -> float32[] 2.5; float32[2] 2 4; float32[2] 3 7");
}

int test_nnvm_build_move(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_build_move_moves),
        cmocka_unit_test(test_nnvm_build_move_reduces),
    };
    return cmocka_run_group_tests_name("nnvm_build_move", tests, NULL, NULL);
}
