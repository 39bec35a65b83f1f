#include "tests/kernels/fixtures/everywhere.h"

/* Two queries of one head, keys in pages of two rows: key and value of row r are [r + 1, 0] and
 * [r, 10 r]. */
static DeviceCall make_call(const double *rows, uint32_t count, const double *bounds) {
    static const double q[4] = {0, 1, 0, 1};
    double pages[16];
    for (int r = 0; r < 4; r++) {
        pages[4 * r] = r + 1;
        pages[4 * r + 1] = 0;
        pages[4 * r + 2] = r;
        pages[4 * r + 3] = 10 * r;
    }
    DeviceCall call = {
        .operator_name = "PagedAttention", .attributes = "{}", .input_count = 9, .output_count = 2};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, q, 3, 2, 1, 2);
    call.inputs[1] = device_tensor(DTYPE_INT32, rows, 1, (int)count);
    call.inputs[2] = device_tensor(DTYPE_INT32, bounds, 2, 2, 5);
    call.inputs[7] = device_tensor(DTYPE_FLOAT32, pages, 5, 1, 2, 2, 1, 2);
    call.inputs[8] = device_tensor(DTYPE_FLOAT32, pages + 8, 5, 1, 2, 2, 1, 2);
    return call;
}

/* All scores are 0: the mean of the values that a query sees. */
static void test_paged_attention_reads_rows_of_pages(void **state) {
    (void)state;
    const double rows[4] = {0, 3, 2, 1};
    DeviceCall call = make_call(rows, 4, (double[]){0, 0, 2, 4, 0, 0, 2, 4, 4, 0});
    everywhere_check(&call, (double[]){1.5, 15, 1.5, 15}, 1e-6);
    everywhere_release(&call);
    call = make_call(rows, 4, (double[]){0, 1, 1, 4, 0, 0, 1, 2, 4, 0});
    everywhere_check(&call, (double[]){0, 0, 3, 30}, 1e-6);
    everywhere_release(&call);
}

static void test_paged_attention_refuses_what_does_not_fit(void **state) {
    (void)state;
    static const double rows[4][2] = {{0, 4}, {0, -1}, {0, 1}, {0, 1}};
    static const double bounds[4][10] = {{0, 0, 2, 2, 0, 0, 0, 2, 2, 0},
        {0, 0, 2, 2, 0, 0, 0, 2, 2, 0}, {0, 0, 3, 2, 0, 0, 0, 2, 2, 0},
        {0, 2, 1, 2, 0, 0, 0, 2, 2, 0}};
    static const char *const messages[4] = {"key 1 is in row 4", "key 1 is in row -1",
        "the bounds of query 0 do not fit", "the bounds of query 0 do not fit"};
    for (uint32_t i = 0; i < 4; i++) {
        DeviceCall call = make_call(rows[i], 2, bounds[i]);
        Tensor *out[2] = {NULL};
        call.device = everywhere_cpu();
        assert_fails_saying(FAILED, messages[i], device_call_run(&call, out, NULL));
        everywhere_release(&call);
    }
}

int test_cpu_paged_attention(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paged_attention_reads_rows_of_pages),
        cmocka_unit_test(test_paged_attention_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("cpu_paged_attention", tests, NULL, NULL);
}
