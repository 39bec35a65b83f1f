#include "tests/kernels/fixtures/infer_fixture.h"

static void test_resize_says_what_it_refuses(void **state) {
    static const InferRow rows[] = {
        {"Resize", NULL, "bool[1,2,3] - float32[3]=1,2,1.5", "bool[1, 4, 4]"},
        {"Resize", NULL, "float32[20] - float32[1]=0.45", "float32[9]"},
        {"Resize", "{mode=\"linear\"}", "float16[4,6] float32[0] float32[0] int64[2]=2,9",
            "float16[2, 9]"},
        {"Resize", "{mode=\"linear\"}", "bool[4] - float32[1]=2", "! input 0 is bool"},
        {"Resize", NULL, "uint4[4] - float32[1]=2", "! input 0 is uint4"},
        {"Resize", "{mode=\"area\"}", "float32[4] - float32[1]=2", "! mode \"area\""},
        {"Resize", "{nearest_mode=\"up\"}", "float32[4] - float32[1]=2", "! nearest_mode \"up\""},
        {"Resize", "{antialias=1}", "float32[4] - float32[1]=2", "! antialias with mode nearest"},
        {"Resize", "{antialias=1, mode=\"linear\"}", "float32[400000] - - int64[1]=2",
            "? antialias at a scale of 5e-06"},
        {"Resize", NULL, "float32[4]", "! neither scales nor sizes"},
        {"Resize", NULL, "float32[4] - float32[1]=2 int64[1]=4", "! both scales and sizes"},
        {"Resize", NULL, "float32[4] - float32[2]=2,2", "! 2 scales or sizes for 1 axes"},
        {"Resize", NULL, "float32[4] - float32[1]=0", "! scale 0 of axis 0"},
        {"Resize", NULL, "float32[4] - - int64[1]=-1", "! size -1 of axis 0"},
        {"Resize", NULL, "float32[4] - float32[1]=1e30", "! dimension 0 becomes"},
        {"Resize", NULL, "float32[0] - - int64[1]=3", "! dimension 0 is empty and cannot become 3"},
        {"Resize", "{axes=[0, 0]}", "float32[4,4] - - int64[2]=3,3", "! axis 0 twice"},
        {"Resize", "{axes=[0, 1, 0]}", "float32[4,4] - - int64[2]=3,3", "! 3 axes for rank 2"},
        {"Resize", "{coordinate_transformation_mode=\"tf_crop_and_resize\"}",
            "float32[4] - - int64[1]=3", "! roi has 0 elements, not 2"},
        {"Resize", "{coordinate_transformation_mode=\"tf_crop_and_resize\"}",
            "float32[4] float32[2]=0,inf - int64[1]=3", "! roi of axis 0 is not finite"},
        {"Resize", "{coordinate_transformation_mode=\"tf_crop_and_resize\"}",
            "float32[4] int64[2]=0,1 - int64[1]=3", "! input 1 is int64, not a float type"},
        {"Resize", NULL, "float32[4] - float32[1,1]=2", "! input 2 has rank 2"},
    };
    (void)state;
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_grids_say_what_they_refuse(void **state) {
    static const InferRow rows[] = {
        {"GridSample", NULL, "int8[2,3,4,5] float16[2,7,8,2]", "int8[2, 3, 7, 8]"},
        {"GridSample", NULL, "bool[2,3,4,5] float32[2,7,8,2]", "! input 0 is bool"},
        {"GridSample", "{mode=\"nearest\"}", "int4[2,3,4,5] float32[2,7,8,2]", "! input 0 is int4"},
        {"GridSample", NULL, "float32[2,3,4,5] int32[2,7,8,2]", "! input 1 is int32"},
        {"GridSample", NULL, "float32[2,3] float32[2,2]", "! an input of rank 2"},
        {"GridSample", NULL, "float32[2,3,4,5] float32[2,7,2]", "! input 1 has rank 3, not 4"},
        {"GridSample", NULL, "float32[2,3,4,5] float32[1,7,8,2]", "! a grid [1, …, 2] for a batch"},
        {"GridSample", NULL, "float32[2,3,0,5] float32[2,7,8,2]", "! nothing in dimension 2"},
        {"GridSample", "{mode=\"bilinear\"}", "float32[2,3,4] float32[2,7,1]", "! mode \"bilin"},
        {"GridSample", "{padding_mode=\"wrap\"}", "float32[2,3,4] float32[2,7,1]",
            "! padding_mode \"wrap\""},
        {"AffineGrid", NULL, "float32[2,2,3] int64[4]=2,3,4,5", "float32[2, 4, 5, 2]"},
        {"AffineGrid", NULL, "float64[2,3,4] int64[5]=2,3,4,5,6", "float64[2, 4, 5, 6, 3]"},
        {"AffineGrid", NULL, "float32[2,2,3] int64[3]=2,3,4",
            "! a size of 3 dimensions, not 4 or 5"},
        {"AffineGrid", NULL, "float32[2,2,3] int64[4]=2,3,-4,5", "! dimension 2 is -4"},
        {"AffineGrid", NULL, "float32[2,2,2] int64[4]=2,3,4,5",
            "! input 0 has shape [2, 2, 2], not"},
    };
    (void)state;
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_regions_say_what_they_refuse(void **state) {
    static const InferRow rows[] = {
        {"RoiAlign", "{output_height=2}", "float32[1,3,8,8] float32[5,4] int64[5]",
            "float32[5, 3, 2, 1]"},
        {"RoiAlign", NULL, "float32[1,3,8,8] float32[5,4] int64[4]", "! input 2 has shape [4]"},
        {"RoiAlign", NULL, "float32[1,3,8,8] float32[5,4] int32[5]", "! input 2 is int32"},
        {"RoiAlign", NULL, "float32[1,3,8,8] float32[5,5] int64[5]",
            "! regions of 5 numbers, not 4"},
        {"RoiAlign", NULL, "float32[1,3,0,8] float32[5,4] int64[5]", "! an image without elements"},
        {"RoiAlign", "{output_width=0}", "float32[1,3,8,8] float32[5,4] int64[5]",
            "! an output of 1 by 0"},
        {"RoiAlign", "{mode=\"sum\"}", "float32[1,3,8,8] float32[5,4] int64[5]", "! mode \"sum\""},
        {"RoiAlign", "{sampling_ratio=4097}", "float32[1,3,8,8] float32[5,4] int64[5]",
            "! sampling_ratio 4097"},
        {"MaxRoiPool", "{pooled_shape=[2, 3]}", "float32[1,3,8,8] float32[5,5]",
            "float32[5, 3, 2, 3]"},
        {"MaxRoiPool", "{pooled_shape=[2]}", "float32[1,3,8,8] float32[5,5]",
            "! pooled_shape has 1 elements, not 2"},
        {"NonMaxSuppression", NULL, "float32[2,9,4] float32[2,3,9] int64[1]", "int64[-1, 3]"},
        {"NonMaxSuppression", NULL, "float32[2,9,4] float32[2,3,8]", "! scores [2, …, 8] of boxes"},
        {"NonMaxSuppression", NULL, "float64[2,9,4] float32[2,3,9]", "! input 0 is float64"},
        {"NonMaxSuppression", "{center_point_box=2}", "float32[2,9,4] float32[2,3,9]",
            "! center_point_box 2"},
        {"NonMaxSuppression", NULL, "float32[2,9,4] float32[2,3,9] int64[2]",
            "! input 2 is not one number"},
    };
    (void)state;
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_rearrangements_say_what_they_refuse(void **state) {
    static const InferRow rows[] = {
        {"Col2Im", NULL, "int8[2,12,6] int64[2]=3,4 int64[2]=2,2", "int8[2, 3, 3, 4]"},
        {"Col2Im", NULL, "float32[2,13,6] int64[2]=3,4 int64[2]=2,2",
            "! columns [13, 6] for 6 blocks of 4"},
        {"Col2Im", NULL, "float32[2,12,6] int64[2]=3,4 int64[1]=2",
            "! input 2 has 1 elements, not 2"},
        {"Col2Im", NULL, "float32[2,12,6] int64[2]=3,0 int64[2]=2,2", "! input 1 contains 0"},
        {"Col2Im", NULL, "float32[2,12,6] int64[0] int64[0]", "! an image without dimensions"},
        {"Col2Im", NULL,
            "float32[2,12,6] int64[3]=2147483647,2147483647,2147483647 "
            "int64[3]=2147483647,2147483647,2147483647",
            "! the blocks are too large"},
        {"CenterCropPad", "{axes=[-1]}", "bool[3,8] int64[1]=5", "bool[3, 5]"},
        {"CenterCropPad", NULL, "int4[8] int64[1]=5", "! input 0 is int4"},
        {"DepthToSpace", "{blocksize=2}", "int4[2,8,3,4]", "! input 0 is int4"},
        {"CenterCropPad", NULL, "float32[3,8] int64[1]=5", "! 1 dimensions for 2 axes"},
        {"CenterCropPad", NULL, "float32[8] int64[1]=-5", "! dimension 0 is -5"},
        {"CenterCropPad", NULL, "float32[8] int64[1]=9223372036854775807", "! pads"},
        {"DepthToSpace", "{blocksize=2}", "int8[2,8,3,4]", "int8[2, 2, 6, 8]"},
        {"DepthToSpace", "{blocksize=3}", "int8[2,8,3,4]", "! 8 channels in blocks of 3 by 3"},
        {"DepthToSpace", "{blocksize=0}", "int8[2,8,3,4]", "! blocksize 0"},
        {"DepthToSpace", "{blocksize=2, mode=\"RCD\"}", "int8[2,8,3,4]", "! mode \"RCD\""},
        {"DepthToSpace", "{blocksize=2}", "int8[2,8,3]", "! input 0 has rank 3, not 4"},
        {"DepthToSpace", "{blocksize=2147483647}", "int8[0,0,4611686018427387904,1]",
            "! dimension 2 becomes too large"},
        {"SpaceToDepth", "{blocksize=2}", "int8[2,2,6,8]", "int8[2, 8, 3, 4]"},
        {"SpaceToDepth", "{blocksize=3}", "int8[2,2,6,8]", "! 8 in dimension 3 in blocks of 3"},
        {"SpaceToDepth", "{blocksize=2147483647}", "int8[0,4611686018427387904,0,0]",
            "! dimension 1 becomes too large"},
    };
    (void)state;
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_vision(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_says_what_it_refuses),
        cmocka_unit_test(test_grids_say_what_they_refuse),
        cmocka_unit_test(test_regions_say_what_they_refuse),
        cmocka_unit_test(test_rearrangements_say_what_they_refuse),
    };
    return cmocka_run_group_tests_name("shape_vision", tests, NULL, NULL);
}
