#include "kernels/arguments/strided_view.h"

#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/support/test_support.h"

static void check_of(const Shape *shape, const char *name, const char *text, const int64_t *value,
    uint32_t value_count, const StridedView *expected) {
    OWN(Attributes, attributes) = NULL;
    const OperatorInfo *info = operator_find(name);
    assert_ok(attributes_parse(&text, &attributes));
    assert_ok(attributes_check(attributes, info));
    TensorSpec inputs[2] = {{.present = true, .dtype = DTYPE_FLOAT32, .shape = *shape},
        {.present = true, .dtype = DTYPE_INT64, .shape = {1, {value_count}}}};
    const void *values[2] = {NULL, value};
    PlanRequest request = {.operator_info = info,
        .attributes = attributes,
        .input_count = value ? 2 : 1,
        .output_count = 1,
        .inputs = inputs,
        .values = values};
    assert_ok(operator_infer(&request));
    StridedView view;
    assert_ok(strided_view_of(&request, &view));
    assert_int_equal(view.rank, expected->rank);
    assert_int_equal(view.offset, expected->offset);
    for (uint32_t i = 0; i < view.rank; i++) {
        assert_int_equal(view.dims[i], expected->dims[i]);
        assert_int_equal(view.strides[i], expected->strides[i]);
    }
}

static void check(const char *name, const char *text, const int64_t *value, uint32_t value_count,
    const StridedView *expected) {
    const Shape shape = {2, {3, 4}};
    check_of(&shape, name, text, value, value_count, expected);
}

static void test_views_of_blocks(void **state) {
    const Shape deep = {4, {1, 8, 3, 5}}, wide = {4, {1, 2, 6, 10}};
    (void)state;
    check_of(&deep, "DepthToSpace", "{blocksize=2}", NULL, 0,
        &(StridedView){6, {1, 2, 3, 2, 5, 2}, {120, 15, 5, 60, 1, 30}, 0});
    check_of(&deep, "DepthToSpace", "{blocksize=2, mode=\"CRD\"}", NULL, 0,
        &(StridedView){6, {1, 2, 3, 2, 5, 2}, {120, 60, 5, 30, 1, 15}, 0});
    check_of(&wide, "SpaceToDepth", "{blocksize=2}", NULL, 0,
        &(StridedView){6, {1, 2, 2, 2, 3, 5}, {120, 10, 1, 60, 20, 2}, 0});
    check_of(&wide, "SpaceToDepth", "{blocksize=2, mode=\"CRD\"}", NULL, 0,
        &(StridedView){6, {1, 2, 2, 2, 3, 5}, {120, 60, 10, 1, 20, 2}, 0});
}

static void test_views_of_the_moving_operators(void **state) {
    (void)state;
    check("Transpose", "{}", NULL, 0, &(StridedView){2, {4, 3}, {1, 4}, 0});
    check("Expand", "{}", (int64_t[]){2, 3, 4}, 3, &(StridedView){3, {2, 3, 4}, {0, 4, 1}, 0});
    check("Tile", "{}", (int64_t[]){2, 1}, 2, &(StridedView){4, {2, 3, 1, 4}, {0, 4, 0, 1}, 0});
}

static void test_parts_of_a_whole(void **state) {
    (void)state;
    const Shape whole = {3, {2, 5, 3}}, part = {3, {2, 2, 3}};
    int64_t compact[STRIDED_VIEW_RANK_MAX];
    StridedView view;
    strided_view_part(&whole, &part, 1, 2, &view);
    assert_int_equal(view.rank, 2);
    assert_int_equal(view.dims[0] * view.dims[1], 12);
    assert_int_equal(view.strides[0], 15);
    assert_int_equal(view.offset, 6);
    strided_view_compact(&view, compact);
    assert_int_equal(compact[0], 6);
    assert_int_equal(compact[1], 1);
}

int test_strided_view(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_of_the_moving_operators),
        cmocka_unit_test(test_views_of_blocks),
        cmocka_unit_test(test_parts_of_a_whole),
    };
    return cmocka_run_group_tests_name("strided_view", tests, NULL, NULL);
}
