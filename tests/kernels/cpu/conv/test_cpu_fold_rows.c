#include "kernels/cpu/conv/cpu_fold_rows.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

static void add_row(void *to_, int64_t step, const void *from_, int64_t count, const void *factor) {
    float *to = to_;
    const float *from = from_;
    (void)factor;
    for (int64_t i = 0; i < count; i++) to[i * step] += from[i];
}

static int64_t product(const int64_t *dims, uint32_t rank) {
    int64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) count *= dims[i];
    return count;
}

/* input: blocks; output: the image. */
static const Window windows[] = {
    {1, {3}, {1}, {1}, {0}, {0}, {5}, {7}},
    {1, {5}, {2}, {3}, {4}, {4}, {40}, {83}},
    {2, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {4, 4}, {8, 8}},
    {2, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {4, 4}},
    {2, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 0}, {5, 17}, {9, 34}},
    {2, {2, 5}, {3, 4}, {2, 1}, {1, 2}, {0, 3}, {3, 33}, {8, 130}},
    {2, {3, 2}, {1, 3}, {1, 2}, {2, 7}, {2, 0}, {4, 6}, {2, 11}},
    /* all of a position lies in the padding */
    {2, {1, 4}, {1, 1}, {1, 3}, {0, 9}, {0, 0}, {2, 3}, {2, 4}},
    {3, {2, 3, 4}, {1, 2, 2}, {2, 1, 1}, {1, 0, 1}, {0, 1, 1}, {3, 2, 5}, {4, 5, 10}},
    {2, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {2, 256}, {4, 512}},
};

/* The same bits as position by position, at every level. */
static void test_rows_are_what_positions_give(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        const Window *window = &windows[i];
        const int64_t kernel = product(window->kernel, window->rank);
        const int64_t blocks = product(window->input, window->rank);
        const int64_t image = product(window->output, window->rank);
        float *terms = kernel_random_floats(1, kernel * blocks + CPU_FOLD_SLACK);
        float *expected = malloc((size_t)image * sizeof *expected);
        float *found = malloc((size_t)image * sizeof *found);
        CpuFold fold;
        assert_true(expected && found);
        cpu_fold_make(window, window->output, window->input, sizeof(float), add_row, &fold);
        for (int64_t j = 0; j < image; j++) expected[j] = 0.25f;
        for (int64_t k = 0; k < kernel; k++)
            cpu_fold_position(&fold, k, terms + k * blocks, NULL, expected);
        for (int level = 0; level <= (int)((CpuDevice *)kernel_cpu_device())->level; level++) {
            CpuFoldRows rows;
            assert_true(cpu_fold_rows_make(&fold, (CpuLevel)level, &rows));
            cpu_fold_rows_run(&rows, terms, 0.25f, found);
            assert_memory_equal(found, expected, (size_t)image * sizeof *found);
        }
        free(found);
        free(expected);
        free(terms);
    }
}

static void test_long_rows_and_large_steps_are_left_to_positions(void **state) {
    (void)state;
    static const Window others[] = {
        {1, {2}, {2}, {1}, {0}, {0}, {257}, {514}},
        {1, {2}, {5}, {1}, {0}, {0}, {2}, {7}},
        {1, {17}, {1}, {1}, {0}, {0}, {2}, {18}},
        {2, {60, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, {61, 2}},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        CpuFold fold;
        CpuFoldRows rows;
        cpu_fold_make(&others[i], others[i].output, others[i].input, sizeof(float), add_row, &fold);
        assert_false(cpu_fold_rows_make(&fold, CPU_LEVEL_PORTABLE, &rows));
    }
}

int test_cpu_fold_rows(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_what_positions_give),
        cmocka_unit_test(test_long_rows_and_large_steps_are_left_to_positions),
    };
    return cmocka_run_group_tests_name("cpu_fold_rows", tests, NULL, NULL);
}
