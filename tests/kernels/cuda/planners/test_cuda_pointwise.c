#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall pointwise_broadcasts_as_the_cpu_does[] = {
    {"cuda.elementwise", "Add", NULL, DTYPES_NUMBER, 0, 1, "T[5,7] T[5,7]"},
    {"cuda.elementwise", "Sub", NULL, DTYPES_NUMBER, 0, 1, "T[3,1,5] T[4,1]"},
    {"cuda.elementwise", "Mul", NULL, DTYPES_NUMBER, 0, 1, "T[40,1,8] T[9,8]"},
    {"cuda.elementwise", "Div", NULL, DTYPES_NUMBER, 0, 1, "T[] T[2051]"},
    {"cuda.elementwise", "Max", NULL, DTYPES_NUMBER, 0, 1, "T[6] T[7,1] T[2,1,1]"},
    {"cuda.elementwise", "Add", NULL, DTYPES_NUMBER, 0, 1, "T[0,3] T[3]"},
};

/* Rows that end within a thread's lanes, scalars on either side, more than one block. */
static void test_pointwise_broadcasts_as_the_cpu_does(void **state) {
    (void)state;
    cuda_fixture_check(pointwise_broadcasts_as_the_cpu_does);
}

static const CudaCall pointwise_functions_have_the_bits_of_the_cpu[] = {
    {"cuda.elementwise", "Exp", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-90:90"},
    {"cuda.elementwise", "Log", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-1:50"},
    {"cuda.elementwise", "Sin", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-3000000.0:3000000.0"},
    {"cuda.elementwise", "Cos", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-9:9"},
    {"cuda.elementwise", "Erf", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-5:5"},
    {"cuda.elementwise", "Tanh", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-9:9"},
    {"cuda.elementwise", "Sigmoid", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-40:40"},
    {"cuda.elementwise", "Gelu", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-6:6"},
    {"cuda.elementwise", "Gelu", "{approximate=\"tanh\"}", DTYPES_FLOAT, 0, 1, "T[601]:-6:6"},
    {"cuda.elementwise", "Softplus", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-30:30"},
    {"cuda.elementwise", "Elu", "{alpha=0.3}", DTYPES_FLOAT, 0, 1, "T[601]:-4:4"},
    {"cuda.elementwise", "Selu", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-4:4"},
    {"cuda.elementwise", "HardSwish", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-4:4"},
    {"cuda.elementwise", "HardSigmoid", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-4:4"},
    {"cuda.elementwise", "LeakyRelu", "{alpha=0.2}", DTYPES_FLOAT, 0, 1, "T[601]:-4:4"},
    {"cuda.elementwise", "Floor", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-9:9"},
    {"cuda.elementwise", "Round", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-9:9"},
    {"cuda.elementwise", "Sqrt", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-1:9"},
    {"cuda.elementwise", "Reciprocal", NULL, DTYPES_FLOAT, 0, 1, "T[601]:-1:1"},
};

static void test_pointwise_functions_have_the_bits_of_the_cpu(void **state) {
    (void)state;
    cuda_fixture_check(pointwise_functions_have_the_bits_of_the_cpu);
}

static const CudaCall pointwise_takes_mixed_element_types[] = {
    {"cuda.elementwise", "Pow", NULL, DTYPES_NUMBER, 0, 1, "T[77] f32[77]:0:3"},
    {"cuda.elementwise", "Pow", NULL, DTYPES_NUMBER, 0, 1, "T[77] i32[77]:-3:5"},
    {"cuda.elementwise", "Where", NULL, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "b[9,1] T[9,30] T[30]"},
    {"cuda.elementwise", "Clip", NULL, DTYPES_NUMBER, 0, 1, "T[77] - T[]:1:2"},
    {"cuda.elementwise", "Mean", NULL, DTYPES_FLOAT, 0, 1, "T[33] T[33] T[1]"},
    {"cuda.elementwise", "Cast", "{to=int8}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1, "T[77]"},
    {"cuda.elementwise", "Cast", "{to=uint16}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=int64}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=uint64}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=bool}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1, "T[77]"},
    {"cuda.elementwise", "Cast", "{to=float16}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=bfloat16}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=float32}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=float64}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=float8e4m3fn}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=float8e5m2fnuz}", DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL), 0, 1,
        "T[77]"},
    {"cuda.elementwise", "Cast", "{to=int8}", DTYPES_FLOAT, 0, 1, "T[77]:-7e4:7e4"},
    {"cuda.elementwise", "Cast", "{to=int16}", DTYPES_FLOAT, 0, 1, "T[77]:-7e4:7e4"},
    {"cuda.elementwise", "Cast", "{to=uint8}", DTYPES_FLOAT, 0, 1, "T[77]:-7e4:7e4"},
    {"cuda.elementwise", "Cast", "{to=uint32}", DTYPES_FLOAT, 0, 1, "T[77]:-7e4:7e4"},
    {"cuda.elementwise", "Cast", "{to=float16}", DTYPES_FLOAT, 0, 1, "T[77]:-7e4:7e4"},
    {"cuda.elementwise", "Cast", "{to=float8e5m2}", DTYPES_FLOAT, 0, 1, "T[77]:-7e4:7e4"},
};

static void test_pointwise_takes_mixed_element_types(void **state) {
    (void)state;
    cuda_fixture_check(pointwise_takes_mixed_element_types);
}

static const CudaCall pointwise_runs_programs_of_many_steps[] = {
    {"cuda.fused_elementwise", "FusedElementwise",
        "{program=\"Greater i0 c0; Where r0 i0 i1; LeakyRelu r1 {alpha=0.25}; Selu r2; Mul r3 "
        "r1\", constants=[0.0]}",
        DTYPES_FLOAT, 0, 1, "T[3,41] T[41]"},
    {"cuda.fused_elementwise", "FusedElementwise",
        "{program=\"Cast i0 {to=float32}; Mul r0 c0; Tanh r1; Add r2 i1\", constants=[0.5]}",
        DTYPES_INTEGER, 0, 1, "T[130] f32[130]"},
};

static void test_pointwise_runs_programs_of_many_steps(void **state) {
    (void)state;
    cuda_fixture_check(pointwise_runs_programs_of_many_steps);
}

int test_cuda_pointwise(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointwise_broadcasts_as_the_cpu_does),
        cmocka_unit_test(test_pointwise_functions_have_the_bits_of_the_cpu),
        cmocka_unit_test(test_pointwise_takes_mixed_element_types),
        cmocka_unit_test(test_pointwise_runs_programs_of_many_steps),
    };
    return cmocka_run_group_tests_name("cuda_pointwise", tests, NULL, NULL);
}
