#include <string.h>

#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/device/cpu_device.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

/* A device whose rules take oneDNN's kernel wherever it can be taken. */
static Device *eager;

typedef struct MatmulShapes {
    uint32_t rank;
    int64_t a[4], b[4];
    const char *attributes;
    const char *kernel_name; /* with its weights packed */
} MatmulShapes;

/* Weights in panels that oneDNN reads, others that only ours do, batches, transposed operands. */
static const MatmulShapes cases[] = {
    {2, {128, 256}, {256, 192}, "{activation=\"gelu_erf\"}", "cpu.dnnl_matmul"},
    {2, {130, 256}, {256, 200}, "{activation=\"relu\"}", "cpu.matmul"},
    {2, {77, 512}, {64, 512}, "{transB=1}", "cpu.dnnl_matmul"},
    {3, {12, 70, 64}, {12, 64, 70}, "{alpha=0.125}", "cpu.matmul"},
    {3, {5, 33, 40}, {5, 40, 129}, "{activation=\"tanh\"}", "cpu.matmul"},
    {2, {320, 90}, {320, 64}, "{transA=1}", "cpu.dnnl_matmul"},
};

static Shape shape_of(uint32_t rank, const int64_t *dims) { return shape_make(rank, dims); }

/* What runs it, besides. */
static const char *kernel_name;

static Tensor *run_matmul(const MatmulShapes *shapes, uint32_t threads, bool pack, bool expand) {
    const Shape a = shape_of(shapes->rank, shapes->a), b = shape_of(shapes->rank, shapes->b);
    DeviceCall call = {.device = eager,
        .operator_name = "FusedMatMul",
        .attributes = shapes->attributes,
        .input_count = 2,
        .threads = threads,
        .pack = pack,
        .expand = expand};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &a, -1, 1, 5);
    call.inputs[1] = device_tensor_random(DTYPE_FLOAT32, &b, -0.1, 0.1, 6);
    Tensor *output;
    assert_ok(device_call_run(&call, &output, &kernel_name));
    for (uint32_t i = 0; i < call.input_count; i++) tensor_release(call.inputs[i]);
    return output;
}

static int setup(void **state) {
    (void)state;
    assert_ok(device_open("cpu", &eager));
    cpu_device_force_rule(eager, CPU_RULE_DNNL_MATMUL_ROWS_MIN, 0);
    cpu_device_force_rule(eager, CPU_RULE_DNNL_MATMUL_COLUMNS_MIN, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    device_close(eager);
    return 0;
}

/* Below AVX-512 oneDNN has nothing that reads the panels. */
static void skip_below_avx512(void) {
    if (((const CpuDevice *)eager)->level < CPU_LEVEL_AVX512) skip();
}

static void test_dnnl_matmul_bits_do_not_depend_on_threads(void **state) {
    (void)state;
    skip_below_avx512();
    static const uint32_t counts[] = {2, 3, 8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tensor *one = run_matmul(&cases[i], 1, true, false);
        assert_string_equal(kernel_name, cases[i].kernel_name);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            Tensor *several = run_matmul(&cases[i], counts[k], true, false);
            assert_true(device_tensor_hash(one) == device_tensor_hash(several));
            tensor_release(several);
        }
        tensor_release(one);
    }
}

/* Packed, plain and as the plain operators that it stands for: the same numbers but for rounding.
 */
static void test_dnnl_matmul_agrees_with_its_expansion(void **state) {
    (void)state;
    skip_below_avx512();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tensor *packed = run_matmul(&cases[i], 1, true, false);
        assert_string_equal(kernel_name, cases[i].kernel_name);
        Tensor *plain = run_matmul(&cases[i], 1, false, false);
        Tensor *expanded = run_matmul(&cases[i], 1, false, true);
        for (int64_t k = 0; k < shape_count_unchecked(&packed->shape); k++) {
            double expected = device_tensor_get(expanded, k);
            assert_true(device_tensor_get(packed, k) - expected < 1e-4);
            assert_true(expected - device_tensor_get(packed, k) < 1e-4);
            assert_true(device_tensor_get(plain, k) - expected < 1e-4);
            assert_true(expected - device_tensor_get(plain, k) < 1e-4);
        }
        tensor_release(packed);
        tensor_release(plain);
        tensor_release(expanded);
    }
}

int test_cpu_dnnl_matmul(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dnnl_matmul_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_dnnl_matmul_agrees_with_its_expansion),
    };
    return cmocka_run_group_tests_name("cpu_dnnl_matmul", tests, setup, teardown);
}
