#include "kernels/cpu/quantized/cpu_lower_pack.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/loop_fixture.h"
#include "tests/support/test_random.h"

typedef struct Problem {
    int64_t rows, depth, columns;
} Problem;

typedef struct Operands {
    double *a, *b; /* whole numbers, and of few bits: every sum is exact */
    void *plain, *packed, *rows;
    int32_t *zeros;
} Operands;

static bool is_real(CpuLowerForm form) { return !cpu_lower_forms[form].is_int8; }

/* This machine has its instructions. */
static bool form_runs(CpuLowerForm form) {
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    if (form == CPU_LOWER_BFLOAT16_DOT) return device->has_bfloat16;
    return form != CPU_LOWER_INT8_DOT || device->has_vnni;
}

/* Element `at` of rows; bytes without a sign are by their zero larger. */
static void put_element(CpuLowerForm form, void *rows, int64_t at, double value, int32_t zero) {
    if (form == CPU_LOWER_BFLOAT16)
        ((float *)rows)[at] = (float)value;
    else if (form == CPU_LOWER_BFLOAT16_DOT)
        ((uint16_t *)rows)[at] = dtype_scalar_bfloat16(value);
    else if (form == CPU_LOWER_INT8)
        ((int16_t *)rows)[at] = (int16_t)value;
    else
        ((uint8_t *)rows)[at] = (uint8_t)((int32_t)value + zero);
}

static Operands operands_make(CpuLowerForm form, const Problem *problem) {
    const int64_t a_count = problem->rows * problem->depth,
                  length = cpu_lower_row_bytes(form, problem->depth);
    const int64_t b_count = problem->depth * problem->columns;
    uint64_t bytes, seed = 7;
    assert_ok(cpu_lower_packed_bytes(form, problem->depth, problem->columns, &bytes));
    Operands made = {calloc((size_t)a_count + 1, sizeof(double)),
        calloc((size_t)b_count + 1, sizeof(double)), calloc((size_t)b_count + 1, 2),
        malloc(bytes + 1), calloc((size_t)(problem->rows * length) + 1, 1),
        calloc((size_t)problem->rows, sizeof(int32_t))};
    assert_true(made.a && made.b && made.plain && made.packed && made.rows && made.zeros);
    memset(made.packed, 0x55, bytes);
    for (int64_t r = 0; r < problem->rows; r++) {
        made.zeros[r] = (int32_t)(test_random(&seed) % 256);
        for (int64_t k = 0; k < problem->depth; k++) {
            double *value = &made.a[r * problem->depth + k];
            *value = is_real(form) ? (double)(test_random(&seed) % 255) - 127
                                   : (double)(test_random(&seed) % 256) - made.zeros[r];
            put_element(form, (char *)made.rows + r * length, k, *value, made.zeros[r]);
        }
    }
    for (int64_t i = 0; i < b_count; i++) {
        made.b[i] = (double)(test_random(&seed) % 255) - 127;
        if (is_real(form))
            ((uint16_t *)made.plain)[i] = dtype_scalar_bfloat16(made.b[i]);
        else
            ((int8_t *)made.plain)[i] = (int8_t)made.b[i];
    }
    /* in two pieces, as threads do it */
    const int64_t panels = cpu_lower_panels(problem->columns), half = panels / 2;
    cpu_lower_pack(
        form, made.plain, 0, problem->depth, problem->columns, half, panels, made.packed);
    cpu_lower_pack(form, made.plain, 0, problem->depth, problem->columns, 0, half, made.packed);
    return made;
}

static void operands_free(Operands *operands) {
    free(operands->a);
    free(operands->b);
    free(operands->plain);
    free(operands->packed);
    free(operands->rows);
    free(operands->zeros);
}

static void compare(CpuLowerForm form, const Problem *problem, const Operands *operands,
    const void *out, const char *what) {
    for (int64_t r = 0; r < problem->rows; r++)
        for (int64_t c = 0; c < problem->columns; c++) {
            double sum = 0;
            const int64_t at = r * CPU_LOWER_COLUMNS + c;
            for (int64_t k = 0; k < problem->depth; k++)
                sum += operands->a[r * problem->depth + k] * operands->b[k * problem->columns + c];
            const double got =
                is_real(form) ? (double)((const float *)out)[at] : ((const int32_t *)out)[at];
            if (got != sum)
                fail_msg(
                    "%s: [%lld, %lld] is %g, not %g", what, (long long)r, (long long)c, got, sum);
        }
}

