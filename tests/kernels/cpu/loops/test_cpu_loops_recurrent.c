#include <stdlib.h>

#include "kernels/scalar/scalar_hyperbolic.h"
#include "tests/kernels/fixtures/loop_fixture.h"

enum { UNITS = LOOP_FIXTURE_COUNT, GATES = 4 };

typedef struct LstmData {
    float gates[GATES * UNITS], products[GATES * UNITS], c[UNITS], h[UNITS];
} LstmData;

static LstmData *data_of(uint64_t seed) {
    LstmData *data = calloc(1, sizeof *data);
    assert_non_null(data);
    loop_fixture_fill(DTYPE_FLOAT32, seed, data->gates, GATES * UNITS);
    loop_fixture_fill(DTYPE_FLOAT32, seed + 1, data->products, GATES * UNITS);
    loop_fixture_fill(DTYPE_FLOAT32, seed + 2, data->c, UNITS);
    return data;
}

/* The definition, a unit at a time; ONNX's gate order: input, output, forget, cell. */
static void step_units(LstmData *data) {
    for (int64_t i = 0; i < UNITS; i++) {
        float gates[GATES];
        for (int64_t g = 0; g < GATES; g++)
            gates[g] = data->gates[g * UNITS + i] + data->products[g * UNITS + i];
        float c = scalar_sigmoid_f32(gates[2]) * data->c[i] +
                  scalar_sigmoid_f32(gates[0]) * scalar_tanh_f32(gates[3]);
        data->c[i] = scalar_canonical_f32(c);
        data->h[i] = scalar_sigmoid_f32(gates[1]) * scalar_tanh_f32(data->c[i]);
    }
}

static void test_lstm_units_have_the_same_bits_at_every_level(void **state) {
    (void)state;
    CpuLevel levels[3];
    const uint32_t level_count = loop_fixture_levels(levels);
    for (uint64_t seed = 0; seed < 20; seed++) {
        LstmData *expected = data_of(seed);
        step_units(expected);
        for (uint32_t i = 0; i < level_count; i++) {
            LstmData *data = data_of(seed);
            /* in two parts, as two threads have it; the first one no multiple of a vector */
            for (int64_t begin = 0, count = 333; begin < UNITS;
                 begin += count, count = UNITS - begin)
                cpu_lstm_loop_find(levels[i])(&(CpuLstmRow){data->gates + begin,
                    data->products + begin, UNITS, count, data->c + begin, data->h + begin});
            assert_memory_equal(data->c, expected->c, sizeof data->c);
            assert_memory_equal(data->h, expected->h, sizeof data->h);
            free(data);
        }
        free(expected);
    }
}

static void test_an_lstm_unit_forgets_and_takes(void **state) {
    (void)state;
    /* input, output, forget, cell: closed gates are -100, open ones 100 */
    const float gates[] = {-100, 100, 100, 3, 100, 100, -100, 100};
    const float products[4] = {0, 0, 0, 0};
    for (int taken = 0; taken < 2; taken++) {
        float c = 0.25f, h = 9;
        cpu_lstm_loop_find(CPU_LEVEL_PORTABLE)(
            &(CpuLstmRow){gates + taken * GATES, products, 1, 1, &c, &h});
        assert_true(c == (taken ? 1.0f : 0.25f));
        assert_true(h == scalar_tanh_f32(c));
    }
}

int test_cpu_loops_recurrent(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lstm_units_have_the_same_bits_at_every_level),
        cmocka_unit_test(test_an_lstm_unit_forgets_and_takes),
    };
    return cmocka_run_group_tests_name("cpu_loops_recurrent", tests, NULL, NULL);
}
