#include "kernels/cpu/quantized/cpu_bytes_images.h"

#include "tests/kernels/fixtures/kernel_call.h"

static const Window window = {.rank = 2,
    .kernel = {2, 2},
    .stride = {1, 1},
    .dilation = {1, 1},
    .pad_begin = {1, 0},
    .pad_end = {0, 1},
    .input = {1, 2},
    .output = {1, 2}};

/* An image [1, 2, 2] with one row of padding before it and one column behind. */
static void test_padding_is_the_zero_point(void **state) {
    (void)state;
    static const uint8_t x[] = {1, 2, 3, 4}, planes[] = {1, 3, 2, 4};
    static const uint8_t wanted[] = {9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 9, 9};
    CpuBytesImages images = {.form = CPU_LOWER_INT8_DOT, .images = 1, .channels = 2};
    uint8_t bytes[12];
    int16_t words[12];
    cpu_bytes_images_of(&window, 0, &images);
    assert_false(images.in_place);
    assert_int_equal(cpu_bytes_zero(&images, 9), 9);
    CpuDevice *device = cpu_device(kernel_cpu_device());
    assert_ok(cpu_bytes_write_images(device, 1, &images, x, 9, bytes));
    assert_memory_equal(bytes, wanted, sizeof wanted);
    images.are_planes = true;
    assert_ok(cpu_bytes_write_images(device, 1, &images, planes, 9, bytes));
    assert_memory_equal(bytes, wanted, sizeof wanted);
    images.form = CPU_LOWER_INT8;
    assert_ok(cpu_bytes_write_images(device, 1, &images, planes, 9, words));
    for (int i = 0; i < 12; i++) assert_int_equal(words[i], wanted[i] - 9);
}

static void test_images_without_padding_and_sign_stay_where_they_are(void **state) {
    (void)state;
    Window plain = window;
    plain.pad_begin[0] = 0;
    plain.kernel[0] = plain.kernel[1] = 1;
    CpuBytesImages images = {.form = CPU_LOWER_INT8_DOT, .images = 1, .channels = 2};
    cpu_bytes_images_of(&plain, 0, &images);
    assert_true(images.in_place);
    cpu_bytes_images_of(&plain, 2, &images); /* a kernel would read behind the image */
    assert_false(images.in_place);
    images.is_signed = true;
    cpu_bytes_images_of(&plain, 0, &images);
    assert_false(images.in_place);
    assert_int_equal(cpu_bytes_zero(&images, -3), 125);
}

int test_cpu_bytes_images(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padding_is_the_zero_point),
        cmocka_unit_test(test_images_without_padding_and_sign_stay_where_they_are),
    };
    return cmocka_run_group_tests_name("cpu_bytes_images", tests, NULL, NULL);
}