/* At every level, at once and in two blocks of the depth. */
static void check(CpuLowerForm form, Problem problem) {
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    Operands operands = operands_make(form, &problem);
    const int64_t groups = cpu_lower_groups(form, problem.depth), cut = groups / 2;
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    void *out = malloc((size_t)problem.rows * CPU_LOWER_COLUMNS * sizeof(int32_t));
    assert_non_null(out);
    for (uint32_t l = 0; l < level_count; l++) {
        CpuLowerProduct *product = cpu_lower_product_for(levels[l], form);
        CpuLowerTile tile = {.rows = problem.rows,
            .groups = groups,
            .panels = cpu_lower_panels(problem.columns),
            .a = operands.rows,
            .a_row = cpu_lower_row_bytes(form, problem.depth),
            .b = (const char *)operands.packed + info->head,
            .b_panel = cpu_lower_panel_bytes(form, problem.depth),
            .out = out,
            .zeros = operands.zeros,
            .heads = operands.packed};
        memset(out, 0x55, (size_t)problem.rows * CPU_LOWER_COLUMNS * sizeof(int32_t));
        product(&tile);
        compare(form, &problem, &operands, out, "at once");
        tile.groups = cut;
        product(&tile);
        tile.groups = groups - cut;
        tile.accumulate = true;
        tile.a = (const char *)tile.a + cut * info->group * info->row_size;
        tile.b = (const char *)tile.b + cut * cpu_lower_group_bytes(form);
        product(&tile);
        compare(form, &problem, &operands, out, "in two blocks");
    }
    free(out);
    operands_free(&operands);
}

static void test_tiles_of_every_form_give_their_sums(void **state) {
    (void)state;
    static const int64_t rows[] = {1, 2, 3, 5, 6, 7, 11, 13, 19};
    static const int64_t columns[] = {1, 16, 17, 40, 64}, depths[] = {0, 1, 2, 3, 31};
    for (CpuLowerForm form = 0; form < CPU_LOWER_FORM_COUNT; form++)
        for (size_t r = 0; form_runs(form) && r < sizeof rows / sizeof *rows; r++)
            for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
                for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
                    check(form, (Problem){rows[r], depths[d], columns[c]});
}

/* The largest sums that the compiler lets happen. */
static void test_sums_of_bytes_do_not_overflow_at_the_greatest_depth(void **state) {
    (void)state;
    const int64_t depth = 1 << 16;
    int16_t *a = malloc((size_t)depth * sizeof *a);
    int8_t *b = malloc((size_t)depth * CPU_LOWER_PANEL);
    int32_t out[CPU_LOWER_COLUMNS];
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    assert_true(a && b);
    for (int64_t i = 0; i < depth; i++) a[i] = 255;
    memset(b, 127, (size_t)depth * CPU_LOWER_PANEL);
    CpuLowerTile tile = {.rows = 1,
        .groups = depth / 2,
        .panels = 1,
        .a = a,
        .a_row = depth * 2,
        .b = b,
        .out = out};
    for (uint32_t l = 0; l < level_count; l++) {
        cpu_lower_product_for(levels[l], CPU_LOWER_INT8)(&tile);
        assert_int_equal(out[0], (int64_t)255 * 127 * depth);
    }
    const int32_t zero = 0, heads[CPU_LOWER_PANEL] = {0};
    memset(a, 255, (size_t)depth);
    tile.groups = depth / 4, tile.zeros = &zero, tile.heads = heads;
    if (form_runs(CPU_LOWER_INT8_DOT)) {
        cpu_lower_product_for(CPU_LEVEL_AVX512, CPU_LOWER_INT8_DOT)(&tile);
        assert_int_equal(out[0], (int64_t)255 * 127 * depth);
    }
    free(a);
    free(b);
}

static void test_weights_beyond_memory_are_refused(void **state) {
    (void)state;
    uint64_t bytes;
    assert_fails(
        INVALID, cpu_lower_packed_bytes(CPU_LOWER_BFLOAT16, INT64_MAX / 4, INT64_MAX / 4, &bytes));
}

int test_cpu_lower_product(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_of_every_form_give_their_sums),
        cmocka_unit_test(test_sums_of_bytes_do_not_overflow_at_the_greatest_depth),
        cmocka_unit_test(test_weights_beyond_memory_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_lower_product", tests, NULL, NULL);
}
