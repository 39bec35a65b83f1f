#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/kernel_call.h"

typedef struct LstmCase {
    int64_t length, batch, input, hidden, directions;
    const char *direction;
    bool batch_first, bias, lengths, states, peepholes;
    double clip; /* 0: none */
    bool input_forget;
} LstmCase;

typedef struct Operands {
    const float *x, *w, *r, *b, *h0, *c0, *p;
    const int32_t *lengths;
} Operands;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double limited(const LstmCase *l, double x) {
    return l->clip > 0 ? fmax(-l->clip, fmin(l->clip, x)) : x;
}

/* One step of one element of the batch. */
static void naive_step(
    const LstmCase *l, const Operands *o, int64_t d, const float *x, double *h, double *c) {
    const int64_t hidden = l->hidden;
    double *next = malloc((size_t)hidden * sizeof(double));
    assert_non_null(next);
    const float *p = l->peepholes ? o->p + d * 3 * hidden : NULL;
    for (int64_t j = 0; j < hidden; j++) {
        double gates[4];
        for (int64_t g = 0; g < 4; g++) {
            const int64_t row = d * 4 * hidden + g * hidden + j;
            gates[g] = l->bias ? (double)o->b[d * 8 * hidden + g * hidden + j] +
                                     (double)o->b[d * 8 * hidden + (4 + g) * hidden + j]
                               : 0;
            for (int64_t i = 0; i < l->input; i++)
                gates[g] += (double)x[i] * (double)o->w[row * l->input + i];
            for (int64_t i = 0; i < hidden; i++) gates[g] += h[i] * (double)o->r[row * hidden + i];
        }
        const double old = c[j];
        const double i = sigmoid(limited(l, gates[0] + (p ? (double)p[j] * old : 0)));
        const double f =
            l->input_forget
                ? 1 - i
                : sigmoid(limited(l, gates[2] + (p ? (double)p[2 * hidden + j] * old : 0)));
        c[j] = f * old + i * tanh(limited(l, gates[3]));
        const double out = sigmoid(limited(l, gates[1] + (p ? (double)p[hidden + j] * c[j] : 0)));
        next[j] = out * tanh(c[j]);
    }
    memcpy(h, next, (size_t)hidden * sizeof(double));
    free(next);
}

static void naive(const LstmCase *l, const Operands *o, double *y, double *y_h, double *y_c) {
    const int64_t hidden = l->hidden;
    for (int64_t dn = 0; dn < l->directions * l->batch; dn++) {
        const int64_t d = dn / l->batch, n = dn % l->batch;
        const int64_t at = (l->batch_first ? n * l->directions + d : dn) * hidden;
        const int64_t length = l->lengths ? o->lengths[n] : l->length;
        double *h = y_h + at, *c = y_c + at;
        for (int64_t j = 0; j < hidden; j++) {
            h[j] = l->states ? (double)o->h0[at + j] : 0;
            c[j] = l->states ? (double)o->c0[at + j] : 0;
        }
        for (int64_t step = 0; step < length; step++) {
            const bool reverse = d == 1 || strcmp(l->direction, "reverse") == 0;
            const int64_t t = reverse ? length - 1 - step : step;
            const int64_t x_row = l->batch_first ? n * l->length + t : t * l->batch + n;
            naive_step(l, o, d, o->x + x_row * l->input, h, c);
            const int64_t y_row = l->batch_first ? (n * l->length + t) * l->directions + d
                                                 : (t * l->directions + d) * l->batch + n;
            memcpy(y + y_row * hidden, h, (size_t)hidden * sizeof(double));
        }
    }
}

static void print_attributes(const LstmCase *l, char *text, size_t size) {
    int at = snprintf(text, size, "{direction=\"%s\", layout=%d, input_forget=%d", l->direction,
        l->batch_first, l->input_forget);
    if (l->clip > 0) at += snprintf(text + at, size - (size_t)at, ", clip=%.2f", l->clip);
    (void)snprintf(text + at, size - (size_t)at, "}");
}

