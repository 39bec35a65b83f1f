#include "kernels/cpu/recurrent/cpu_recurrent_bytes.h"

#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

typedef struct Network {
    int64_t batch, input, hidden, directions;
    bool columns; /* a scale for each column */
    bool is_signed;
    int zero_point;
} Network;

/* Numbers of 1/64 from -2 to 127/64, both among them: they are bytes of one range exactly. */
static float *exact_floats(uint32_t seed, int64_t count) {
    float *made = kernel_random_floats(seed, count);
    for (int64_t i = 0; i < count; i++) made[i] = (float)(int)(made[i] * 100) / 64;
    made[0] = -2, made[1] = 127.0f / 64;
    return made;
}

/* A matrix of bytes for each direction, [depth, 4 H]; and as LSTM takes it, [4 H, depth]. */
typedef struct Weights {
    uint8_t *bytes, *zeros;
    float *scales, *plain;
} Weights;

static Weights weights_of(const Network *network, uint32_t seed, int64_t depth) {
    const int64_t d = network->directions, columns = 4 * network->hidden;
    Weights weights = {malloc((size_t)(d * depth * columns)), malloc((size_t)(d * columns)),
        malloc((size_t)(d * columns) * sizeof(float)),
        malloc((size_t)(d * depth * columns) * sizeof(float))};
    assert_true(weights.bytes && weights.zeros && weights.scales && weights.plain);
    for (int64_t i = 0; i < d * columns; i++) {
        weights.zeros[i] = (uint8_t)network->zero_point;
        weights.scales[i] = (float)(1 + (i + seed) % (network->columns ? 5 : 1)) / 1024;
    }
    for (int64_t i = 0; i < d * depth * columns; i++) {
        const int64_t column = i % columns, k = i / columns % depth, at = i / columns / depth;
        weights.bytes[i] = (uint8_t)(i * 37 + seed * 11 + i / 256);
        const int byte = network->is_signed ? (int8_t)weights.bytes[i] : weights.bytes[i];
        const int64_t scale = network->columns ? at * columns + column : at;
        weights.plain[(at * columns + column) * depth + k] =
            (float)(byte - network->zero_point) * weights.scales[scale];
    }
    return weights;
}

static void release(Weights *weights) {
    free(weights->bytes), free(weights->zeros), free(weights->scales), free(weights->plain);
}

static void give(const Network *network, const Weights *weights, int64_t depth, uint32_t side,
    KernelCall *call, KernelCall *plain) {
    const int64_t d = network->directions, columns = 4 * network->hidden;
    const DType dtype = network->is_signed ? DTYPE_INT8 : DTYPE_UINT8;
    const Shape lines = {3, {d, 1, network->columns ? columns : 1}};
    call->inputs[1 + side] = (KernelInput){dtype, {3, {d, depth, columns}}, weights->bytes};
    call->inputs[8 + 2 * side] = (KernelInput){DTYPE_FLOAT32, lines, weights->scales};
    call->inputs[9 + 2 * side] = (KernelInput){dtype, lines, weights->zeros};
    plain->inputs[1 + side] =
        (KernelInput){DTYPE_FLOAT32, {3, {d, columns, depth}}, weights->plain};
}

/* One step on rows that are bytes exactly: the numbers of LSTM with the weights as float32. */
static void check(const Network *network, Device *device) {
    const int64_t d = network->directions, hidden = network->hidden, batch = network->batch;
    float *x = exact_floats(1, batch * network->input), *h = exact_floats(2, d * batch * hidden);
    for (int64_t i = 1; i < d; i++) h[i * batch * hidden] = -2, h[i * batch * hidden + 1] = h[1];
    float *b = kernel_random_floats(3, d * 8 * hidden);
    Weights w = weights_of(network, 4, network->input), r = weights_of(network, 5, hidden);
    KernelCall call = {.name = "DynamicQuantizeLSTM", .input_count = 12, .output_count = 3};
    KernelCall plain = {.name = "LSTM", .input_count = 6, .output_count = 3};
    if (d == 2) call.attributes = plain.attributes = "{direction=\"bidirectional\"}";
    call.inputs[0] = (KernelInput){DTYPE_FLOAT32, {3, {1, batch, network->input}}, x};
    call.inputs[3] = (KernelInput){DTYPE_FLOAT32, {2, {d, 8 * hidden}}, b};
    call.inputs[5] = (KernelInput){DTYPE_FLOAT32, {3, {d, batch, hidden}}, h};
    for (uint32_t i = 0; i < 6; i++) plain.inputs[i] = call.inputs[i];
    give(network, &w, network->input, 0, &call, &plain);
    give(network, &r, hidden, 1, &call, &plain);
    KernelResult result, wanted;
    assert_ok(kernel_call_run(device, &plain, KERNEL_MODE_PLAIN, &wanted));
    kernel_call_check_bits(device, &call, &result);
    for (uint32_t i = 0; i < 3; i++) {
        const float *made = result.data[i], *numbers = wanted.data[i];
        for (int64_t k = 0; k < d * batch * hidden; k++)
            assert_true(made[k] - numbers[k] < 1e-5f && numbers[k] - made[k] < 1e-5f);
    }
    if (device == kernel_cpu_device())
        assert_true(kernel_call_check_packed(device, &call, 6, &result));
    kernel_result_deinit(&result);
    kernel_result_deinit(&wanted);
    release(&w), release(&r);
    free(x), free(h), free(b);
}

static void test_recurrent_bytes_give_the_numbers_of_floats(void **state) {
    (void)state;
    static const Network networks[] = {
        {1, 7, 64, 1, false, true, 0},
        {3, 8, 128, 2, true, false, 130},
        {2, 5, 12, 1, true, true, 3},
        {20, 6, 64, 1, false, false, 128},
    };
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        check(&networks[i], kernel_cpu_device());
        check(&networks[i], kernel_portable_device());
    }
}

int test_cpu_recurrent_bytes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrent_bytes_give_the_numbers_of_floats),
    };
    return cmocka_run_group_tests_name("cpu_recurrent_bytes", tests, NULL, NULL);
}
