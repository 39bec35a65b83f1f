#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall steps_in_either_direction_and_layout[] = {
    {"cuda.lstm", "LSTM", NULL, DTYPE_BIT(DTYPE_FLOAT32), 200, 3,
        "T[5,2,3] T[1,16,3]:-1:1 T[1,16,4]:-1:1"},
    {"cuda.lstm", "LSTM", "{direction=\"reverse\"}", DTYPE_BIT(DTYPE_FLOAT32), 200, 3,
        "T[5,2,3] T[1,16,3]:-1:1 T[1,16,4]:-1:1 T[1,32]"},
    {"cuda.lstm", "LSTM", "{direction=\"bidirectional\", layout=1}", DTYPE_BIT(DTYPE_FLOAT32), 200,
        3, "T[2,5,3] T[2,16,3]:-1:1 T[2,16,4]:-1:1 T[2,32] i32[2]=5,2 T[2,2,4] T[2,2,4]"},
    {"cuda.lstm", "LSTM", "{direction=\"bidirectional\"}", DTYPE_BIT(DTYPE_FLOAT32), 200, 3,
        "T[4,3,3] T[2,280,3]:-1:1 T[2,280,70]:-1:1 T[2,560] i32[3]=4,0,3 T[2,3,70] T[2,3,70]"},
};

static void test_steps_in_either_direction_and_layout(void **state) {
    (void)state;
    cuda_fixture_check(steps_in_either_direction_and_layout);
}

static const CudaCall gates_with_all_that_they_may_have[] = {
    {"cuda.lstm", "LSTM", "{clip=0.5, input_forget=1}", DTYPE_BIT(DTYPE_FLOAT32), 200, 3,
        "T[5,2,3] T[1,16,3]:-1:1 T[1,16,4]:-1:1 T[1,32] - - - T[1,12]"},
    {"cuda.lstm", "LSTM",
        "{activations=[\"HardSigmoid\", \"LeakyRelu\", \"Softplus\"], activation_alpha=[0.3, 0.1], "
        "activation_beta=[0.4]}",
        DTYPE_BIT(DTYPE_FLOAT32), 200, 1, "T[5,2,3] T[1,16,3]:-1:1 T[1,16,4]:-1:1"},
    {"cuda.lstm", "LSTM", "{activations=[\"Relu\", \"Elu\", \"Tanh\"]}", DTYPE_BIT(DTYPE_FLOAT32),
        200, 2, "T[3,2,3] T[1,16,3]:-1:1 T[1,16,4]:-1:1"},
};

static void test_gates_with_all_that_they_may_have(void **state) {
    (void)state;
    cuda_fixture_check(gates_with_all_that_they_may_have);
}

int test_cuda_lstm(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_in_either_direction_and_layout),
        cmocka_unit_test(test_gates_with_all_that_they_may_have),
    };
    return cmocka_run_group_tests_name("cuda_lstm", tests, NULL, NULL);
}
