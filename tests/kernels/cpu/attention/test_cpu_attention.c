#include <math.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

/* heads × (S queries, T keys, D deep, E wide) */
typedef struct AttentionCase {
    int64_t heads, queries, keys, depth, columns;
    bool transposed_key, one_key_head; /* K is [1, …]: all heads share it */
    Shape mask;                        /* rank 0: none */
} AttentionCase;

static double key_at(const AttentionCase *a, const float *k, int64_t head, int64_t t, int64_t d) {
    const float *matrix = k + (a->one_key_head ? 0 : head) * a->keys * a->depth;
    return (double)(a->transposed_key ? matrix[d * a->keys + t] : matrix[t * a->depth + d]);
}

static double *naive(const AttentionCase *a, const float *q, const float *k, const float *v,
    const float *mask, double scale) {
    double *y = calloc((size_t)(a->heads * a->queries * a->columns) + 1, sizeof(double));
    double *scores = malloc((size_t)a->keys * sizeof(double) + 8);
    assert_non_null(y);
    assert_non_null(scores);
    int64_t strides[SHAPE_RANK_MAX];
    const Shape full = {3, {a->heads, a->queries, a->keys}};
    shape_broadcast_strides(&a->mask, &full, strides);
    for (int64_t row = 0; row < a->heads * a->queries; row++) {
        const int64_t head = row / a->queries, s = row % a->queries;
        double most = -(double)INFINITY, sum = 0;
        for (int64_t t = 0; t < a->keys; t++) {
            double dot = 0;
            for (int64_t d = 0; d < a->depth; d++)
                dot += (double)q[row * a->depth + d] * key_at(a, k, head, t, d);
            scores[t] = dot * scale;
            if (a->mask.rank)
                scores[t] += (double)mask[head * strides[0] + s * strides[1] + t * strides[2]];
            most = fmax(most, scores[t]);
        }
        for (int64_t t = 0; t < a->keys; t++) sum += exp(scores[t] - most);
        for (int64_t t = 0; t < a->keys; t++)
            for (int64_t e = 0; e < a->columns; e++)
                y[row * a->columns + e] +=
                    exp(scores[t] - most) / sum * (double)v[(head * a->keys + t) * a->columns + e];
    }
    free(scores);
    return y;
}

static void check_attention(const AttentionCase *a) {
    const int64_t key_heads = a->one_key_head ? 1 : a->heads;
    float *q = kernel_random_floats(1, a->heads * a->queries * a->depth);
    float *k = kernel_random_floats(2, key_heads * a->keys * a->depth);
    float *v = kernel_random_floats(3, a->heads * a->keys * a->columns);
    float *mask = kernel_random_floats(4, shape_count_unchecked(&a->mask));
    const Shape k_shape = a->transposed_key ? (Shape){3, {key_heads, a->depth, a->keys}}
                                            : (Shape){3, {key_heads, a->keys, a->depth}};
    const KernelCall call = {.name = "FusedAttention",
        .attributes = a->transposed_key ? "{scale=0.5, transposed_key=1}" : "{scale=0.5}",
        .input_count = a->mask.rank ? 4 : 3,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {3, {a->heads, a->queries, a->depth}}, q},
            {DTYPE_FLOAT32, k_shape, k}, {DTYPE_FLOAT32, {3, {a->heads, a->keys, a->columns}}, v},
            {DTYPE_FLOAT32, a->mask, mask}}};
    double *expected = naive(a, q, k, v, mask, 0.5);
    KernelResult result, portable;
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_check_close(&result, 0, expected, 1e-5);
    kernel_call_check_bits(kernel_portable_device(), &call, &portable);
    kernel_check_close(&portable, 0, expected, 1e-5);
    kernel_result_deinit(&result);
    kernel_result_deinit(&portable);
    free(expected);
    free(q);
    free(k);
    free(v);
    free(mask);
}

