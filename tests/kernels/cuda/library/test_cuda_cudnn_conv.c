#include <string.h>

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"
#include "tests/kernels/fixtures/infer_fixture.h"

typedef struct PlanRow {
    const char *operator_name, *attributes, *inputs, *kernel_name;
} PlanRow;

#define TAKEN "cuda.cudnn_conv"

static const PlanRow rows[] = {
    {"Conv", NULL, "float32[1,2,5,5] float32[3,2,3,3]", TAKEN},
    {"Conv", NULL, "float16[1,2,5,5] float16[3,2,3,3] float16[3]", TAKEN},
    {"Conv", "{pads=[0, 1]}", "bfloat16[2,4,9] bfloat16[6,2,3]", NULL}, /* not its groups */
    {"Conv", "{pads=[0, 1], group=2}", "bfloat16[2,4,9] bfloat16[6,2,3]", TAKEN},
    {"Conv", "{pads=[0, 1, 2, 3, 4, 5], strides=[1, 2, 3]}",
        "float32[1,2,5,6,7] float32[3,2,1,2,3]", TAKEN},
    {"Conv", NULL, "float32[1,2,3,3,3,3] float32[3,2,1,1,1,1]", "cuda.conv"},
    {"Conv", NULL, "float64[1,2,5,5] float64[3,2,3,3]", "cuda.conv"},
    {"Conv", NULL, "float32[0,2,5,5] float32[3,2,3,3]", "cuda.conv"},
    {"FusedConv", "{activation=\"relu\"}",
        "float32[1,2,5,5] float32[3,2,3,3] float32[3] float32[1,3,3,3]", TAKEN},
    {"FusedConv", "{activation=\"gelu_erf\"}",
        "float16[1,2,5,5] float16[3,2,3,3] - "
        "float16[1,3,3,3]",
        TAKEN},
    {"ConvTranspose", "{strides=[2, 2], output_padding=[1, 0]}",
        "float32[1,4,5,5] float32[4,3,2,2] float32[3]", TAKEN},
    /* the convolution the other way round would have another size */
    {"ConvTranspose", "{dilations=[3], output_padding=[2]}", "float32[1,4,5] float32[4,3,2]",
        "cuda.conv"},
};

/* What it cannot do is left to the kernels behind it. */
static void test_cuda_cudnn_conv_takes_what_the_library_can(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        InferFixture fixture;
        OWN(Plan, plan) = NULL;
        infer_fixture_init(&fixture, rows[i].operator_name, rows[i].attributes, rows[i].inputs, 1);
        Error *error = operator_infer(&fixture.request);
        assert_true((error != NULL) == (rows[i].kernel_name == NULL));
        error_free(error);
        if (rows[i].kernel_name) {
            assert_ok(device->class_->plan(device, &fixture.request, &plan));
            if (strcmp(plan->kernel_name, rows[i].kernel_name) != 0)
                fail_msg("%s %s: %s", rows[i].operator_name, rows[i].inputs, plan->kernel_name);
            assert_int_equal(plan->in_place, 0);
        }
        infer_fixture_deinit(&fixture);
    }
}

enum { OPERANDS_MAX = 4, COUNT_MAX = 18, OPERAND_BYTES = 256 };

/* Of one operand and of what comes of it. */
typedef struct Launched {
    const char *operator_name, *attributes, *inputs;
    int counts[OPERANDS_MAX], to_count;
    float from[OPERANDS_MAX][COUNT_MAX], to[COUNT_MAX];
} Launched;

/* A row of pixels by one filter: sums that are known. */
static const Launched launches[] = {
    {"Conv", NULL, "float32[1,1,1,4] float32[1,1,1,2]", {4, 2}, 3, {{1, 2, 3, 4}, {10, 1}},
        {12, 23, 34}},
    {"Conv", NULL, "float32[1,1,4] float32[2,1,2] float32[2]", {4, 4, 2}, 6,
        {{1, 2, 3, 4}, {10, 1, 1, 0}, {100, -1}}, {112, 123, 134, 0, 1, 2}},
    {"FusedConv", "{activation=\"relu\"}", "float32[1,1,4] float32[1,1,2] - float32[1,1,3]",
        {4, 2, 0, 3}, 3, {{1, 2, 3, 4}, {10, 1}, {0}, {-13, 0.5F, -34}}, {0, 23.5F, 0}},
    {"FusedConv", "{activation=\"clip\", activation_alpha=-1.0, activation_beta=30.0}",
        "float32[1,1,4] float32[1,1,2] float32[1] float32[1,1,3]", {4, 2, 1, 3}, 3,
        {{1, 2, 3, 4}, {10, 1}, {2}, {-50, 0.5F, 0}}, {-1, 25.5F, 30}},
    {"ConvTranspose", "{strides=[2]}", "float32[1,1,3] float32[1,2,2] float32[2]", {3, 4, 2}, 12,
        {{1, 2, 3}, {10, 1, 0, 5}, {0.5F, 100}},
        {10.5F, 1.5F, 20.5F, 2.5F, 30.5F, 3.5F, 100, 105, 100, 110, 100, 115}},
};

