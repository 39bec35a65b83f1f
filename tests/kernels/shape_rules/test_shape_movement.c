#include "tests/kernels/fixtures/infer_fixture.h"

/* What has no elements and no length along the axis is left out. */
static void test_concat_leaves_out_what_has_no_elements(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Concat", "{axis=0}", "int8[2,3] int8[0]", "int8[2, 3]"},
        {"Concat", "{axis=1}", "int8[0] int8[2,3] int8[2,1]", "int8[2, 4]"},
        {"Concat", "{axis=0}", "int8[0,0] int8[2,3] int8[0,5]", "int8[2, 3]"},
        {"Concat", "{axis=-1}", "int8[0] int8[2,3] int8[7,0]", "int8[2, 3]"},
        {"Concat", "{axis=0}", "int8[0,3] int8[0,4]", "int8[0, 3]"},
        {"Concat", "{axis=1}", "int8[0,3] int8[0,4]", "int8[0, 7]"},
        {"Concat", "{axis=0}", "int8[0] int8[0,3]", "int8[0]"},
        {"Concat", "{axis=0}", "int8[2,3] int8[7,0]", "! input 1 has 0 in dimension 1, not 3"},
        {"Concat", "{axis=1}", "int8[0,5] int8[2,3]", "! input 0 has 0 in dimension 0, not 2"},
        {"Concat", "{axis=1}", "int8[2,3] int8[0,3,1]", "! input 1 has rank 3, not 2"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_movement_rules_follow_values(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"EyeLike", NULL, "bool[2,3]", "bool[2, 3]"},
        {"EyeLike", "{dtype=float16}", "int8[2,3]", "float16[2, 3]"},
        {"EyeLike", NULL, "int8[2]", "! input 0 has rank 1"},
        {"EyeLike", "{dtype=string}", "int8[2,2]", "! dtype string"},
        {"EyeLike", NULL, "float8e5m2[2,2]", "! input 0 is float8e5m2"},
        {"Concat", "{axis=-1}", "int8[2,3] int8[2,0] int8[2,4]", "int8[2, 7]"},
        {"Concat", "{axis=0}", "int8[2,3] int8[2,4]", "! input 1 has 4 in dimension 1, not 3"},
        {"Concat", "{axis=0}", "int8[2] int8[2,1]", "! input 1 has rank 2, not 1"},
        {"Concat", "{axis=0}", "int8[]", "! axis 0 of rank 0"},
        {"Split", NULL, "int8[7] int64[2]=3,4", "int8[3] int8[4]"},
        {"Split", "{num_outputs=3}", "int8[7]", "int8[3] int8[3] int8[1]"},
        {"Split", NULL, "int8[4]", "int8[2] int8[2] int8[0]"},
        {"Split", "{num_outputs=2}", "int8[7]", "! num_outputs 2 but 1 outputs"},
        {"Slice", NULL, "int8[5,6] int64[2]=1,2 int64[2]=3,4", "int8[2, 2]"},
        {"Slice", NULL, "int8[5] int64[1]=0 int64[1]=5 int64[1]=0 int64[1]=0", "! step 0"},
        {"Slice", NULL, "int8[5] int64[2]=0,0 int64[2]=5,5", "! differ in length"},
        {"Slice", NULL, "int8[5,5] int64[2]=0,0 int64[2]=5,5 int64[2]=1,-1", "! axis 1 twice"},
        {"Slice", NULL, "int8[5] float32[1]=0 int64[1]=5", "! input 1 is float32, not int64"},
        {"Slice", NULL, "int8[5] int64[1] int64[1]=5", "! the value of input 1 is not known"},
        {"Transpose", NULL, "int8[2,3,4]", "int8[4, 3, 2]"},
        {"Transpose", "{perm=[1, 0, 2]}", "int8[2,3,4]", "int8[3, 2, 4]"},
        {"Transpose", "{perm=[1, 1, 2]}", "int8[2,3,4]", "! not an order"},
        {"Transpose", "{perm=[1, 0]}", "int8[2,3,4]", "! 2 elements for rank 3"},
        {"Transpose", "{perm=[1, -1]}", "int8[2,3]", "! not an order"},
        {"Expand", NULL, "int8[3,1] int64[3]=2,1,4", "int8[2, 3, 4]"},
        {"Expand", NULL, "int8[3] int64[1]=4", "! do not broadcast"},
        {"Expand", NULL, "int8[3] int64[9]=1,1,1,1,1,1,1,1,1", "! at most 8 fit"},
        {"Tile", NULL, "int8[3,2] int64[2]=2,0", "int8[6, 0]"},
        {"Tile", NULL, "int8[3,2] int64[1]=2", "! 1 repeats for rank 2"},
        {"Pad", NULL, "int8[3,2] int64[4]=1,0,2,-1", "int8[6, 1]"},
        {"Pad", NULL, "int8[3,2] int64[2]=1,2 - int64[1]=-1", "int8[3, 5]"},
        {"Pad", NULL, "int8[3,2] int64[3]=1,2,3", "! 3 pads for 2 dimensions"},
        {"Pad", NULL, "int8[3] int64[2]=-2,-2", "! cannot be changed by -4"},
        {"Pad", NULL, "int8[3] int64[2]=-4,4", "! more is cut off"},
        {"Pad", "{mode=\"edge\"}", "int8[0] int64[2]=1,0", "! pads 1 and 0"},
        {"Pad", "{mode=\"mirror\"}", "int8[3] int64[2]=1,0", "! mode \"mirror\""},
        {"Pad", NULL, "int8[3] int64[2]=1,0 int8[2]", "! constant_value"},
        {"ConstantOfShape", NULL, "int64[2]=2,3", "float32[2, 3]"},
        {"ConstantOfShape", "{value=tensor(bool, [2], \"0101\")}", "int64[1]=2", "! one element"},
        {"ConstantOfShape", NULL, "int64[1]=-2", "! dimension 0 is -2"},
        {"Range", NULL, "int64[]=0 int64[]=10 int64[]=3", "int64[4]"},
        {"Range", NULL, "int64[]=0x7fffffffffffffff int64[]=-0x7fffffffffffffff int64[]=-1",
            "! more than 2^63"},
        {"Range", NULL, "float32[]=0 float32[]=1 float32[]=0.1", "float32[10]"},
        {"Range", NULL, "float32[]=0 float32[]=nan float32[]=1", "! by 1"},
        {"Range", NULL, "float32[]=0 float32[]=inf float32[]=1", "! from 0 to inf"},
        {"Shape", "{start=-2}", "int8[2,3,4]", "int64[2]"},
        {"Shape", "{start=5, end=-9}", "int8[2,3,4]", "int64[0]"},
        {"Size", NULL, "int8[2,3,4]", "int64[]"},
        {"Trilu", NULL, "int8[2,3]", "int8[2, 3]"},
        {"Trilu", NULL, "int8[2]", "! a matrix of rank 1"},
        {"NonZero", NULL, "int8[2,3]", "int64[2, -1]"},
        {"NonZero", NULL, "int8[]", "int64[0, -1]"},
        {"RandomUniform", "{shape=[2, 3], dtype=float16}", "", "float16[2, 3]"},
        {"RandomUniform", "{shape=[2, -3]}", "", "! dimension 1 is -3"},
        {"RandomNormal", "{shape=[2], dtype=int32}", "", "! dtype int32"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_movement(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_movement_rules_follow_values),
        cmocka_unit_test(test_concat_leaves_out_what_has_no_elements),
    };
    return cmocka_run_group_tests_name("shape_movement", tests, NULL, NULL);
}
