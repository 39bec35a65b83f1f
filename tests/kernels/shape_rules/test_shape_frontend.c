#include "tests/kernels/fixtures/infer_fixture.h"

#define TREES(rows, base)                                                                          \
    rows " float32[4,2] int32[4,2] int32[2] int32[5] int32[6] float32[6] " base

static void test_frontend_rules_place_axes_and_bounds(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"AlignAxes", "{axis=1}", "float32[3] int8[2,3,4,5]", "float32[3, 1, 1]"},
        {"AlignAxes", "{axis=-1}", "float32[3] int8[2,3]", "float32[3]"},
        {"AlignAxes", "{axis=0}", "float32[2,3] int8[2,3]", "float32[2, 3]"},
        {"AlignAxes", "{axis=1}", "float32[2,3] int8[2,3]", "! axis 1 for rank 2 within rank 2"},
        {"AlignAxes", "{axis=-3}", "float32[3] int8[2,3]", "! axis -3 for rank 1 within rank 2"},
        {"AlignAxes", "{axis=0}", "float32[2,3] int8[2]", "! axis 0 for rank 2 within rank 1"},
        {"SplitBounds", NULL, "int64[2]=5,2", "int64[6]"},
        {"Lookup", "{}", "float32[7,3] float32[2]", "int64[7, 3]"},
        {"Lookup", "{}", "float32[7,3] float64[2]",
            "! Lookup: input 0 is float32, input 1 is float64"},
        {"Lookup", "{}", "float32[7,3] float32[2,1]", "! input 1 has rank 2"},
        {"SvmCouple", "{classes=3}", "float32[7,3]", "float32[7, 3]"},
        {"SvmCouple", "{classes=3}", "float32[7,4]", "! 4 pairs of 3 classes"},
        {"SvmCouple", "{classes=1}", "float32[7,0]", "! 1 classes; 2 to 4096"},
        {"SvmCouple", "{classes=3}", "float64[7,3]", "! input 0 is float64"},
        {"TreeScores", "{depth=1}", TREES("float32[7,3]", "float32[2]"), "float32[7, 2]"},
        {"TreeScores", "{depth=1}", TREES("float64[7,3]", "float32[2]"),
            "! input 0 is float64, input 1 is float32"},
        {"TreeScores", "{depth=1}", TREES("float32[7]", "float32[2]"), "! input 0 has rank 1"},
        {"TreeScores", "{depth=1}", TREES("float32[7,0]", "float32[2]"), "! rows without columns"},
        {"TreeScores", "{depth=1}", TREES("float32[7,3]", "float32[0]"), "! no scores"},
        {"TreeScores", "{depth=-1}", TREES("float32[7,3]", "float32[2]"), "! depth -1"},
        {"TreeScores", "{aggregate=\"SOME\", depth=1}", TREES("float32[7,3]", "float32[2]"),
            "! aggregate \"SOME\""},
        {"SplitBounds", "{axis=1}", "int64[2]=5,2 int64[]=2", "int64[2]"},
        {"SplitBounds", NULL, "int64[2]=5,2 int32[3]=1,4,0", "int64[4]"},
        {"SplitBounds", NULL, "int64[1]=0 int64[0]", "int64[1]"},
        {"SplitBounds", "{axis=2}", "int64[2]=5,2", "! axis 2 of rank 2"},
        {"SplitBounds", NULL, "int64[0]", "! axis 0 of rank 0"},
        {"SplitBounds", NULL, "int32[1]=1", "! input 0 is int32"},
        {"SplitBounds", NULL, "int64[2]=5,-2", "! dimension 1 is -2"},
        {"SplitBounds", NULL, "int64[1]=5 int64[]=0", "! pieces of 0"},
        {"SplitBounds", NULL, "int64[1]=5 int64[2]=2,2",
            "! splits of 4 together for a dimension of 5"},
        {"SplitBounds", NULL, "int64[1]=5 int64[2]=6,-1", "! split 1 is -1"},
        {"SplitBounds", NULL, "int64[1]=5 int64[2]=9223372036854775807,1",
            "! the splits are too large"},
        {"SplitBounds", NULL, "int64[1]=5 int64[1,1]=5", "! input 1 has rank 2"},
        {"SplitBounds", NULL, "int64[1]=5 float32[]=5", "! input 1 is float32"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_frontend(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frontend_rules_place_axes_and_bounds),
    };
    return cmocka_run_group_tests_name("shape_frontend", tests, NULL, NULL);
}
