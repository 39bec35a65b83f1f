#include "kernels/cpu/bytes/cpu_bytes_depthwise.h"

#include "tests/kernels/fixtures/kernel_call.h"

enum {
    CHANNELS = 64 + 37, /* a block, and one of two vectors and an odd part of one */
    TAPS_MOST = 67,     /* more than are kept in pairs */
    PIXELS = 3,
    WIDTH = PIXELS + TAPS_MOST - 1,
    ZERO = 7
};

static uint8_t element(int64_t pixel, int64_t channel) {
    return (uint8_t)(pixel * 41 + channel * 17);
}
static uint8_t weight(int64_t channel, int64_t tap) { return (uint8_t)(channel * 29 + tap * 83); }

/* extreme: elements and weights whose products are the largest. */
typedef struct Case {
    int64_t block, taps;
    bool has_zeros, is_extreme;
} Case;

static uint8_t element_of(const Case *one, int64_t pixel, int64_t channel) {
    return one->is_extreme ? 255 : element(pixel, channel);
}
static uint8_t weight_of(const Case *one, int64_t channel, int64_t tap) {
    if (!one->is_extreme) return weight(channel, tap);
    return channel % 2 ? 0x80 : 0x7F;
}
static int32_t zero_of(const Case *one, int64_t channel) {
    if (!one->has_zeros) return 0;
    return one->is_extreme ? (channel % 2 ? 127 : -128) : (int32_t)(channel * 13 % 256) - 128;
}

static void check_sums(CpuLevel level, CpuLowerForm form, const Case *one) {
    const bool is_dot = form == CPU_LOWER_INT8_DOT;
    const int64_t size = is_dot ? 1 : 2, first = one->block * CPU_BYTES_CHANNELS;
    static uint8_t weights[CHANNELS * TAPS_MOST], bytes[WIDTH * CHANNELS], packed[16384];
    static int16_t words[WIDTH * CHANNELS];
    int64_t offsets[TAPS_MOST + 4] = {0};
    int32_t out[PIXELS * CPU_BYTES_CHANNELS], zeros[CPU_BYTES_CHANNELS];
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < CHANNELS * one->taps; i++)
        weights[i] = weight_of(one, i / one->taps, i % one->taps);
    for (int i = 0; i < WIDTH * CHANNELS; i++) {
        bytes[i] = element_of(one, i / CHANNELS, i % CHANNELS);
        words[i] = (int16_t)(bytes[i] - (one->is_extreme ? 0 : ZERO));
    }
    for (int64_t t = 0; t < one->taps; t++) offsets[t] = t * CHANNELS * size;
    for (int64_t c = 0; c < CPU_BYTES_CHANNELS; c++) zeros[c] = zero_of(one, first + c);
    assert_true((size_t)cpu_bytes_depthwise_block_bytes(form, one->taps) <= sizeof packed);
    cpu_bytes_depthwise_pack(&(CpuBytesDepthwiseWeights){form, true, CHANNELS, one->taps, weights},
        one->block, packed, &meter);
    const CpuBytesDepthwise sum = {PIXELS, one->taps, CHANNELS - first < 64 ? CHANNELS - first : 64,
        is_dot ? (const char *)bytes + first : (const char *)(words + first), CHANNELS * size,
        offsets, packed, one->is_extreme ? 0 : ZERO, one->has_zeros ? zeros : NULL, out};
    cpu_bytes_depthwise_for(level, form)(&sum);
    for (int64_t p = 0; p < PIXELS; p++)
        for (int64_t c = 0; c < sum.channels; c++) {
            int32_t wanted = 0;
            for (int64_t t = 0; t < one->taps; t++)
                wanted += words[(p + t) * CHANNELS + first + c] *
                          ((int8_t)weight_of(one, first + c, t) - zero_of(one, first + c));
            assert_int_equal(out[p * CPU_BYTES_CHANNELS + c], wanted);
        }
}

static void test_sums_of_each_channel_are_the_same_at_every_level(void **state) {
    (void)state;
    static const int64_t taps[] = {1, 4, 5, 9, TAPS_MOST};
    const CpuDevice *device = cpu_device(kernel_cpu_device());
    for (int i = 0; i < 8 * 5; i++) {
        const Case one = {i % 2, taps[i / 8], i / 2 % 2 != 0, i / 4 % 2 != 0};
        for (int level = 0; level <= (int)device->level; level++)
            check_sums((CpuLevel)level, CPU_LOWER_INT8, &one);
        if (device->has_vnni && !one.has_zeros) check_sums(device->level, CPU_LOWER_INT8_DOT, &one);
    }
}

int test_cpu_bytes_depthwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_each_channel_are_the_same_at_every_level),
    };
    return cmocka_run_group_tests_name("cpu_bytes_depthwise", tests, NULL, NULL);
}
