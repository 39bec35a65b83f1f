#include "kernels/cpu/quantized/cpu_bytes_depthwise.h"

#include "tests/kernels/fixtures/kernel_call.h"

enum { CHANNELS = 70, TAPS = 5, PIXELS = 3, WIDTH = PIXELS + TAPS - 1, ZERO = 7 };

static uint8_t element(int64_t pixel, int64_t channel) {
    return (uint8_t)(pixel * 41 + channel * 17);
}
static uint8_t weight(int64_t channel, int64_t tap) { return (uint8_t)(channel * 29 + tap * 83); }

static void check_sums(CpuLevel level, CpuLowerForm form, int64_t block) {
    const bool is_dot = form == CPU_LOWER_INT8_DOT;
    const int64_t size = is_dot ? 1 : 2, first = block * CPU_BYTES_CHANNELS;
    uint8_t weights[CHANNELS * TAPS], bytes[WIDTH * CHANNELS];
    int16_t words[WIDTH * CHANNELS];
    char packed[2048];
    int64_t offsets[8] = {0};
    int32_t out[PIXELS * CPU_BYTES_CHANNELS];
    KernelStopMeter meter = {0};
    for (int i = 0; i < CHANNELS * TAPS; i++) weights[i] = weight(i / TAPS, i % TAPS);
    for (int i = 0; i < WIDTH * CHANNELS; i++) {
        bytes[i] = element(i / CHANNELS, i % CHANNELS);
        words[i] = (int16_t)(bytes[i] - ZERO);
    }
    for (int64_t t = 0; t < TAPS; t++) offsets[t] = t * CHANNELS * size;
    assert_true((size_t)cpu_bytes_depthwise_block_bytes(form, TAPS) <= sizeof packed);
    cpu_bytes_depthwise_pack(
        &(CpuBytesDepthwiseWeights){form, true, CHANNELS, TAPS, weights}, block, packed, &meter);
    const CpuBytesDepthwise sum = {PIXELS, TAPS, CHANNELS - first < 64 ? CHANNELS - first : 64,
        is_dot ? (const char *)bytes + first : (const char *)(words + first), CHANNELS * size,
        offsets, packed, ZERO, out};
    cpu_bytes_depthwise_for(level, form)(&sum);
    for (int64_t p = 0; p < PIXELS; p++)
        for (int64_t c = 0; c < sum.channels; c++) {
            int32_t wanted = 0;
            for (int64_t t = 0; t < TAPS; t++)
                wanted += (element(p + t, first + c) - ZERO) * (int8_t)weight(first + c, t);
            assert_int_equal(out[p * CPU_BYTES_CHANNELS + c], wanted);
        }
}

static void test_sums_of_each_channel_are_the_same_at_every_level(void **state) {
    (void)state;
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    for (int64_t block = 0; block < 2; block++) {
        for (int level = 0; level <= (int)device->level; level++)
            check_sums((CpuLevel)level, CPU_LOWER_INT8, block);
        if (device->has_vnni) check_sums(device->level, CPU_LOWER_INT8_DOT, block);
    }
}

int test_cpu_bytes_depthwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_each_channel_are_the_same_at_every_level),
    };
    return cmocka_run_group_tests_name("cpu_bytes_depthwise", tests, NULL, NULL);
}