static void test_attention_agrees_with_the_definition(void **state) {
    (void)state;
    static const AttentionCase cases[] = {
        {2, 5, 7, 8, 9, false, false, {0}},
        {2, 5, 7, 8, 9, true, false, {0}},
        {3, 70, 70, 32, 32, false, false, {2, {70, 70}}},
        {3, 70, 130, 33, 70, true, false, {3, {1, 1, 130}}},
        {2, 1, 200, 64, 64, false, false, {3, {2, 1, 200}}},
        {2, 1, 200, 64, 64, true, false, {1, {1}}},
        {2, 9, 20, 16, 5, false, true, {3, {2, 9, 1}}},
        {1, 60, 600, 17, 16, false, false, {0}},
        {2, 50, 2200, 20, 24, true, false, {3, {1, 50, 2200}}},
        {1, 3, 2561, 16, 8, false, false, {1, {2561}}},
        {1, 9, 2049, 8, 70, false, false, {2, {9, 1}}},
        {1, 1, 20000, 4, 3, false, false, {0}},
        {1, 2, 1, 4, 4, false, false, {0}},
        {0, 2, 3, 4, 4, false, false, {0}},
        {1, 0, 3, 4, 4, false, false, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_attention(&cases[i]);
}

/* [heads, rows, columns] to [rows, heads, columns]. */
static float *rows_first(const float *from, int64_t heads, int64_t rows, int64_t columns) {
    float *to = malloc((size_t)(heads * rows * columns) * sizeof(float));
    assert_non_null(to);
    for (int64_t head = 0; head < heads; head++)
        for (int64_t row = 0; row < rows; row++)
            memcpy(to + (row * heads + head) * columns, from + (head * rows + row) * columns,
                (size_t)columns * sizeof(float));
    return to;
}

static void check_rows_first(Device *device, const KernelCall *call, const KernelResult *expected) {
    KernelResult result;
    kernel_call_check_bits(device, call, &result);
    assert_int_equal(result.bytes[0], expected->bytes[0]);
    assert_memory_equal(result.data[0], expected->data[0], result.bytes[0]);
    kernel_result_deinit(&result);
}

/* Where the rows lie changes no bit. */
static void test_attention_reads_rows_wherever_they_lie(void **state) {
    (void)state;
    enum { HEADS = 3, KEYS = 70, DEPTH = 24, COLUMNS = 40 };
    Device *const devices[] = {kernel_cpu_device(), kernel_portable_device()};
    float *k = kernel_random_floats(2, HEADS * KEYS * DEPTH);
    float *v = kernel_random_floats(3, HEADS * KEYS * COLUMNS);
    float *first_k = rows_first(k, HEADS, KEYS, DEPTH);
    float *first_v = rows_first(v, HEADS, KEYS, COLUMNS);
    const KernelInput last_k_input = {DTYPE_FLOAT32, {3, {HEADS, KEYS, DEPTH}}, k};
    const KernelInput first_k_input = {DTYPE_FLOAT32, {3, {KEYS, HEADS, DEPTH}}, first_k};
    const KernelInput last_v_input = {DTYPE_FLOAT32, {3, {HEADS, KEYS, COLUMNS}}, v};
    const KernelInput first_v_input = {DTYPE_FLOAT32, {3, {KEYS, HEADS, COLUMNS}}, first_v};
    for (int64_t queries = 1; queries < 40; queries += 19) {
        float *q = kernel_random_floats(1, HEADS * queries * DEPTH);
        KernelCall call = {.name = "FusedAttention",
            .input_count = 3,
            .output_count = 1,
            .inputs = {{DTYPE_FLOAT32, {3, {HEADS, queries, DEPTH}}, q}}};
        for (size_t i = 0; i < 2; i++) {
            KernelResult expected;
            call.attributes = "{}";
            call.inputs[1] = last_k_input;
            call.inputs[2] = last_v_input;
            kernel_call_check_bits(devices[i], &call, &expected);
            call.attributes = "{key_rows_first=1}";
            call.inputs[1] = first_k_input;
            check_rows_first(devices[i], &call, &expected);
            call.attributes = "{key_rows_first=1, value_rows_first=1}";
            call.inputs[2] = first_v_input;
            check_rows_first(devices[i], &call, &expected);
            call.attributes = "{value_rows_first=1}";
            call.inputs[1] = last_k_input;
            check_rows_first(devices[i], &call, &expected);
            kernel_result_deinit(&expected);
        }
        free(q);
    }
    free(k);
    free(v);
    free(first_k);
    free(first_v);
}

/* Blocks of keys that are masked at the front, at the end, and altogether, beside rows that are
 * not. */
static void test_attention_passes_over_masked_blocks(void **state) {
    (void)state;
    enum { QUERIES = 9, KEYS = 2200, DEPTH = 16, COLUMNS = 24 };
    const AttentionCase a = {1, QUERIES, KEYS, DEPTH, COLUMNS, false, false, {2, {QUERIES, KEYS}}};
    Device *const devices[] = {kernel_cpu_device(), kernel_portable_device()};
    float *q = kernel_random_floats(1, QUERIES * DEPTH), *k = kernel_random_floats(2, KEYS * DEPTH);
    float *v = kernel_random_floats(3, KEYS * COLUMNS),
          *mask = kernel_random_floats(4, QUERIES * KEYS);
    for (int64_t t = 0; t < KEYS; t++) {
        if (t < 600) mask[t] = -INFINITY;
        if (t >= 600) mask[KEYS + t] = -INFINITY;
        mask[2 * KEYS + t] = -INFINITY;
    }
    const KernelCall call = {.name = "FusedAttention",
        .attributes = "{scale=0.5}",
        .input_count = 4,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {3, {1, QUERIES, DEPTH}}, q},
            {DTYPE_FLOAT32, {3, {1, KEYS, DEPTH}}, k}, {DTYPE_FLOAT32, {3, {1, KEYS, COLUMNS}}, v},
            {DTYPE_FLOAT32, a.mask, mask}}};
    double *expected = naive(&a, q, k, v, mask, 0.5);
    for (int i = 0; i < 2; i++) {
        KernelResult result;
        kernel_call_check_bits(devices[i], &call, &result);
        for (int64_t at = 0; at < QUERIES * COLUMNS; at++) {
            const double got = kernel_result_at(&result, 0, at);
            if (at / COLUMNS == 2)
                assert_true(isnan(got));
            else
                assert_true(fabs(got - expected[at]) <= 1e-5);
        }
        kernel_result_deinit(&result);
    }
    free(expected);
    free(q);
    free(k);
    free(v);
    free(mask);
}

