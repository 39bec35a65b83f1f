#include "tests/kernels/fixtures/infer_fixture.h"

static void test_elementwise_rules_broadcast_and_check_types(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"SwiGLU", NULL, "float32[2,3] float32[2,3]", "float32[2, 3]"},
        {"SwiGLU", NULL, "float32[2,3] float32[3]", "! input 1"},
        {"SwiGLU", NULL, "int8[2] int8[2]", "! input 0 is int8"},
        {"SwiGLU", NULL, "float32[2] float16[2]", "! input 1 is float16"},
        {"BitShift", "{direction=\"LEFT\"}", "uint8[2,1] uint8[3]", "uint8[2, 3]"},
        {"BitShift", "{direction=\"UP\"}", "uint8[2] uint8[2]", "! direction \"UP\""},
        {"BitShift", "{direction=\"LEFT\"}", "float32[2] float32[2]", "! input 0 is float32"},
        {"IsInf", NULL, "float16[2]", "bool[2]"},
        {"Shrink", NULL, "uint16[2]", "uint16[2]"},
        {"Add", NULL, "float32[2,1] float32[3]", "float32[2, 3]"},
        {"Add", NULL, "float32[2] int64[2]", "! Add: input 0 is float32, input 1 is int64"},
        {"Add", NULL, "bool[2] bool[2]", "! input 0 is bool"},
        {"Add", NULL, "float32[2] float32[3]", "! [2] and [3] do not broadcast"},
        {"Add", NULL, "float32[1099511627776,1] float32[1,1099511627776]", "! more than 2^62"},
        {"Max", NULL, "int32[3] int32[2,1] int32[]", "int32[2, 3]"},
        {"Max", NULL, "int32[3] - int32[2]", "! input 1 is missing"},
        {"Mean", NULL, "int32[3]", "! input 0 is int32"},
        {"Pow", NULL, "float32[3] int64[]", "float32[3]"},
        {"Pow", NULL, "float32[3] bool[]", "! input 1 is bool"},
        {"Greater", NULL, "uint8[3] uint8[3]", "bool[3]"},
        {"Equal", NULL, "bool[3] bool[1]", "bool[3]"},
        {"And", NULL, "bool[3] int32[3]", "! input 0 is bool, input 1 is int32"},
        {"BitwiseAnd", NULL, "float32[3] float32[3]", "! input 0 is float32"},
        {"Where", NULL, "bool[2,1] float16[3] float16[]", "float16[2, 3]"},
        {"Where", NULL, "uint8[2] float16[2] float16[2]", "! input 0 is uint8"},
        {"PRelu", NULL, "float32[2,3] float32[3]", "float32[2, 3]"},
        {"PRelu", NULL, "float32[3] float32[2,3]", "! the slope"},
        {"Neg", NULL, "uint8[3]", "! input 0 is uint8"},
        {"Exp", NULL, "int32[3]", "! input 0 is int32"},
        {"IsNaN", NULL, "float64[0,3]", "bool[0, 3]"},
        {"Gelu", "{approximate=\"erf\"}", "float32[3]", "! approximate \"erf\""},
        {"Cast", "{to=int4}", "float32[3]", "int4[3]"},
        {"Cast", "{to=string}", "float32[3]", "string[3]"},
        {"Cast", "{to=int4, round_mode=\"even\"}", "float32[3]", "! round_mode \"even\""},
        {"CastLike", NULL, "float32[3] int2[7,7]", "int2[3]"},
        {"CastLike", NULL, "float32[3] string[1]", "string[3]"},
        {"Where", NULL, "bool[2] int4[2] int4[2]", "! input 1 is int4"},
        {"Dropout", NULL, "float8e5m2[3]", "float8e5m2[3] bool[3]"},
        {"Clip", NULL, "float32[3] - float32[]", "float32[3]"},
        {"Clip", NULL, "float32[3] float32[1]", "float32[3]"},
        {"Clip", NULL, "float32[] float32[1]", "! input 1 is not a scalar"},
        {"Clip", NULL, "float32[3] float32[2]", "! input 1 is not a scalar"},
        {"Clip", NULL, "float32[3] float64[]", "! input 0 is float32, input 1 is float64"},
        {"Dropout", NULL, "float32[3]", "float32[3] bool[3]"},
        {"Dropout", NULL, "float32[3] - bool[]=0", "float32[3]"},
        {"Dropout", NULL, "float32[3] - bool[]=1", "? training_mode"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_elementwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise_rules_broadcast_and_check_types),
    };
    return cmocka_run_group_tests_name("shape_elementwise", tests, NULL, NULL);
}
