#include "kernels/planning/pointwise_program.h"
#include "tests/conformance/suite_test.h"
#include "tests/support/cuda_shim.h"

/* The kernels of CUDA devices, run on the host. */

static void test_cuda_kernels_compute_what_the_reference_does(void **state) {
    (void)state;
    suite_test("shim", "values");
}

static void test_cuda_kernels_give_equal_bits_whatever_varies(void **state) {
    (void)state;
    suite_test("shim", "equality");
}

static void test_cuda_kernels_agree_with_their_expansions(void **state) {
    (void)state;
    suite_test("shim", "expansion");
}

static void test_mutated_calls_end_as_on_the_cpu(void **state) {
    (void)state;
    suite_test("shim", "random");
}

/* Every row that is not only there to be timed, with every element type. */
static void for_each(const char *spec, ConformanceCheck *check) {
    ConformanceDevice on;
    assert_ok(conformance_device_open(spec, &on));
    for (uint32_t i = 0; i < case_table_count; i++)
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            const ConformanceCase *row = &case_table[i];
            if (!row->reference || !(case_table_dtypes(row) >> dtype & 1)) continue;
            if (conformance_suite_reason(&on, row->operator_name, (DType)dtype)) continue;
            Error *error = check(&on, row, (DType)dtype);
            if (error)
                fail_msg("%s:%d: %s %s %s: %s", case_table_file(row), row->line, row->operator_name,
                    row->attributes, dtype_name((DType)dtype), error_message(error));
        }
    conformance_device_deinit(&on);
}

static Error *check_same(Device *device, Device *other, const ConformanceCase *row, DType dtype) {
    ConformanceRun run;
    uint64_t here = 0;
    conformance_prepare(device, row, dtype, &run);
    Error *error = device_call_run(&run.call, run.outputs, &run.kernel_name);
    if (!error) here = conformance_hash(&run);
    conformance_release_outputs(run.outputs);
    run.call.device = other;
    if (!error) error = device_call_run(&run.call, run.outputs, NULL);
    const bool same = !error && conformance_hash(&run) == here;
    conformance_run_deinit(&run);
    TRY(error);
    if (!same) FAIL(INTERNAL, "%s: other bits on %s", run.kernel_name, other->name);
    return NULL;
}

/* Neither the order of blocks nor that of the threads between two barriers decides anything. */
static void test_cuda_kernels_give_equal_bits_in_reverse(void **state) {
    (void)state;
    SuiteBits bits;
    suite_bits_take("shim", &bits);
    suite_bits_test(&bits, "shim:reversed");
    suite_bits_deinit(&bits);
}

/* What needs no sums has the cpu's bits. */
static Error *check_exact(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    const OperatorInfo *info = operator_find(row->operator_name);
    bool pointwise = pointwise_program_takes(info->id) || info->id == OPERATOR_FUSED_ELEMENTWISE;
    if (info->tolerance > 0 && !pointwise) return NULL;
    return check_same(on->device, on->cpu, row, dtype);
}

static void test_cuda_kernels_give_the_bits_of_the_cpu(void **state) {
    (void)state;
    for_each("shim", check_exact);
}

/* of LEFT_TO_THE_HOST */
#define ALL (DTYPES_SIZED | DTYPE_BIT(DTYPE_NONE))
#define DTYPES_NARROW_INTEGER                                                                      \
    (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_INT16) | DTYPE_BIT(DTYPE_UINT8) |                     \
        DTYPE_BIT(DTYPE_UINT16))

/* What CUDA devices leave to the host's kernels, and why. */
static const struct {
    const char *operator_name;
    DTypeSet dtypes;
    const char *reason;
} left_to_the_host[] = {
#define LEFT_TO_THE_HOST(operator_name, dtypes, reason) {#operator_name, dtypes, reason},
#include "tests/conformance/cases/cases.def"
};

static bool is_left_to_the_host(const ConformanceCase *row, DType dtype) {
    for (size_t i = 0; i < sizeof left_to_the_host / sizeof left_to_the_host[0]; i++)
        if (strcmp(left_to_the_host[i].operator_name, row->operator_name) == 0 &&
            left_to_the_host[i].dtypes >> dtype & 1)
            return true;
    /* what only training does, of operators that have a kernel */
    return strstr(row->attributes, "training_mode=1") != NULL;
}

/* Elements of less than a byte are moved and cast on the host, and powers of two cast there; their
 * shapes are known, and an operator is taken apart, anywhere. */
static bool has_elements_of_the_host(const DeviceCall *call, const Plan *plan) {
    const bool casts = strcmp(call->operator_name, "Cast") == 0;
    const DTypeSet host = DTYPES_PACKED | (casts ? DTYPE_BIT(DTYPE_FLOAT8E8M0) : 0);
    const bool shape = plan->view || plan->origin == PLAN_OF_EXPANSION ||
                       strcmp(call->operator_name, "Shape") == 0 ||
                       strcmp(call->operator_name, "Size") == 0;
    bool has = dtype_in(host, plan->outputs[0].dtype);
    for (uint32_t i = 0; i < call->input_count; i++)
        has = has || (call->inputs[i] && dtype_in(host, call->inputs[i]->dtype));
    return has && !shape;
}

static Error *check_server(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    OWN(Plan, plan) = NULL;
    ConformanceRun run;
    conformance_prepare(on->device, row, dtype, &run);
    Error *error = device_call_plan(&run.call, &plan);
    const bool by_elements = !error && has_elements_of_the_host(&run.call, plan);
    conformance_run_deinit(&run);
    TRY(error);
    const bool host = text_starts_with(plan->kernel_name, "cpu.");
    if (host != (by_elements || is_left_to_the_host(row, dtype)))
        FAIL(INTERNAL, "served by %s", plan->kernel_name);
    return NULL;
}

static void test_only_what_is_named_is_left_to_the_host(void **state) {
    (void)state;
    for_each("shim", check_server);
}

/* A launch that fails ends the call with its error, whichever of the call's launches it is. */
static Error *check_lost(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    for (uint64_t launches = 0;; launches++) {
        ConformanceRun run;
        conformance_prepare(on->device, row, dtype, &run);
        const uint64_t before = cuda_shim_launches(on->device);
        cuda_shim_lose_after(on->device, launches);
        Error *error = device_call_run(&run.call, run.outputs, NULL);
        const uint64_t started = cuda_shim_launches(on->device) - before;
        conformance_run_deinit(&run);
        if (error_code(error) != ERROR_DEVICE_LOST) return error;
        error_free(error);
        if (started != launches) FAIL(INTERNAL, "lost without a launch");
    }
}

static void test_a_lost_device_is_noticed_at_every_launch(void **state) {
    (void)state;
    for_each("shim", check_lost);
}

int test_cuda_kernels(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_kernels_compute_what_the_reference_does),
        cmocka_unit_test(test_cuda_kernels_give_equal_bits_whatever_varies),
        cmocka_unit_test(test_cuda_kernels_agree_with_their_expansions),
        cmocka_unit_test(test_mutated_calls_end_as_on_the_cpu),
        cmocka_unit_test(test_cuda_kernels_give_equal_bits_in_reverse),
        cmocka_unit_test(test_cuda_kernels_give_the_bits_of_the_cpu),
        cmocka_unit_test(test_only_what_is_named_is_left_to_the_host),
        cmocka_unit_test(test_a_lost_device_is_noticed_at_every_launch),
    };
    return cmocka_run_group_tests_name("cuda_kernels", tests, NULL, NULL);
}
