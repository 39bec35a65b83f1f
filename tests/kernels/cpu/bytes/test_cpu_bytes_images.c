#include "kernels/cpu/bytes/cpu_bytes_images.h"

#include <stdlib.h>

#include "kernels/cpu/quantized/cpu_lower_product.h"
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

enum { PITCH = 300, LINES = 7, WINDOWS = 6 };

static int16_t element(int64_t line, int64_t at) {
    return (int16_t)((line * 97 + at * 61) % 511 - 255);
}

/* Windows of two lines of two pieces, a line and 70 elements apart. The last piece ends where the
 * memory ends, so that a sanitizer sees what is read behind it. */
static void check_sums(CpuLevel level, int64_t piece) {
    const int64_t last = 1 + 2 * 3 + 70 + piece;
    int16_t *x = malloc((size_t)((LINES - 1) * PITCH + last) * sizeof *x);
    int32_t out[WINDOWS];
    assert_non_null(x);
    for (int64_t i = 0; i < (LINES - 1) * PITCH + last; i++) x[i] = element(i / PITCH, i % PITCH);
    const CpuBytesWindows windows = {.rows = 2,
        .columns = 3,
        .down = 3 * PITCH * 2,
        .right = 3 * 2,
        .lines = 2,
        .pieces = 2,
        .piece = piece,
        .line_step = 2 * PITCH * 2,
        .piece_step = 70 * 2,
        .first = (const char *)(x + PITCH + 1)};
    cpu_bytes_windows_for(level)(&windows, out);
    for (int w = 0; w < WINDOWS; w++) {
        int32_t wanted = 0;
        for (int line = 0; line < 2; line++)
            for (int i = 0; i < 2; i++)
                for (int64_t e = 0; e < piece; e++)
                    wanted +=
                        element(1 + w / 3 * 3 + line * 2, 1 + w % 3 * 3 + (int64_t)i * 70 + e);
        assert_int_equal(out[w], wanted);
    }
    free(x);
}

static void test_sums_of_windows_are_the_same_at_every_level(void **state) {
    (void)state;
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    for (int level = 0; level <= (int)device->level; level++)
        for (int64_t piece = 1; piece <= 50; piece++) check_sums((CpuLevel)level, piece);
}

static void test_zeros_are_subtracted_from_the_filters_alone(void **state) {
    enum { FILTERS = 21 };
    (void)state;
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    const int32_t windows[] = {3, 1 << 30, 99, -7};
    int32_t zeros[FILTERS], sums[2 * CPU_LOWER_COLUMNS];
    for (int f = 0; f < FILTERS; f++) zeros[f] = f - 5;
    for (int level = 0; level <= (int)device->level; level++) {
        for (int i = 0; i < 2 * CPU_LOWER_COLUMNS; i++) sums[i] = i;
        const CpuBytesZeros subtracted = {2, FILTERS, 3, false, windows, zeros};
        cpu_bytes_zeros_for((CpuLevel)level)(&subtracted, sums);
        for (int i = 0; i < 2 * CPU_LOWER_COLUMNS; i++) {
            const int f = i % CPU_LOWER_COLUMNS;
            const int32_t sum = windows[i / CPU_LOWER_COLUMNS * 3];
            assert_int_equal(sums[i], f < FILTERS ? i - zeros[f] * sum : i);
        }
    }
}

static void test_each_filter_may_have_windows_of_its_own(void **state) {
    (void)state;
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    const int32_t windows[] = {3, 4, 5, 0, -7, 8, 9}, zeros[] = {1, -2, 3};
    const int32_t wanted[] = {10 - 3, 10 + 8, 10 - 15, 10 + 7, 10 + 16, 10 - 27};
    for (int level = 0; level <= (int)device->level; level++) {
        int32_t sums[2 * CPU_LOWER_COLUMNS];
        for (int i = 0; i < 2 * CPU_LOWER_COLUMNS; i++) sums[i] = 10;
        const CpuBytesZeros subtracted = {2, 3, 4, true, windows, zeros};
        cpu_bytes_zeros_for((CpuLevel)level)(&subtracted, sums);
        for (int i = 0; i < 6; i++)
            assert_int_equal(sums[i / 3 * CPU_LOWER_COLUMNS + i % 3], wanted[i]);
        assert_int_equal(sums[3], 10);
    }
}

int test_cpu_bytes_images(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padding_is_the_zero_point),
        cmocka_unit_test(test_images_without_padding_and_sign_stay_where_they_are),
        cmocka_unit_test(test_sums_of_windows_are_the_same_at_every_level),
        cmocka_unit_test(test_zeros_are_subtracted_from_the_filters_alone),
        cmocka_unit_test(test_each_filter_may_have_windows_of_its_own),
    };
    return cmocka_run_group_tests_name("cpu_bytes_images", tests, NULL, NULL);
}
