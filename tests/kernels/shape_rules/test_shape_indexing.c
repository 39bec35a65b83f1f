#include "tests/kernels/fixtures/infer_fixture.h"

static void test_indexing_rules_check_ranks_and_types(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"TensorScatter", NULL, "int8[2,5,3] int8[2,2,3] int64[2]", "int8[2, 5, 3]"},
        {"TensorScatter", "{axis=-1}", "int8[2,5] int8[2,0]", "int8[2, 5]"},
        {"TensorScatter", "{axis=0}", "int8[2,5] int8[2,5]", "! axis 0 is the batch"},
        {"TensorScatter", "{mode=\"up\"}", "int8[2,5,3] int8[2,2,3]", "! mode \"up\""},
        {"TensorScatter", NULL, "int8[2,5,3] int8[2,6,3]", "! an update of 6 for 5 in dimension 1"},
        {"TensorScatter", NULL, "int8[2,5,3] int8[1,2,3]", "! an update of 1 for 2 in dimension 0"},
        {"TensorScatter", NULL, "int8[2,5,3] int16[2,2,3]", "! input 1 is int16"},
        {"TensorScatter", NULL, "int8[2,5,3] int8[2,2]", "! input 1 has rank 2"},
        {"TensorScatter", NULL, "int8[2,5,3] int8[2,2,3] int64[3]", "! input 2"},
        {"ReverseSequence", NULL, "int8[4,3,2] int64[3]", "int8[4, 3, 2]"},
        {"ReverseSequence", "{time_axis=1, batch_axis=0}", "int8[4,3] int64[4]", "int8[4, 3]"},
        {"ReverseSequence", "{time_axis=1}", "int8[4,3] int64[4]",
            "! time_axis 1 and batch_axis 1"},
        {"ReverseSequence", NULL, "int8[4] int64[4]", "! an input of rank 1"},
        {"ReverseSequence", NULL, "int8[4,3] int64[4]", "! input 1"},
        {"ReverseSequence", NULL, "int8[4,3] int32[3]", "! input 1 is int32"},
        {"Gather", "{axis=1}", "float32[2,3,4] int64[5,6]", "float32[2, 5, 6, 4]"},
        {"Gather", "{axis=-4}", "float32[2,3,4] int64[5]", "! axis -4 of rank 3"},
        {"Gather", NULL, "float32[] int64[5]", "! axis 0 of rank 0"},
        {"Gather", NULL, "float32[2] float32[5]", "! input 1 is float32"},
        {"Gather", NULL, "float32[1,1,1,1,1] int64[1,1,1,1,1]", "! rank above 8"},
        {"GatherElements", NULL, "float32[2,3] int32[7,3]", "float32[7, 3]"},
        {"GatherElements", NULL, "float32[2,3] int32[2,4]", "! 4 indices for 3 elements"},
        {"GatherElements", NULL, "float32[2,3] int32[2]", "! input 1 has rank 1, not 2"},
        {"ScatterElements", NULL, "float32[2,3] int64[1,3] float32[1,3]", "float32[2, 3]"},
        {"ScatterElements", NULL, "float32[2,3] int64[1,3] float32[1,2]", "! input 2 has shape"},
        {"ScatterElements", "{reduction=\"sub\"}", "float32[2] int64[1] float32[1]", "! \"sub\""},
        {"GatherND", NULL, "float32[2,3,4] int64[7,2]", "float32[7, 4]"},
        {"GatherND", "{batch_dims=1}", "float32[2,3,4] int64[2,1]", "float32[2, 4]"},
        {"GatherND", "{batch_dims=1}", "float32[2,3,4] int64[3,1]", "! batch dimension 0 differs"},
        {"GatherND", "{batch_dims=3}", "float32[2,3] int64[2,1]", "! 3 batch dimensions"},
        {"GatherND", "{batch_dims=-1}", "float32[2,3] int64[2,1]", "! batch_dims -1"},
        {"GatherND", NULL, "float32[2,3] int64[7,3]", "! 3 coordinates for rank 2"},
        {"GatherND", NULL, "float32[2,3] int64[7,0]", "float32[7, 2, 3]"},
        {"ScatterND", NULL, "float32[4,3] int64[2,1] float32[2,3]", "float32[4, 3]"},
        {"ScatterND", NULL, "float32[4,3] int64[2,1] float32[2]", "! input 2 has shape [2]"},
        {"ScatterND", NULL, "float32[4,3] int32[2,1] float32[2,3]", "! input 1 is int32"},
        {"OneHot", NULL, "int64[2] int64[]=5 float32[2]", "float32[2, 5]"},
        {"OneHot", "{axis=0}", "float32[2] float32[1]=5 bool[2]", "bool[5, 2]"},
        {"OneHot", NULL, "int64[2] float32[]=5.5e18 float32[2]", "! not a whole number"},
        {"OneHot", NULL, "int64[2] int64[]=0 float32[2]", "! depth 0"},
        {"OneHot", NULL, "int64[2] int64[]=5 int4[2]", "! input 2 is int4"},
        {"OneHot", NULL, "int64[2] int64[2]=5,5 float32[2]", "! not one number"},
        {"OneHot", NULL, "int64[2] int64[]=5 float32[3]", "! input 2 has shape [3], not [2]"},
        {"OneHot", "{axis=2}", "int64[2] int64[]=5 float32[2]", "! axis 2 of rank 2"},
        {"OneHot", NULL, "int64[2] int64[]=5 uint4[2]", "! input 2 is uint4"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_indexing(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indexing_rules_check_ranks_and_types),
    };
    return cmocka_run_group_tests_name("shape_indexing", tests, NULL, NULL);
}