/* Blocks of queries, parts of V that stay in a cache, and rows of scores apart from each other: a
 * query has the bits that it has alone. */
static void test_attention_gives_a_query_the_same_bits_among_any_others(void **state) {
    (void)state;
    enum { QUERIES = 100, KEYS = 640, DEPTH = 24, COLUMNS = 70 };
    Device *const devices[] = {kernel_cpu_device(), kernel_portable_device()};
    float *q = kernel_random_floats(1, QUERIES * DEPTH);
    float *k = kernel_random_floats(2, KEYS * DEPTH), *v = kernel_random_floats(3, KEYS * COLUMNS);
    for (size_t i = 0; i < 2; i++) {
        KernelCall call = {.name = "FusedAttention",
            .attributes = "{transposed_key=1}",
            .input_count = 3,
            .output_count = 1,
            .inputs = {{DTYPE_FLOAT32, {3, {1, QUERIES, DEPTH}}, q},
                {DTYPE_FLOAT32, {3, {1, DEPTH, KEYS}}, k},
                {DTYPE_FLOAT32, {3, {1, KEYS, COLUMNS}}, v}}};
        KernelResult all, alone;
        kernel_call_check_bits(devices[i], &call, &all);
        for (int64_t query = 0; query < QUERIES; query += 33) {
            call.inputs[0] = (KernelInput){DTYPE_FLOAT32, {3, {1, 1, DEPTH}}, q + query * DEPTH};
            kernel_call_check_bits(devices[i], &call, &alone);
            assert_memory_equal((float *)alone.data[0], (float *)all.data[0] + query * COLUMNS,
                COLUMNS * sizeof(float));
            kernel_result_deinit(&alone);
        }
        kernel_result_deinit(&all);
    }
    free(q);
    free(k);
    free(v);
}

int test_cpu_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_agrees_with_the_definition),
        cmocka_unit_test(test_attention_reads_rows_wherever_they_lie),
        cmocka_unit_test(test_attention_passes_over_masked_blocks),
        cmocka_unit_test(test_attention_gives_a_query_the_same_bits_among_any_others),
    };
    return cmocka_run_group_tests_name("cpu_attention", tests, NULL, NULL);
}
