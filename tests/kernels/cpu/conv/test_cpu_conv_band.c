#include "kernels/cpu/conv/cpu_conv_band.h"

#include "tests/kernels/fixtures/kernel_call.h"

enum { HEIGHT = 3, WIDTH = 4, GROUPS = 2 };

/* Bands that begin before the image and end behind it, of one group of channels or of all. */
static void test_band_has_zeros_around_the_image(void **state) {
    (void)state;
    static const int64_t channels[] = {1, 3, 4, 8, 16, 24, 32, 40};
    float image[HEIGHT * WIDTH * GROUPS * 40], to[7 * 9 * 40];
    for (size_t i = 0; i < sizeof image / sizeof image[0]; i++) image[i] = (float)(i + 1);
    for (size_t i = 0; i < 2 * sizeof channels / sizeof channels[0]; i++) {
        const int64_t count = channels[i / 2], pixel = i % 2 ? count : GROUPS * count;
        const CpuConvBand band = {.image = image,
            .height = HEIGHT,
            .width = WIDTH,
            .channels = count,
            .pixel = pixel,
            .row = -2,
            .rows = 7,
            .column = -3,
            .columns = 9};
        cpu_conv_band_copy(&band, to);
        for (int64_t at = 0; at < 7 * 9 * count; at++) {
            const int64_t row = at / count / 9 - 2, column = at / count % 9 - 3;
            const bool inside = row >= 0 && row < HEIGHT && column >= 0 && column < WIDTH;
            const float expected =
                inside ? image[(row * WIDTH + column) * pixel + at % count] : 0.0f;
            assert_true(to[at] == expected);
        }
    }
}

static void test_band_may_lie_outside(void **state) {
    (void)state;
    const float image[2] = {1, 2};
    float to[4];
    const CpuConvBand band = {.image = image,
        .height = 1,
        .width = 2,
        .channels = 1,
        .pixel = 1,
        .rows = 1,
        .column = 5,
        .columns = 4};
    memset(to, 1, sizeof to);
    cpu_conv_band_copy(&band, to);
    for (int i = 0; i < 4; i++) assert_true(to[i] == 0);
}

int test_cpu_conv_band(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_band_has_zeros_around_the_image),
        cmocka_unit_test(test_band_may_lie_outside),
    };
    return cmocka_run_group_tests_name("cpu_conv_band", tests, NULL, NULL);
}
