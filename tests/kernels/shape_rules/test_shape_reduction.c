#include "tests/kernels/fixtures/infer_fixture.h"

static void test_reduction_rules_shrink_the_reduced_dimensions(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"ReduceSum", NULL, "float32[2,3,4] int64[1]=-1", "float32[2, 3, 1]"},
        {"ReduceSum", "{keepdims=0}", "float32[2,3,4] int64[2]=0,2", "float32[3]"},
        {"ReduceSum", "{keepdims=0}", "float32[2,3,4]", "float32[]"},
        {"ReduceSum", "{noop_with_empty_axes=1}", "float32[2,3] int64[0]", "float32[2, 3]"},
        {"ReduceSum", NULL, "float32[2,3] int64[2]=1,-1", "! axis 1 twice"},
        {"ReduceSum", NULL, "float32[2,3] int64[1]=2", "! axis 2 of rank 2"},
        {"ReduceSum", NULL, "bool[2,3]", "! input 0 is bool"},
        {"ReduceMax", NULL, "bool[2,3]", "bool[1, 1]"},
        {"ReduceL1", NULL, "int32[2,3] int64[1]=1", "int32[2, 1]"},
        {"ReduceLogSum", NULL, "int32[2,3]", "! input 0 is int32"},
        {"ReduceLogSumExp", "{keepdims=0}", "float16[2,3] int64[1]=0", "float16[3]"},
        {"CumProd", NULL, "int32[2,3] int64[]=-1", "int32[2, 3]"},
        {"CumProd", NULL, "bool[2,3] int64[]=0", "! input 0 is bool"},
        {"Hardmax", NULL, "float32[2,3]", "float32[2, 3]"},
        {"ArgMax", "{keepdims=0}", "float32[2,3]", "int64[3]"},
        {"ArgMax", NULL, "float32[0,3]", "! nothing along axis 0"},
        {"ArgMax", NULL, "float32[]", "! axis 0 of rank 0"},
        {"TopK", NULL, "float32[2,7] int64[1]=3", "float32[2, 3] int64[2, 3]"},
        {"TopK", NULL, "float32[2,7] int64[1]=8", "! k 8 of 7"},
        {"TopK", NULL, "float32[2,7] int64[2]=1,1", "! not one number"},
        {"CumSum", NULL, "float32[2,7] int32[]=-2", "float32[2, 7]"},
        {"CumSum", NULL, "float32[2,7] int32[]=2", "! axis 2 of rank 2"},
        {"Softmax", "{axis=1}", "float32[2,7]", "float32[2, 7]"},
        {"Softmax", NULL, "float32[]", "! axis -1 of rank 0"},
        {"Softmax", NULL, "int32[2]", "! input 0 is int32"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_reduction(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduction_rules_shrink_the_reduced_dimensions),
    };
    return cmocka_run_group_tests_name("shape_reduction", tests, NULL, NULL);
}
