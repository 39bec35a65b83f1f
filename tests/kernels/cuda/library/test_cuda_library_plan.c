#include "kernels/cuda/library/cuda_library_plan.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"
#include "tests/kernels/fixtures/infer_fixture.h"

enum { COUNT = 6, BYTES = COUNT * sizeof(float), BLOCK = 256 };

/* A library that copies an input to the output and can be told to fail. */
typedef struct State {
    CudaLibraryState base;
    uint32_t copied;
} State;

static struct {
    CudaLibraryAddresses at;
    uint32_t runs, finishes, deinits;
    bool fails;
} seen;

static Error *run(const Plan *plan, const Launch *launch, const CudaLibraryAddresses *at) {
    const State *state = plan_state(plan);
    seen.at = *at;
    seen.runs++;
    if (seen.fails) FAIL(DEVICE_LOST, "the library is gone");
    return cuda_transfer_inside(
        plan->device, launch->stream, at->to, at->inputs[state->copied], BYTES);
}

static Error *finish(const Plan *plan, const Launch *launch) {
    float first;
    assert_ok(plan->device->class_->copy_to_host(
        plan->device, launch->stream, &first, launch->outputs[0], sizeof first));
    assert_true(first == 1); /* the output is where the launch wants it */
    seen.finishes++;
    return NULL;
}

static void deinit(CudaDevice *device, void *state) {
    assert_non_null(device);
    assert_int_equal(((State *)state)->copied, CUDA_LIBRARY_RESIDUAL);
    seen.deinits++;
}

static const CudaLibraryKind kind = {"test.library", run, finish, deinit};

static const State made = {
    {.kind = &kind, .reads = 1U << 0 | 1U << CUDA_LIBRARY_RESIDUAL}, CUDA_LIBRARY_RESIDUAL};

static Plan *plan_on(Device *device) {
    InferFixture fixture;
    State state = made;
    Plan *plan;
    infer_fixture_init(
        &fixture, "FusedMatMul", NULL, "float32[2,4] float32[4,3] float32[3] float32[2,3]", 1);
    assert_ok(operator_infer(&fixture.request));
    memset(&seen, 0, sizeof seen);
    assert_ok(cuda_library_plan_create(device, &fixture.request, &state, sizeof state, 640, &plan));
    infer_fixture_deinit(&fixture);
    assert_string_equal(plan->kernel_name, "test.library");
    assert_int_equal(plan->workspace_bytes, 640);
    return plan;
}

/* Launches with all operands `shift` bytes beside an aligned address. */
static Error *launch(Device *device, const Plan *plan, uint64_t shift, float out[COUNT]) {
    static const float residual[COUNT] = {1, 2, 3, 4, 5, 6};
    const DeviceClass *class_ = device->class_;
    uint64_t memory, inputs[CUDA_LIBRARY_INPUTS_MAX];
    assert_ok(class_->alloc(device, NULL, 5 * BLOCK, &memory));
    for (uint64_t i = 0; i < CUDA_LIBRARY_INPUTS_MAX; i++) inputs[i] = memory + i * BLOCK + shift;
    const uint64_t output = memory + 4 * BLOCK + shift;
    assert_ok(class_->copy_from_host(device, NULL, inputs[CUDA_LIBRARY_RESIDUAL], residual, BYTES));
    const Launch arguments = {.inputs = inputs, .outputs = &output};
    Error *error = plan->launch(plan, &arguments, &plan->outputs[0].shape);
    if (!error) assert_ok(class_->copy_to_host(device, NULL, out, output, BYTES));
    assert_true((seen.at.to == output) == (shift == 0));
    assert_true((seen.at.inputs[0] == inputs[0]) == (shift == 0));
    class_->free(device, NULL, memory, 5 * BLOCK);
    assert_int_equal(atomic_load(&cuda_device(device)->used_bytes), 0);
    return error;
}

static void test_a_library_sees_aligned_operands_only(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    Plan *plan = plan_on(device);
    for (uint64_t shift = 0; shift < 16; shift += 4) {
        float out[COUNT] = {0};
        assert_ok(launch(device, plan, shift, out));
        for (int i = 0; i < COUNT; i++) assert_true(out[i] == (float)(i + 1));
        assert_true(cuda_operands_fit(seen.at.to) && cuda_operands_fit(seen.at.inputs[0]));
        assert_true(cuda_operands_fit(seen.at.inputs[CUDA_LIBRARY_RESIDUAL]));
        assert_int_equal(seen.at.inputs[1], 0); /* not read */
        assert_int_equal(seen.at.inputs[CUDA_LIBRARY_BIAS], 0);
    }
    assert_int_equal(seen.finishes, 4);
    assert_int_equal(seen.deinits, 0);
    plan_release(plan);
    assert_int_equal(seen.deinits, 1);
}

/* Nothing is done behind a library that failed, and its operands are freed. */
static void test_a_library_that_fails_ends_the_launch(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    OWN(Plan, plan) = plan_on(device);
    float out[COUNT];
    seen.fails = true;
    assert_fails_saying(DEVICE_LOST, "the library is gone", launch(device, plan, 4, out));
    assert_int_equal(seen.runs, 1);
    assert_int_equal(seen.finishes, 0);
}

static void test_a_plan_that_fails_frees_what_the_library_made(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    InferFixture fixture;
    State large = made;
    Plan *plan = NULL;
    infer_fixture_init(&fixture, "MatMul", NULL, "float32[2,4] float32[4,3]", 1);
    assert_ok(operator_infer(&fixture.request));
    fixture.specs[1].shape.dims[0] = INT64_MAX / 3;
    memset(&seen, 0, sizeof seen);
    assert_fails(INVALID,
        cuda_library_plan_create(device, &fixture.request, &large, sizeof large, 0, &plan));
    assert_null(plan);
    assert_int_equal(seen.deinits, 1);
    infer_fixture_deinit(&fixture);
}

int test_cuda_library_plan(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_library_sees_aligned_operands_only),
        cmocka_unit_test(test_a_library_that_fails_ends_the_launch),
        cmocka_unit_test(test_a_plan_that_fails_frees_what_the_library_made),
    };
    return cmocka_run_group_tests_name("cuda_library_plan", tests, NULL, NULL);
}
