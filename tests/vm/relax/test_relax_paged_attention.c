#include "tests/vm/relax/relax_paged_fixture.h"
#include <math.h>

/* The attention of one head in double, over rows [n, 2] of keys and values. */
static void expect_attention(const float *query, const double (*keys)[2], const double (*values)[2],
    uint32_t count, double scale, const float *got, double lse, double tolerance) {
    double sum = 0, out[2] = {0};
    for (uint32_t i = 0; i < count; i++) {
        double weight = exp(scale * (query[0] * keys[i][0] + query[1] * keys[i][1]));
        sum += weight;
        for (uint32_t c = 0; c < 2; c++) out[c] += weight * values[i][c];
    }
    for (uint32_t c = 0; c < 2; c++) assert_true(fabs(out[c] / sum - got[c]) < tolerance);
    assert_true(fabs(log2(sum) - lse) < 1e-5);
}

static Tensor *tensor_of(DType dtype, int64_t rows, const float *numbers) {
    Tensor *tensor;
    MemoryAnswer answer;
    const Shape shape = shape_make(3, (int64_t[]){rows, 2, 2});
    assert_ok(tensor_create_in_pool(paged_call()->pools[0], 0, dtype, &shape, &answer, &tensor));
    if (numbers) paged_store(dtype, numbers, rows * 4, tensor_data(tensor));
    return tensor;
}

static Tensor *sums_of(int64_t rows) {
    Tensor *tensor;
    MemoryAnswer answer;
    const Shape shape = shape_make(2, (int64_t[]){rows, 2});
    assert_ok(
        tensor_create_in_pool(paged_call()->pools[0], 0, DTYPE_FLOAT32, &shape, &answer, &tensor));
    return tensor;
}

/* Attention of a round's queries [rows, 2, 2], without keys of their own. */
static void attend(Paged *paged, int64_t rows, const float *queries, double scale, bool from_rows,
    float *out, float *lse) {
    const DType dtype = paged->config.dtype;
    PagedQuery query = {.queries = tensor_of(dtype, rows, queries),
        .out = tensor_of(dtype, rows, NULL),
        .lse = sums_of(rows),
        .heads = 2,
        .kv_heads = 1,
        .key_size = 2,
        .value_size = 2,
        .scale = scale,
        .context = true,
        .from_rows = from_rows};
    bool done;
    assert_ok(paged_attend(paged_call(), paged, &query, &done));
    assert_true(done);
    paged_load(dtype, tensor_data(query.out), rows * 4, out);
    memcpy(lse, tensor_data(query.lse), (size_t)rows * 2 * sizeof(float));
    tensor_release(query.queries);
    tensor_release(query.out);
    tensor_release(query.lse);
}

/* Cross attention of one position of a sequence that has `count`. */
static void check_cross(PagedKind kind, DType dtype, int64_t count, int64_t first_seen) {
    PagedConfig config = paged_config();
    config.dtype = dtype;
    Paged *paged = paged_fixture(&config, kind);
    paged_fill(paged, 1, count);
    const int64_t number = 1, one = 1;
    assert_ok(paged_begin(paged, &number, &one, 1, NULL, 0));
    paged_put(paged, paged->rows[0], 0.5f, -1);
    double rows[16][2];
    for (int64_t i = 0; i < count; i++) {
        rows[i][0] = (double)(1 + i);
        rows[i][1] = (double)(i + 1);
    }
    rows[count][0] = 0.5;
    rows[count][1] = -1;
    const float queries[4] = {0.25f, -0.5f, 1, 0.125f};
    float out[4], lse[2];
    attend(paged, 1, queries, 0.5, true, out, lse);
    for (uint32_t head = 0; head < 2; head++)
        expect_attention(queries + 2 * head, rows + first_seen, rows + first_seen,
            (uint32_t)(count + 1 - first_seen), 0.5, out + 2 * head, lse[head],
            dtype == DTYPE_FLOAT32 ? 1e-5 : 2e-2);
    paged_destroy(paged);
}

static void test_relax_paged_attention_of_all_kinds(void **state) {
    (void)state;
    check_cross(PAGED_MHA, DTYPE_FLOAT32, 5, 0);
    check_cross(PAGED_MHA, DTYPE_FLOAT16, 5, 0);
    check_cross(PAGED_MHA, DTYPE_BFLOAT16, 5, 0);
    check_cross(PAGED_MLA, DTYPE_FLOAT32, 5, 0);
    check_cross(PAGED_MHA_SLIDING, DTYPE_FLOAT32, 5, 3); /* a window of 3 with the query itself */
    check_cross(PAGED_MHA_SLIDING, DTYPE_FLOAT32, 1, 0);
}

static void test_relax_paged_attention_of_nothing_is_zero(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    assert_ok(paged_add(paged, 1));
    const int64_t number = 1, two = 2;
    assert_ok(paged_begin(paged, &number, &two, 1, NULL, 0));
    const float queries[8] = {1};
    float out[8], lse[4];
    attend(paged, 2, queries, 1, false, out, lse);
    for (uint32_t i = 0; i < 8; i++) assert_true(out[i] == 0);
    assert_true(lse[0] == -5e4f);
    assert_ok(paged_remove(paged, 1));
    PagedQuery query = {.queries = NULL};
    bool done;
    assert_fails_saying(
        CONFLICT, "has changed since it began", paged_attend(paged_call(), paged, &query, &done));
    paged_destroy(paged);
}

int test_relax_paged_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_attention_of_all_kinds),
        cmocka_unit_test(test_relax_paged_attention_of_nothing_is_zero),
    };
    return cmocka_run_group_tests_name("relax_paged_attention", tests, NULL, NULL);
}
