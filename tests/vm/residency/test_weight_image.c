#include "vm/residency/weight_image.h"

#include "base/allocator.h"
#include "tests/support/test_support.h"
#include "tests/vm/image_fixture.h"

static void test_weight_image_is_held_while_it_is_counted(void **state) {
    (void)state;
    OneImage one = {.key = {.executable = {{1}}, .layout = {{2}}, .size = 10}};
    WeightImages images = one_image(&one);
    OWN(WeightImage, image) = NULL;
    assert_ok(weight_image_find(&images, &one.key, &image));
    assert_null(image);
    void *memory;
    assert_ok(memory_map(10, &memory));
    one.data = memory;
    WeightImageKey other = one.key;
    other.layout.bytes[5] = 1;
    assert_ok(weight_image_find(&images, &other, &image));
    assert_null(image);
    assert_ok(weight_image_find(&images, &one.key, &image));
    assert_ptr_equal(image->data, one.data);
    assert_int_equal(image->size, 10);
    WeightImage *again = weight_image_retain(image);
    assert_int_equal(one.held, 1);
    weight_image_release(again);
    assert_int_equal(one.held, 1);
    assert_ok(weight_image_check(image, 0, 10));
    one.corrupt = true;
    assert_fails(CORRUPT, weight_image_check(image, 0, 10));
    assert_false(weight_image_is_damaged(image));
    one.damaged = true;
    assert_true(weight_image_is_damaged(image));
    weight_image_release(TAKE(image));
    assert_int_equal(one.held, 0);
    weight_image_release(NULL);
    one_image_deinit(&one);
}

int test_weight_image(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight_image_is_held_while_it_is_counted),
    };
    return cmocka_run_group_tests_name("weight_image", tests, NULL, NULL);
}
