#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall transposes_turn_in_tiles_or_copy[] = {
    {"cuda.transpose", "Transpose", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[64,96]"},
    {"cuda.transpose", "Transpose", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[33,70]"},
    {"cuda.transpose", "Transpose", "{perm=[0, 2, 1]}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[3,40,9]"},
    {"cuda.transpose", "Transpose", "{perm=[2, 0, 1, 3]}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[2,3,5,8]"},
    {"cuda.transpose", "Transpose", "{perm=[0, 2, 1, 3]}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[2,7,3,16]"},
    {"cuda.transpose", "Transpose", "{perm=[3, 1, 0, 2]}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[9,3,2,17]"},
    {"cuda.transpose", "Transpose", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[5,0]"},
};

/* Tiles that are whole, cut, and too small to be worth it. */
static void test_transposes_turn_in_tiles_or_copy(void **state) {
    (void)state;
    cuda_fixture_check(transposes_turn_in_tiles_or_copy);
}

static const CudaCall slices_expand_tile_and_pad[] = {
    {"cuda.slice", "Slice", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[9,33] i64[2]=-1,1 i64[2]=-100,30 i64[2]=0,1 i64[2]=-2,3"},
    {"cuda.expand", "Expand", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[3,1] i64[3]=2,3,70"},
    {"cuda.tile", "Tile", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[3,16] i64[2]=3,2"},
    {"cuda.pad", "Pad", NULL,
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[5,6] i64[4]=1,-2,0,7 T[]"},
    {"cuda.pad", "Pad", "{mode=\"wrap\"}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[5,6] i64[4]=2,2,3,7"},
    {"cuda.trilu", "Trilu", "{upper=0}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[3,5,7] i64[]=1"},
};

static void test_slices_expand_tile_and_pad(void **state) {
    (void)state;
    cuda_fixture_check(slices_expand_tile_and_pad);
}

static const CudaCall concat_split_and_dropout_write_several_times[] = {
    {"cuda.concat", "Concat", "{axis=1}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[3,16] T[3,0] T[3,5]"},
    {"cuda.concat", "Concat", "{axis=0}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 1, "T[2,600] T[3,600]"},
    {"cuda.split", "Split", "{axis=1, num_outputs=3}",
        DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT32) |
            DTYPE_BIT(DTYPE_INT64),
        0, 3, "T[4,26]"},
    {"cuda.dropout", "Dropout", NULL, DTYPES_FLOAT, 0, 2, "T[4,26]"},
};

static void test_concat_split_and_dropout_write_several_times(void **state) {
    (void)state;
    cuda_fixture_check(concat_split_and_dropout_write_several_times);
}

int test_cuda_movement(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transposes_turn_in_tiles_or_copy),
        cmocka_unit_test(test_slices_expand_tile_and_pad),
        cmocka_unit_test(test_concat_split_and_dropout_write_several_times),
    };
    return cmocka_run_group_tests_name("cuda_movement", tests, NULL, NULL);
}
