#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static void test_nnvm_build_nn_multiplies(void **state) {
    (void)state;
    nnvm_expect("null; null __shape__=(2,2); null; FullyConnected 0 1 2 num_hidden=2",
        "float32[1,2,1] 1 2; float32[2,2] 1 2 3 4; float32[2] 10 20 -> float32[1,2] 15 31");
    nnvm_expect("null __shape__=(2,2); null __shape__=(2,2); dot 0 1 transpose_b=True; batch_dot 0 "
                "1; heads 2 3",
        "float32[2,2] 1 2 3 4; float32[2,2] 1 2 3 4 -> float32[2,2] 5 11 11 25; float32[2,2] 7 10 "
        "15 22");
    nnvm_refused(INVALID, "num_hidden|units is 3, but dimension 0 of input 1 is 2",
        "null; null __shape__=(2,2); FullyConnected 0 1 num_hidden=3 no_bias=True");
    nnvm_refused(INVALID, "2 inputs, but the attributes say that there is a bias",
        "null; null __shape__=(2,2); FullyConnected 0 1 num_hidden=2");
}

static void test_nnvm_build_nn_slides_windows(void **state) {
    (void)state;
    nnvm_expect(
        "null; null; Convolution 0 1 kernel=(2,2) num_filter=1 no_bias=True; Pooling 0 "
        "kernel=(2,2) pool_type=max; Pooling 0 kernel=(2,2) pad=(1,1) stride=(2,2) pool_type=avg; "
        "Pooling 0 global_pool=True pool_type=avg kernel=(1,1); heads 2 3 4 5",
        "float32[1,1,2,2] 1 2 3 4; float32[1,1,2,2] 1 2 3 4 -> float32[1,1,1,1] 30; "
        "float32[1,1,1,1] 4; float32[1,1,2,2] 0.25 0.5 0.75 1; float32[1,1,1,1] 2.5");
    nnvm_expect("null; avg_pool2d 0 pool_size=(2,2) padding=(1,1) strides=(2,2)",
        "float32[1,1,2,2] 1 2 3 4 -> float32[1,1,2,2] 1 2 3 4");
    nnvm_expect("null; Pooling 0 kernel=(2,2) stride=(2,2) pooling_convention=full",
        "float32[1,1,3,3] 1 2 3 4 5 6 7 8 9 -> float32[1,1,2,2] 5 6 8 9");
    nnvm_expect("null; UpSampling 0 scale=2 sample_type=nearest",
        "float32[1,1,1,2] 1 2 -> float32[1,1,2,4] 1 1 2 2 1 1 2 2");
    nnvm_expect("null; null; Deconvolution 0 1 kernel=(2,2) stride=(2,2) num_filter=1",
        "float32[1,1,1,1] 2; float32[1,1,2,2] 1 2 3 4 -> float32[1,1,2,2] 2 4 6 8");
    nnvm_refused(UNSUPPORTED, "kernel 2, stride 2, pad 1",
        "null; Pooling 0 kernel=(2,2) stride=(2,2) pad=(1,1) pooling_convention=full");
    nnvm_refused(UNSUPPORTED, "the attribute layout is NHWC; only NCHW is read",
        "null; null; Convolution 0 1 kernel=(1,1) no_bias=True layout=NHWC");
}

int test_nnvm_build_nn(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_build_nn_multiplies),
        cmocka_unit_test(test_nnvm_build_nn_slides_windows),
    };
    return cmocka_run_group_tests_name("nnvm_build_nn", tests, NULL, NULL);
}
