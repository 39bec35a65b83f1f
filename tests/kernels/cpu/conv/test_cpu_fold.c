#include "kernels/cpu/conv/cpu_fold.h"

#include "tests/support/test_support.h"

static void add_times(
    void *to_, int64_t step, const void *from_, int64_t count, const void *factor) {
    int *to = to_;
    const int *from = from_;
    for (int64_t i = 0; i < count; i++) to[i * step] += from[i] * *(const int *)factor;
}

static void check(const CpuFold *fold, int64_t position, const int *from, const int *expected) {
    int image[6] = {0}, factor = 10;
    cpu_fold_position(fold, position, from, &factor, image);
    for (int i = 0; i < 6; i++) assert_int_equal(image[i], expected[i]);
}

/* Blocks of 2 by 2 over an image of 2 by 3, a row of padding above. */
static void test_each_position_lies_elsewhere_and_the_padding_is_left_out(void **state) {
    (void)state;
    const Window window = {.rank = 2,
        .kernel = {2, 2},
        .stride = {1, 1},
        .dilation = {1, 1},
        .pad_begin = {1, 0},
        .input = {2, 3},
        .output = {2, 2}};
    CpuFold fold;
    cpu_fold_make(&window, window.input, window.output, sizeof(int), add_times, &fold);
    static const int blocks[4] = {1, 2, 3, 4};
    check(&fold, 0, blocks, (int[]){30, 40, 0, 0, 0, 0});
    check(&fold, 1, blocks, (int[]){0, 30, 40, 0, 0, 0});
    check(&fold, 2, blocks, (int[]){10, 20, 0, 30, 40, 0});
    check(&fold, 3, blocks, (int[]){0, 10, 20, 0, 30, 40});
}

static void test_strides_spread_the_blocks(void **state) {
    (void)state;
    const Window window = {.rank = 1,
        .kernel = {3},
        .stride = {3},
        .dilation = {2},
        .pad_begin = {2},
        .input = {3}, /* as ConvTranspose has it: the blocks are its input */
        .output = {6}};
    CpuFold fold;
    cpu_fold_make(&window, window.output, window.input, sizeof(int), add_times, &fold);
    static const int blocks[3] = {1, 2, 3};
    check(&fold, 0, blocks, (int[]){0, 20, 0, 0, 30, 0});
    check(&fold, 1, blocks, (int[]){10, 0, 0, 20, 0, 0});
    check(&fold, 2, blocks, (int[]){0, 0, 10, 0, 0, 20});
}

int test_cpu_fold(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_position_lies_elsewhere_and_the_padding_is_left_out),
        cmocka_unit_test(test_strides_spread_the_blocks),
    };
    return cmocka_run_group_tests_name("cpu_fold", tests, NULL, NULL);
}
