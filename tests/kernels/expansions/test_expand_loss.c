#include "tests/kernels/fixtures/infer_fixture.h"

static void test_losses_are_scalars_or_one_for_each_sample(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"NegativeLogLikelihoodLoss", NULL, "float32[3,5] int64[3]", "float32[]"},
        {"NegativeLogLikelihoodLoss", "{reduction=\"none\"}",
            "float16[3,5,2,4] int32[3,2,4] float16[5]", "float16[3, 2, 4]"},
        {"SoftmaxCrossEntropyLoss", "{ignore_index=-100}", "float64[3,5,2] int64[3,2]",
            "float64[] float64[3, 5, 2]"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_losses_refuse_what_does_not_fit(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"NegativeLogLikelihoodLoss", "{reduction=\"max\"}", "float32[3,5] int64[3]",
            "! reduction \"max\""},
        {"NegativeLogLikelihoodLoss", NULL, "int32[3,5] int64[3]", "! input 0 is int32"},
        {"NegativeLogLikelihoodLoss", NULL, "float32[3,5] float32[3]",
            "! classes of element type float32"},
        {"NegativeLogLikelihoodLoss", NULL, "float32[3] int64[3]", "! input 0 has rank 1"},
        {"NegativeLogLikelihoodLoss", NULL, "float32[3,5,2] int64[3]",
            "! classes do not have the shape of input 0 without its classes"},
        {"NegativeLogLikelihoodLoss", NULL, "float32[3,5] int64[3] float32[4]",
            "! weights are not 5 of float32"},
        {"NegativeLogLikelihoodLoss", NULL, "float32[3,5] int64[3] float64[5]",
            "! weights are not 5 of float32"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_loss(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_are_scalars_or_one_for_each_sample),
        cmocka_unit_test(test_losses_refuse_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("expand_loss", tests, NULL, NULL);
}
