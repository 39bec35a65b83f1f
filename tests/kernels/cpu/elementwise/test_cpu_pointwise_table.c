#include <math.h>
#include <stdio.h>

#include "tests/kernels/fixtures/everywhere.h"

enum { COUNT = 40000 /* several units, the last one short */ };

/* max(x * 0.5 - 3, 10) of every code in turn, as whole numbers of the other type. */
static void check(DType from, const char *to) {
    static double codes[COUNT], expected[COUNT];
    char attributes[160];
    for (int i = 0; i < COUNT; i++) {
        codes[i] = from == DTYPE_INT8 ? (int8_t)i : (uint8_t)i;
        expected[i] = floor(fmax(codes[i] * 0.5 - 3, 10));
    }
    (void)snprintf(attributes, sizeof attributes,
        "{constants=[0.5, 3.0, 10.0], program=\"Cast i0 {to=float32}; Mul r0 c0; Sub r1 c1; "
        "Max r2 c2; Cast r3 {to=%s}\"}",
        to);
    DeviceCall call = {
        .operator_name = "FusedElementwise", .attributes = attributes, .input_count = 1};
    call.inputs[0] = device_tensor(from, codes, 2, COUNT / 8, 8);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_every_code_has_the_result_of_the_steps(void **state) {
    (void)state;
    check(DTYPE_UINT8, "int8");
    check(DTYPE_INT8, "uint8");
}

/* max(x * 0.5 - 3, 10) as whole numbers, times a row of floats: only the first steps have a table.
 */
static void test_steps_of_one_input_have_a_table(void **state) {
    (void)state;
    enum { ROW = 50, ROWS = 300 };
    static double codes[ROW * ROWS], expected[ROW * ROWS], row[ROW];
    for (int i = 0; i < ROW * ROWS; i++) {
        row[i % ROW] = i % ROW - 20;
        codes[i] = (uint8_t)(i * 7);
        expected[i] = floor(fmax(codes[i] * 0.5 - 3, 10)) * row[i % ROW];
    }
    DeviceCall call = {.operator_name = "FusedElementwise",
        .attributes = "{constants=[0.5, 3.0, 10.0], program=\"Cast i0 {to=float32}; Mul r0 c0; "
                      "Sub r1 c1; Max r2 c2; Cast r3 {to=int8}; Cast r4 {to=float32}; Mul r5 i1\"}",
        .input_count = 2};
    call.inputs[0] = device_tensor(DTYPE_UINT8, codes, 2, ROWS, ROW);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, row, 1, ROW);
    everywhere_check(&call, expected, 0);
    everywhere_release(&call);
}

static void test_no_elements_have_no_results(void **state) {
    (void)state;
    DeviceCall call = {.operator_name = "FusedElementwise",
        .attributes = "{constants=[0.5], program=\"Cast i0 {to=float32}; Mul r0 c0; Cast r1 "
                      "{to=int8}\"}",
        .input_count = 1};
    call.inputs[0] = device_tensor(DTYPE_UINT8, NULL, 2, 0, 8);
    everywhere_check(&call, NULL, 0);
    everywhere_release(&call);
}

int test_cpu_pointwise_table(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_has_the_result_of_the_steps),
        cmocka_unit_test(test_steps_of_one_input_have_a_table),
        cmocka_unit_test(test_no_elements_have_no_results),
    };
    return cmocka_run_group_tests_name("cpu_pointwise_table", tests, NULL, NULL);
}
