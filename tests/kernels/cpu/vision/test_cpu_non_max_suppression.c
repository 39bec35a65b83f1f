#include <math.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/everywhere.h"
#include "tests/kernels/fixtures/infer_fixture.h"
#include "tests/kernels/fixtures/kernel_call.h"

enum { BOXES = 4 };

/* One image, one class; limit, overlap and threshold as inputs. */
static void check(const char *attributes, const double *boxes, const double *scores,
    const double *numbers, int kept, const double *expected) {
    DeviceCall call = {
        .operator_name = "NonMaxSuppression", .attributes = attributes, .input_count = 5};
    Tensor *out = NULL;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, boxes, 3, 1, BOXES, 4);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, scores, 3, 1, 1, BOXES);
    call.inputs[2] = device_tensor(DTYPE_INT64, numbers, 1, 1);
    call.inputs[3] = device_tensor(DTYPE_FLOAT32, numbers + 1, 0);
    call.inputs[4] = device_tensor(DTYPE_FLOAT32, numbers + 2, 0);
    if (isnan(numbers[2])) call.input_count = 4;
    everywhere_run(&call, &out);
    assert_int_equal(out->shape.dims[0], kept);
    for (int i = 0; i < kept; i++) {
        assert_true(device_tensor_get(out, i * 3) == 0);
        assert_true(device_tensor_get(out, i * 3 + 1) == 0);
        assert_true(device_tensor_get(out, i * 3 + 2) == expected[i]);
    }
    tensor_release(out);
    call.input_count = 5;
    everywhere_release(&call);
}

/* the second has half of the first, the third is a corner-swapped copy of it, the last far away */
static const double boxes[BOXES * 4] = {0, 0, 2, 2, 0, 0, 2, 1, 2, 2, 0, 0, 5, 5, 6, 6};

static void test_boxes_that_overlap_a_better_one_are_dropped(void **state) {
    static const double scores[BOXES] = {0.5, 0.75, 0.25, 1};
    (void)state;
    check(NULL, boxes, scores, (double[]){9, 0.4, 0}, 2, (double[]){3, 1});
    check(NULL, boxes, scores, (double[]){9, 0.5, 0}, 3, (double[]){3, 1, 0});
    check(NULL, boxes, scores, (double[]){9, 1, 0}, 4, (double[]){3, 1, 0, 2});
    check(NULL, boxes, scores, (double[]){1, 1, 0}, 1, (double[]){3});
    check(NULL, boxes, scores, (double[]){-5, 1, 0}, 0, NULL);
    check(NULL, boxes, scores, (double[]){9, 1, 0.5}, 2, (double[]){3, 1});
    /* as centers and sizes the third has no area, which overlaps nothing */
    check("{center_point_box=1}", boxes, scores, (double[]){9, 0.5, 0}, 4, (double[]){3, 1, 0, 2});
    check("{center_point_box=1}", boxes, scores, (double[]){9, 0, 0}, 3, (double[]){3, 1, 2});
}

static void test_equal_scores_go_by_their_index_and_nan_comes_last(void **state) {
    const double nothing = (double)NAN, scores[BOXES] = {nothing, 0.5, 0.5, -0.5};
    (void)state;
    check(NULL, boxes, scores, (double[]){9, 1, nothing}, 4, (double[]){1, 2, 3, 0});
    check(NULL, boxes, scores, (double[]){9, 1, -1}, 3, (double[]){1, 2, 3});
}

/* Kept boxes are compared in blocks: here 40 squares side by side, then 40 that lie over one of
 * them each, three quarters of it or a quarter. */
static void test_each_kept_box_is_compared(void **state) {
    enum { KEPT = 40, ALL = 2 * KEPT };
    static double places[ALL * 4], scores[ALL];
    Tensor *out = NULL;
    (void)state;
    for (int i = 0; i < KEPT; i++) {
        const double shift = i % 2 ? 0.25 : 0.75;
        memcpy(places + i * 4, (double[]){0, 2 * i, 1, 2 * i + 1}, 4 * sizeof(double));
        memcpy(places + (KEPT + i) * 4, (double[]){shift, 2 * i, shift + 1, 2 * i + 1},
            4 * sizeof(double));
        scores[i] = 1000 - i;
        scores[KEPT + i] = 500 - i;
    }
    DeviceCall call = {.operator_name = "NonMaxSuppression", .input_count = 4};
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, places, 3, 1, ALL, 4);
    call.inputs[1] = device_tensor(DTYPE_FLOAT32, scores, 3, 1, 1, ALL);
    call.inputs[2] = device_tensor(DTYPE_INT64, (double[]){ALL}, 1, 1);
    call.inputs[3] = device_tensor(DTYPE_FLOAT32, (double[]){0.5}, 0);
    everywhere_run(&call, &out);
    assert_int_equal(out->shape.dims[0], KEPT + KEPT / 2);
    for (int i = 0; i < KEPT + KEPT / 2; i++) {
        const int box = i < KEPT ? i : KEPT + 2 * (i - KEPT);
        assert_true(device_tensor_get(out, i * 3 + 2) == box);
    }
    tensor_release(out);
    everywhere_release(&call);
}

static void test_candidates_beyond_memory_are_refused(void **state) {
    InferFixture fixture;
    Plan *plan;
    (void)state;
    infer_fixture_init(&fixture, "NonMaxSuppression", NULL,
        "float32[1073741824,1,4] float32[1073741824,1073741824,1]", 1);
    assert_ok(operator_infer(&fixture.request));
    Device *device = kernel_cpu_device();
    assert_fails_saying(EXHAUSTED, "the candidates of NonMaxSuppression",
        device->class_->plan(device, &fixture.request, &plan));
    infer_fixture_deinit(&fixture);
}

int test_cpu_non_max_suppression(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes_that_overlap_a_better_one_are_dropped),
        cmocka_unit_test(test_equal_scores_go_by_their_index_and_nan_comes_last),
        cmocka_unit_test(test_each_kept_box_is_compared),
        cmocka_unit_test(test_candidates_beyond_memory_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_non_max_suppression", tests, NULL, NULL);
}
