#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/attention/cpu_attention_row.h"
#include "tests/kernels/fixtures/kernel_call.h"
#include "tests/kernels/fixtures/loop_fixture.h"

enum { COUNT_MAX = 80, LANES = 16 };

typedef struct RowCase {
    int64_t count;
    bool has_mask, mask_is_one;
    float before; /* the most of the scores before */
    float first;  /* score */
} RowCase;

/* Scores lie between numbers that are to have no part in the result. */
static CpuAttentionRow run_case(CpuLevel level, const RowCase *c, float *scores) {
    float *mask = kernel_random_floats(7, COUNT_MAX), *random = kernel_random_floats(8, COUNT_MAX);
    float mask_end[LANES];
    const int64_t whole = c->count / LANES * LANES;
    for (int64_t i = 0; i < COUNT_MAX; i++) scores[i] = i < c->count ? 40 * random[i] : 1e30f;
    for (int64_t i = 0; i < LANES; i++)
        mask_end[i] = whole + i < c->count ? mask[whole + i] : (float)NAN;
    scores[0] = c->first;
    CpuAttentionRow row = {
        .scores = scores,
        .count = c->count,
        .scale = 1.5f,
        .mask = c->has_mask ? mask : NULL,
        .mask_is_one = c->mask_is_one,
        .mask_end = mask_end,
        .most = c->before,
    };
    cpu_attention_row_code_for(level).weights(&row);
    free(mask);
    free(random);
    return row;
}

static void check_case(const RowCase *c) {
    CpuLevel levels[3];
    const uint32_t count = loop_fixture_levels(levels);
    float expected[COUNT_MAX], scores[COUNT_MAX];
    const CpuAttentionRow portable = run_case(CPU_LEVEL_PORTABLE, c, expected);
    double sum = 0;
    for (int64_t i = 0; i < c->count; i++) sum += (double)expected[i];
    if (isnan(c->first) || c->first > 1e30f)
        assert_true(isnan(portable.sum));
    else
        assert_true(fabs((double)portable.sum - sum) <= 1e-5 * sum);
    assert_true(portable.most >= c->before);
    for (uint32_t i = 0; i < count; i++) {
        const CpuAttentionRow row = run_case(levels[i], c, scores);
        assert_memory_equal(scores, expected, (size_t)c->count * sizeof(float));
        assert_memory_equal(&row.sum, &portable.sum, sizeof row.sum);
        assert_memory_equal(&row.most, &portable.most, sizeof row.most);
    }
}

static void test_weights_have_the_same_bits_at_every_level(void **state) {
    (void)state;
    const float firsts[] = {1, -INFINITY, INFINITY, NAN, -1e9f};
    const float befores[] = {-INFINITY, 0, 50};
    for (int64_t count = 1; count <= 3 * LANES + 1; count++)
        for (int mask = 0; mask < 3; mask++)
            for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
                for (size_t b = 0; b < sizeof befores / sizeof *befores; b++)
                    check_case(&(RowCase){count, mask > 0, mask == 2, befores[b], firsts[f]});
}

static void test_scores_of_nothing_are_no_weights(void **state) {
    (void)state;
    const RowCase nothing = {1, false, false, -INFINITY, -INFINITY};
    CpuLevel levels[3];
    const uint32_t count = loop_fixture_levels(levels);
    for (uint32_t i = 0; i < count; i++) {
        float all[COUNT_MAX];
        const CpuAttentionRow row = run_case(levels[i], &nothing, all);
        assert_true(row.sum == 0 && all[0] == 0 && isinf(row.most));
    }
}

static void test_products_have_the_same_bits_at_every_level(void **state) {
    (void)state;
    enum { KEYS = 3, DEPTH_MAX = 40 };
    float *query = kernel_random_floats(1, DEPTH_MAX);
    float *keys = kernel_random_floats(2, KEYS * DEPTH_MAX);
    CpuLevel levels[3];
    const uint32_t count = loop_fixture_levels(levels);
    for (int64_t depth = 1; depth <= DEPTH_MAX; depth++) {
        float expected[KEYS], scores[KEYS];
        cpu_attention_row_code_for(CPU_LEVEL_PORTABLE)
            .dot(query, keys, DEPTH_MAX, depth, KEYS, expected);
        for (int64_t key = 0; key < KEYS; key++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += (double)query[k] * (double)keys[key * DEPTH_MAX + k];
            assert_true(fabs((double)expected[key] - sum) < 1e-4);
        }
        for (uint32_t i = 0; i < count; i++) {
            cpu_attention_row_code_for(levels[i]).dot(query, keys, DEPTH_MAX, depth, KEYS, scores);
            assert_memory_equal(scores, expected, sizeof expected);
        }
    }
    free(query);
    free(keys);
}

int test_cpu_attention_row(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_have_the_same_bits_at_every_level),
        cmocka_unit_test(test_scores_of_nothing_are_no_weights),
        cmocka_unit_test(test_products_have_the_same_bits_at_every_level),
    };
    return cmocka_run_group_tests_name("cpu_attention_row", tests, NULL, NULL);
}
