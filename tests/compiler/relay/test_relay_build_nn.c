#include "tests/compiler/relay_run.h"
#include "tests/support/test_support.h"

static void test_relay_build_nn_multiplies(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32], %b: "
                 "Tensor[(2), float32]) {\n"
                 "  (nn.bias_add(nn.dense(%x, %w, units=2), %b, axis=-1), nn.matmul(%x, %w), "
                 "nn.matmul(%x, %w, transpose_b=True),\n"
                 "   nn.batch_matmul(expand_dims(%x, axis=0), expand_dims(%w, axis=0)), "
                 "nn.softmax(%x - %x)) }",
        "float32[1,2] 1 2; float32[2,2] 1 2 3 4; float32[2] 10 20 -> float32[1,2] 15 31; "
        "float32[1,2] 7 10; float32[1,2] 5 11; "
        "float32[1,1,2] 5 11; float32[1,2] 0.5 0.5");
    relay_refused(INVALID, "units is 3, the weights have 2",
        "def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32]) { nn.dense(%x, %w, "
        "units=3) }");
}

static void test_relay_build_nn_slides_windows(void **state) {
    (void)state;
    static const char format[] = "def @main(%x: Tensor[(1, 2, 2, 1), float32]) {\n"
                                 "  let %w = reshape(arange(1f, 5f, 1f), newshape=[2, 2, 1, 1]);\n"
                                 "  let %t = transpose(%x, axes=[0, 3, 1, 2]);\n"
                                 "  (nn.conv2d(%x, %w, padding=[1, 1, 0, 0], kernel_size=[2, 2], "
                                 "channels=1, data_layout=\"NHWC\", kernel_layout=\"HWIO\"),\n"
                                 "   nn.conv2d(%t, transpose(%w, axes=[3, 2, 0, 1]), strides=[1, "
                                 "1]), nn.max_pool2d(%t, pool_size=[2, 2]),\n"
                                 "   nn.avg_pool2d(%x, pool_size=2, layout=\"NHWC\"), "
                                 "nn.global_avg_pool2d(%t), nn.batch_flatten(%t)) }";
    relay_expect(format, "float32[1,2,2,1] 1 2 3 4 -> float32[1,2,2,1] 4 11 14 30; "
                         "float32[1,1,1,1] 30; float32[1,1,1,1] 4; "
                         "float32[1,1,1,1] 2.5; float32[1,1,1,1] 2.5; float32[1,4] 1 2 3 4");
    relay_refused(UNSUPPORTED, "data_layout NCHW4c; NCHW and NHWC are read",
        "def @main(%x: Tensor[(1, 1, 2, 2), float32]) { nn.conv2d(%x, %x, data_layout=\"NCHW4c\") "
        "}");
}

static void test_relay_build_nn_normalises(void **state) {
    (void)state;
    relay_expect("def @main(%x: Tensor[(2, 2), float32], %v: Tensor[(2), float32]) {\n"
                 "  let %n = nn.batch_norm(%x, %v, %v, %v, %v * %v, epsilon=0f, scale=False);\n"
                 "  (%n.0, %n.1, nn.layer_norm(%x, %v, %v, epsilon=0f, center=False), "
                 "nn.dropout(%x, rate=0.5).0, nn.dropout(%x).1) }",
        "float32[2,2] 2 4 6 8; float32[2] 1 2 -> float32[2,2] 2 3 6 5; float32[2] 1 2; "
        "float32[2,2] -1 2 -1 2; "
        "float32[2,2] 2 4 6 8; float32[2,2] 1 1 1 1");
}

int test_relay_build_nn(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relay_build_nn_multiplies),
        cmocka_unit_test(test_relay_build_nn_slides_windows),
        cmocka_unit_test(test_relay_build_nn_normalises),
    };
    return cmocka_run_group_tests_name("relay_build_nn", tests, NULL, NULL);
}
