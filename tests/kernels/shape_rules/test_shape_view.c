#include "tests/kernels/fixtures/infer_fixture.h"

static void test_view_rules_keep_the_elements(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"BitCast", "{to=int32}", "float32[2,3]", "int32[2, 3]"},
        {"BitCast", "{to=uint8}", "bool[2]", "uint8[2]"},
        {"BitCast", "{to=float4e2m1}", "int4[2]", "float4e2m1[2]"},
        {"BitCast", "{to=bool}", "int8[2]", "? a bool is 0 or 1, int8 may be more"},
        {"BitCast", "{to=int64}", "float32[2,3]", "! float32 has not as many bits as int64"},
        {"Identity", NULL, "int4[3]", "int4[3]"},
        {"Reshape", NULL, "int8[2,3,4] int64[3]=0,-1,2", "int8[2, 6, 2]"},
        {"Reshape", NULL, "int8[2,3] int64[0]", "! cannot read [2, 3] as []"},
        {"Reshape", NULL, "int8[1,1] int64[0]", "int8[]"},
        {"Reshape", NULL, "int8[0,3] int64[2]=0,5", "int8[0, 5]"},
        {"Reshape", "{allowzero=1}", "int8[0,3] int64[2]=7,0", "int8[7, 0]"},
        {"Reshape", NULL, "int8[0,3] int64[2]=0,-1", "! cannot be told"},
        {"Reshape", NULL, "int8[2,3] int64[2]=4,-1", "! 6 elements do not divide by 4"},
        {"Reshape", NULL, "int8[2] int64[2]=2,0", "! copies one that is not there"},
        {"Reshape", NULL, "int8[2] int64[1,1]=2", "! input 1 has rank 2"},
        {"Reshape", NULL, "int8[2] int32[1]=2", "! input 1 is int32"},
        {"Squeeze", NULL, "int8[1,3,1]", "int8[3]"},
        {"Squeeze", NULL, "int8[1,3,1] int64[1]=-1", "int8[1, 3]"},
        {"Squeeze", NULL, "int8[1,3,1] int64[1]=1", "! dimension 1 is 3, not 1"},
        {"Squeeze", NULL, "int8[1,3,1] int64[0]", "int8[1, 3, 1]"},
        {"Unsqueeze", NULL, "int8[3] int64[2]=0,-1", "int8[1, 3, 1]"},
        {"Unsqueeze", NULL, "int8[3] int64[2]=0,-3", "! axis 0 twice"},
        {"Unsqueeze", NULL, "int8[1,1,1,1,1,1,1,1] int64[1]=0", "! a result of rank 9"},
        {"Flatten", "{axis=-1}", "int8[2,3,4]", "int8[6, 4]"},
        {"Flatten", "{axis=0}", "int8[2,3]", "int8[1, 6]"},
        {"Flatten", "{axis=3}", "int8[2,3]", "! axis 3 of rank 2"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_view(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view_rules_keep_the_elements),
    };
    return cmocka_run_group_tests_name("shape_view", tests, NULL, NULL);
}