static void check_lstm(const LstmCase *l, Device *device) {
    const int64_t d = l->directions, hidden = l->hidden, states = d * l->batch * hidden;
    const int32_t lengths[4] = {(int32_t)l->length, 1, 0, (int32_t)l->length / 2};
    float *x = kernel_random_floats(1, l->length * l->batch * l->input);
    float *w = kernel_random_floats(2, d * 4 * hidden * l->input);
    float *r = kernel_random_floats(3, d * 4 * hidden * hidden);
    float *b = kernel_random_floats(4, d * 8 * hidden),
          *p = kernel_random_floats(5, d * 3 * hidden);
    float *h0 = kernel_random_floats(6, states), *c0 = kernel_random_floats(7, states);
    const Operands operands = {x, w, r, b, h0, c0, p, lengths};
    const Shape x_shape = l->batch_first ? (Shape){3, {l->batch, l->length, l->input}}
                                         : (Shape){3, {l->length, l->batch, l->input}};
    const Shape state =
        l->batch_first ? (Shape){3, {l->batch, d, hidden}} : (Shape){3, {d, l->batch, hidden}};
    char attributes[128];
    print_attributes(l, attributes, sizeof attributes);
    KernelCall call = {.name = "LSTM",
        .attributes = attributes,
        .input_count = 8,
        .output_count = 3,
        .inputs = {{DTYPE_FLOAT32, x_shape, x}, {DTYPE_FLOAT32, {3, {d, 4 * hidden, l->input}}, w},
            {DTYPE_FLOAT32, {3, {d, 4 * hidden, hidden}}, r}}};
    if (l->bias) call.inputs[3] = (KernelInput){DTYPE_FLOAT32, {2, {d, 8 * hidden}}, b};
    if (l->lengths) call.inputs[4] = (KernelInput){DTYPE_INT32, {1, {l->batch}}, lengths};
    if (l->states) {
        call.inputs[5] = (KernelInput){DTYPE_FLOAT32, state, h0};
        call.inputs[6] = (KernelInput){DTYPE_FLOAT32, state, c0};
    }
    if (l->peepholes) call.inputs[7] = (KernelInput){DTYPE_FLOAT32, {2, {d, 3 * hidden}}, p};
    double *y = calloc((size_t)(l->length * states) + 1, sizeof(double));
    double *y_h = calloc((size_t)states + 1, sizeof(double));
    double *y_c = calloc((size_t)states + 1, sizeof(double));
    assert_true(y && y_h && y_c);
    naive(l, &operands, y, y_h, y_c);
    KernelResult result;
    kernel_call_check_bits(device, &call, &result);
    kernel_check_close(&result, 0, y, 1e-5);
    kernel_check_close(&result, 1, y_h, 1e-5);
    kernel_check_close(&result, 2, y_c, 1e-5);
    if (device == kernel_cpu_device())
        assert_true(kernel_call_check_packed(device, &call, 6, &result));
    kernel_result_deinit(&result);
    free(y), free(y_h), free(y_c), free(x), free(w), free(r), free(b), free(p), free(h0), free(c0);
}

static void test_lstm_agrees_with_the_definition(void **state) {
    (void)state;
    static const LstmCase cases[] = {
        {5, 2, 7, 9, 1, "forward", false, true, false, false, false, 0, false},
        {6, 3, 20, 33, 2, "bidirectional", false, true, false, true, false, 0, false},
        {6, 4, 5, 16, 1, "reverse", false, false, true, true, true, 0, false},
        {4, 4, 5, 12, 2, "bidirectional", true, true, true, true, false, 0, false},
        {3, 1, 40, 64, 1, "forward", false, true, false, true, false, 0.25, false},
        {3, 2, 4, 8, 1, "forward", false, true, false, false, false, 0, true},
        {5, 2, 4, 8, 1, "forward", false, true, false, true, true, 0.25, false},
        {0, 2, 4, 8, 1, "forward", false, true, false, true, false, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_lstm(&cases[i], kernel_cpu_device());
        check_lstm(&cases[i], kernel_portable_device());
    }
}

static void test_lstm_refuses_lengths_and_activations_it_does_not_know(void **state) {
    (void)state;
    float x[3 * 2] = {0}, w[4 * 2] = {0}, r[4] = {0};
    const int32_t lengths[1] = {4};
    KernelCall call = {.name = "LSTM",
        .input_count = 5,
        .output_count = 1,
        .inputs = {{DTYPE_FLOAT32, {3, {3, 1, 2}}, x}, {DTYPE_FLOAT32, {3, {1, 4, 2}}, w},
            {DTYPE_FLOAT32, {3, {1, 4, 1}}, r}, {0}, {DTYPE_INT32, {1, {1}}, lengths}}};
    KernelResult result;
    assert_fails_saying(INVALID, "sequence_lens[0] is 4 of 3",
        kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    call.input_count = 3;
    call.attributes = "{activations=[\"Sigmoid\", \"Tanh\", \"Sine\"]}";
    assert_fails_saying(UNSUPPORTED, "Sine",
        kernel_call_run(kernel_cpu_device(), &call, KERNEL_MODE_PLAIN, &result));
    call.attributes = "{activations=[\"HardSigmoid\", \"Relu\", \"Elu\"], "
                      "activation_alpha=[0.25, 0.5], activation_beta=[0.5]}";
    kernel_call_check_bits(kernel_cpu_device(), &call, &result);
    kernel_result_deinit(&result);
}

int test_cpu_lstm(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lstm_agrees_with_the_definition),
        cmocka_unit_test(test_lstm_refuses_lengths_and_activations_it_does_not_know),
    };
    return cmocka_run_group_tests_name("cpu_lstm", tests, NULL, NULL);
}
