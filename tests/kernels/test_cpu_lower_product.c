#include "kernels/cpu/cpu_lower_product.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/dtype_scalar.h"
#include "tests/kernels/loop_fixture.h"
#include "tests/support/test_random.h"

typedef struct Problem {
    int64_t rows, depth, columns;
} Problem;

typedef struct Operands {
    double *a, *b; /* whole numbers, and of few bits: every sum is exact */
    void *plain, *packed, *rows;
} Operands;

static int64_t length_of(const Problem *problem) { return cpu_lower_pairs(problem->depth) * 2; }

static Operands operands_make(CpuLowerKind kind, const Problem *problem, int64_t most) {
    const int64_t a_count = problem->rows * problem->depth, length = length_of(problem);
    const int64_t b_count = problem->depth * problem->columns;
    uint64_t bytes, seed = 7;
    assert_ok(cpu_lower_packed_bytes(kind, problem->depth, problem->columns, &bytes));
    Operands made = {calloc((size_t)a_count + 1, sizeof(double)),
        calloc((size_t)b_count + 1, sizeof(double)), calloc((size_t)b_count + 1, 2),
        malloc(bytes + 1), calloc((size_t)(problem->rows * length) + 1, sizeof(float))};
    assert_true(made.a && made.b && made.plain && made.packed && made.rows);
    memset(made.packed, 0x55, bytes);
    for (int64_t i = 0; i < a_count; i++) {
        const int64_t at = i / problem->depth * length + i % problem->depth;
        made.a[i] = (double)(test_random(&seed) % (2 * (uint64_t)most + 1)) - (double)most;
        if (kind == CPU_LOWER_BFLOAT16)
            ((float *)made.rows)[at] = (float)made.a[i];
        else
            ((int16_t *)made.rows)[at] = (int16_t)made.a[i];
    }
    for (int64_t i = 0; i < b_count; i++) {
        made.b[i] = (double)(test_random(&seed) % 255) - 127;
        if (kind == CPU_LOWER_BFLOAT16)
            ((uint16_t *)made.plain)[i] = dtype_scalar_bfloat16(made.b[i]);
        else
            ((int8_t *)made.plain)[i] = (int8_t)made.b[i];
    }
    /* in two pieces, as threads do it */
    const int64_t panels = cpu_lower_panels(problem->columns), half = panels / 2;
    cpu_lower_pack(kind, made.plain, problem->depth, problem->columns, half, panels, made.packed);
    cpu_lower_pack(kind, made.plain, problem->depth, problem->columns, 0, half, made.packed);
    return made;
}

static void operands_free(Operands *operands) {
    free(operands->a);
    free(operands->b);
    free(operands->plain);
    free(operands->packed);
    free(operands->rows);
}

static void compare(CpuLowerKind kind, const Problem *problem, const Operands *operands,
    const void *out, const char *what) {
    for (int64_t r = 0; r < problem->rows; r++)
        for (int64_t c = 0; c < problem->columns; c++) {
            double sum = 0;
            const int64_t at = r * CPU_LOWER_COLUMNS + c;
            for (int64_t k = 0; k < problem->depth; k++)
                sum += operands->a[r * problem->depth + k] * operands->b[k * problem->columns + c];
            const double got = kind == CPU_LOWER_BFLOAT16 ? (double)((const float *)out)[at]
                                                          : ((const int32_t *)out)[at];
            if (got != sum)
                fail_msg(
                    "%s: [%lld, %lld] is %g, not %g", what, (long long)r, (long long)c, got, sum);
        }
}

/* At every level, at once and in two blocks of the depth. */
static void check(CpuLowerKind kind, Problem problem, int64_t most) {
    Operands operands = operands_make(kind, &problem, most);
    const uint64_t element = kind == CPU_LOWER_BFLOAT16 ? sizeof(float) : sizeof(int16_t);
    const int64_t pairs = cpu_lower_pairs(problem.depth), cut = pairs / 2;
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    void *out = malloc((size_t)problem.rows * CPU_LOWER_COLUMNS * sizeof(int32_t));
    assert_non_null(out);
    for (uint32_t l = 0; l < level_count; l++) {
        CpuLowerProduct *product = cpu_lower_product_for(levels[l], kind);
        CpuLowerTile tile = {.rows = problem.rows,
            .pairs = pairs,
            .panels = cpu_lower_panels(problem.columns),
            .a = operands.rows,
            .a_row = length_of(&problem),
            .b = operands.packed,
            .b_panel = cpu_lower_panel_count(problem.depth),
            .out = out};
        memset(out, 0x55, (size_t)problem.rows * CPU_LOWER_COLUMNS * sizeof(int32_t));
        product(&tile);
        compare(kind, &problem, &operands, out, "at once");
        tile.pairs = cut;
        product(&tile);
        tile.pairs = pairs - cut;
        tile.accumulate = true;
        tile.a = (const char *)tile.a + (uint64_t)(cut * 2) * element;
        tile.b =
            (const char *)tile.b + (uint64_t)(cut * 2 * CPU_LOWER_PANEL) * cpu_lower_size(kind);
        product(&tile);
        compare(kind, &problem, &operands, out, "in two blocks");
    }
    free(out);
    operands_free(&operands);
}

static void test_tiles_of_every_form_give_their_sums(void **state) {
    (void)state;
    static const int64_t rows[] = {1, 2, 3, 5, 6, 7, 11, 13}, columns[] = {1, 16, 17, 40, 64};
    static const int64_t depths[] = {0, 1, 2, 31};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
                const Problem problem = {rows[r], depths[d], columns[c]};
                check(CPU_LOWER_BFLOAT16, problem, 127);
                check(CPU_LOWER_INT8, problem, 255);
            }
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
    for (uint32_t l = 0; l < level_count; l++) {
        const CpuLowerTile tile = {1, depth / 2, 1, a, depth, b, 0, out, false};
        cpu_lower_product_for(levels[l], CPU_LOWER_INT8)(&tile);
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
