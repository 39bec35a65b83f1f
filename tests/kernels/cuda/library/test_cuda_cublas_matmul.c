#include <math.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"
#include "tests/kernels/fixtures/infer_fixture.h"

typedef struct PlanRow {
    const char *operator_name, *attributes, *inputs;
    bool taken;
} PlanRow;

static const PlanRow rows[] = {
    {"MatMul", NULL, "float32[4,3] float32[3,5]", true},
    {"MatMul", NULL, "float16[3] float16[3,5]", true},
    {"MatMul", NULL, "bfloat16[2,4,3] bfloat16[3]", true},
    {"MatMul", NULL, "float32[2,7,4,3] float32[2,7,3,5]", true},
    {"MatMul", NULL, "float32[2,1,4,3] float32[2,7,3,5]", false}, /* no one step over the batch */
    {"MatMul", NULL, "float32[4,0] float32[0,5]", false},
    {"MatMul", NULL, "float64[4,3] float64[3,5]", false},
    {"Gemm", "{transA=1, transB=1}", "float32[3,4] float32[5,3] float32[5]", true},
    {"Gemm", "{beta=0.5}", "float32[4,3] float32[3,5] float32[4,5]", true},
    {"Gemm", "{beta=0.5}", "float32[4,3] float32[3,5] float32[5]", false},
    {"Gemm", NULL, "float32[4,3] float32[3,5] float32[4,1]", false},
    {"FusedMatMul", "{activation=\"relu\"}", "float32[4,3] float32[3,5] float32[5] float32[4,5]",
        true},
    {"FusedMatMul", "{activation=\"gelu_tanh\"}", "float32[4,3] float32[3,5] - float32[4,5]", true},
    {"FusedMatMul", "{activation=\"gelu_erf\"}", "float32[4,3] float32[3,5] float32[5]", false},
    {"FusedMatMul", NULL, "float32[4,3] float32[3,5] float32[4,5] float32[4,5]", false},
};

/* What it cannot do exactly so is left to the kernels behind it. */
static void test_cuda_cublas_matmul_takes_what_the_library_can(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        InferFixture fixture;
        OWN(Plan, plan) = NULL;
        infer_fixture_init(&fixture, rows[i].operator_name, rows[i].attributes, rows[i].inputs, 1);
        assert_ok(operator_infer(&fixture.request));
        assert_ok(device->class_->plan(device, &fixture.request, &plan));
        bool taken = strcmp(plan->kernel_name, "cuda.cublas_matmul") == 0;
        if (taken != rows[i].taken)
            fail_msg("%s %s: %s", rows[i].operator_name, rows[i].inputs, plan->kernel_name);
        infer_fixture_deinit(&fixture);
    }
}

enum { M = 5, K = 3, N = 2, OPERAND_BYTES = 256 };

static float element(int operand, int index) { return (float)((operand * 7 + index * 3) % 11 - 5); }

static float expected(int row, int column) {
    float sum = element(2, column) + element(3, row * N + column);
    for (int i = 0; i < K; i++) sum += element(0, row * K + i) * element(1, i * N + column);
    return fmaxf(sum, 0);
}

/* Every operand at an address that no vector instruction takes. */
static void test_cuda_cublas_matmul_reads_and_writes_odd_addresses(void **state) {
    (void)state;
    static const int counts[] = {M * K, K * N, N, M * N, M * N};
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "200");
    OWN(Device, device) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    const DeviceClass *class_ = device->class_;
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    DeviceStream *stream;
    uint64_t memory, inputs[4], workspace;
    infer_fixture_init(&fixture, "FusedMatMul", "{activation=\"relu\"}",
        "float32[5,3] float32[3,2] float32[2] float32[5,2]", 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(class_->plan(device, &fixture.request, &plan));
    assert_string_equal(plan->kernel_name, "cuda.cublas_matmul");
    assert_ok(class_->stream_create(device, &stream));
    for (uint64_t shift = 0; shift < 16; shift += 4) {
        float values[M * K];
        assert_ok(class_->alloc(device, stream, 5 * OPERAND_BYTES, &memory));
        assert_ok(class_->alloc(device, stream, plan->workspace_bytes, &workspace));
        for (int i = 0; i < 4; i++) {
            inputs[i] = memory + (uint64_t)i * OPERAND_BYTES + (shift * (uint64_t)(i + 1)) % 16;
            for (int j = 0; j < counts[i]; j++) values[j] = element(i, j);
            assert_ok(class_->copy_from_host(
                device, stream, inputs[i], values, (uint64_t)counts[i] * sizeof(float)));
        }
        uint64_t output = memory + 4 * OPERAND_BYTES + shift;
        Launch launch = {
            .inputs = inputs, .outputs = &output, .stream = stream, .workspace = workspace};
        assert_ok(plan->launch(plan, &launch, &plan->outputs[0].shape));
        assert_ok(class_->copy_to_host(device, stream, values, output, M * N * sizeof(float)));
        for (int i = 0; i < M * N; i++) assert_true(values[i] == expected(i / N, i % N));
        class_->free(device, stream, workspace, plan->workspace_bytes);
        class_->free(device, stream, memory, 5 * OPERAND_BYTES);
    }
    class_->stream_destroy(device, stream);
    infer_fixture_deinit(&fixture);
    assert_int_equal(atomic_load(&cuda_device(device)->used_bytes), 0);
}

int test_cuda_cublas_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_cublas_matmul_takes_what_the_library_can),
        cmocka_unit_test(test_cuda_cublas_matmul_reads_and_writes_odd_addresses),
    };
    return cmocka_run_group_tests_name("cuda_cublas_matmul", tests, NULL, NULL);
}