static void check_launch(Device *device, const Launched *row, uint64_t shift) {
    const DeviceClass *class_ = device->class_;
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    DeviceStream *stream;
    uint64_t memory, inputs[OPERANDS_MAX] = {0}, workspace, workspace_bytes;
    float to[COUNT_MAX];
    infer_fixture_init(&fixture, row->operator_name, row->attributes, row->inputs, 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(class_->plan(device, &fixture.request, &plan));
    assert_string_equal(plan->kernel_name, TAKEN);
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->alloc(device, stream, (OPERANDS_MAX + 1) * OPERAND_BYTES, &memory));
    /* no more aligned than a pool's block */
    workspace_bytes = plan->workspace_bytes + DEVICE_ALIGNMENT;
    assert_ok(class_->alloc(device, stream, workspace_bytes, &workspace));
    for (uint64_t i = 0; i < OPERANDS_MAX; i++) {
        if (!row->counts[i]) continue;
        inputs[i] = memory + i * OPERAND_BYTES + shift * (i + 1) % 16;
        assert_ok(class_->copy_from_host(
            device, stream, inputs[i], row->from[i], (uint64_t)row->counts[i] * sizeof(float)));
    }
    const uint64_t output = memory + OPERANDS_MAX * OPERAND_BYTES + shift;
    Launch launch = {.inputs = inputs,
        .outputs = &output,
        .stream = stream,
        .workspace = workspace + (shift ? DEVICE_ALIGNMENT : 0)};
    assert_ok(plan->launch(plan, &launch, &plan->outputs[0].shape));
    assert_ok(
        class_->copy_to_host(device, stream, to, output, (uint64_t)row->to_count * sizeof(float)));
    for (int i = 0; i < row->to_count; i++)
        if (to[i] != row->to[i])
            fail_msg("%s %s: element %d is %g", row->operator_name, row->inputs, i, (double)to[i]);
    class_->free(device, stream, workspace, workspace_bytes);
    class_->free(device, stream, memory, (OPERANDS_MAX + 1) * OPERAND_BYTES);
    class_->stream_destroy(device, stream);
    infer_fixture_deinit(&fixture);
}

/* Operands at every address that an element may have, and each epilogue on either side of the
 * library: what it fuses, what is done behind it. */
static void test_cuda_cudnn_conv_computes_at_any_address(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "100");
    OWN(Device, device) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    for (size_t i = 0; i < sizeof launches / sizeof launches[0]; i++)
        for (uint64_t shift = 0; shift < 16; shift += 4) check_launch(device, &launches[i], shift);
    assert_int_equal(atomic_load(&cuda_device(device)->used_bytes), 0);
}

/* 1 + 2^-12 has more digits than TF32. */
static const Launched fine = {"Conv", NULL, "float32[1,1,4] float32[1,1,2]", {4, 2}, 3,
    {{0x1.001p0F, 0, 1, 0}, {1, 0}}, {0x1.001p0F, 0, 1}};
static const Launched coarse = {"Conv", NULL, "float32[1,1,4] float32[1,1,2]", {4, 2}, 3,
    {{0x1.001p0F, 0, 1, 0}, {1, 0}}, {1, 0, 1}};

static void test_cuda_cudnn_conv_rounds_only_where_it_was_asked_to(void **state) {
    (void)state;
    OWN(Device, exact) = cuda_device_fixture_get("");
    OWN(Device, rounding) = cuda_device_fixture_get("tf32=on");
    check_launch(exact, &fine, 0);
    check_launch(rounding, &coarse, 0);
}

int test_cuda_cudnn_conv(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_cudnn_conv_takes_what_the_library_can),
        cmocka_unit_test(test_cuda_cudnn_conv_computes_at_any_address),
        cmocka_unit_test(test_cuda_cudnn_conv_rounds_only_where_it_was_asked_to),
    };
    return cmocka_run_group_tests_name("cuda_cudnn_conv", tests, NULL, NULL);
}
