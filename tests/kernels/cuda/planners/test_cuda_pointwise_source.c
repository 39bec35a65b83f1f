#include "kernels/cuda/planners/cuda_pointwise_source.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/driver/cuda_nvrtc.h"
#include "kernels/cuda/runtime/cuda_launch_internal.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"
#include "tests/kernels/fixtures/group_fixture.h"

enum { BUFFER = GROUP_ELEMENTS_MAX * sizeof(uint64_t), TEXT = 128 };

/* What the text is made of, once in full. */
static void test_cuda_pointwise_source_names_steps_and_layouts(void **state) {
    (void)state;
    static const GroupCase group = {"Clip", "{}", "float16[6,52] float16[] float16[]"};
    CudaPointwiseParams params;
    TextBuilder OWN_TEXT(text) = {0};
    group_fixture_params(&group, &params);
    cuda_pointwise_source_write("clipped", &params, &text);
    assert_string_equal(text_builder_get(&text),
        "KERNEL(clipped, CudaPointwiseOperands) {\n"
        "    THREADS(t) {\n"
        "        EACH_UNIT(unit, t, (p.count + LANES - 1) / LANES) {\n"
        "            const uint64_t at = unit * LANES;\n"
        "            const StepLanes i0 = group_contiguous(&p, 0, 2, at);\n"
        "            const StepLanes i1 = group_repeated(&p, 1, 2);\n"
        "            const StepLanes i2 = group_repeated(&p, 2, 2);\n"
        "            StepLanes s0;\n"
        "            s0 = group_f32_CLIP(10, 10, p.parameters[0], p.parameters[1], i0, i1, i2);\n"
        "            store_lanes(&p, 2, at, &s0);\n"
        "        }\n"
        "    }\n"
        "}\n");
}

/* Sizes, constants and attributes are parameters: one kernel serves them all. */
static void test_cuda_pointwise_source_is_the_same_for_all_sizes_and_numbers(void **state) {
    (void)state;
    static const struct {
        GroupCase a, b;
        bool same;
    } rows[] = {
        {{"Add", "{}", "float32[6,52] float32[52]"}, {"Add", "{}", "float32[9,7] float32[7]"},
            true},
        {{"Elu", "{alpha=0.5}", "float32[9]"}, {"Elu", "{alpha=0.25}", "float32[4,4,4]"}, true},
        {{"Add", "{}", "float32[6,52] float32[52]"}, {"Add", "{}", "float32[6,52] float32[1]"},
            false},
        {{"Abs", "{}", "float32[8]"}, {"Abs", "{}", "float64[8]"}, false},
        {{"Exp", "{}", "float32[8]"}, {"Log", "{}", "float32[8]"}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TextBuilder OWN_TEXT(a) = {0}, OWN_TEXT(b) = {0};
        CudaPointwiseParams params;
        group_fixture_params(&rows[i].a, &params);
        cuda_pointwise_source_write("k", &params, &a);
        group_fixture_params(&rows[i].b, &params);
        cuda_pointwise_source_write("k", &params, &b);
        assert_int_equal(strcmp(text_builder_get(&a), text_builder_get(&b)) == 0, rows[i].same);
    }
}

typedef struct Run {
    CudaDevice *device;
    uint64_t inputs[GROUP_INPUTS], out[2]; /* out: interpreted, compiled */
} Run;

/* One case by both kernels, over the same random bytes. */
static void check_case(const Run *run, const GroupCase *group, CUfunction function) {
    Device *base = &run->device->base;
    CudaPointwiseParams params;
    uint8_t results[2][BUFFER] = {{0}};
    group_fixture_params(group, &params);
    const CudaGrid grid = cuda_grid(cuda_blocks(cuda_pointwise_units(&params.operands)));
    for (uint32_t i = 0; i < params.operands.input_count; i++)
        params.operands.inputs[i].address = run->inputs[i];
    params.operands.out = run->out[0];
    assert_ok(cuda_launch(base, NULL, CUDA_KERNEL_POINTWISE, &grid, &params, sizeof params));
    params.operands.out = run->out[1];
    assert_ok(
        cuda_launch_function(run->device, NULL, function, "compiled", &grid, &params.operands));
    const size_t size = params.operands.count * params.operands.out_size;
    for (int i = 0; i < 2; i++)
        assert_ok(base->class_->copy_to_host(base, NULL, results[i], run->out[i], size));
    if (memcmp(results[0], results[1], size) != 0)
        fail_msg("%s %s %s: other bits", group->operator_name, group->attributes, group->inputs);
}

static void open_run(Device *base, Run *out) {
    *out = (Run){.device = cuda_device(base)};
    uint8_t *bytes = cuda_device_fixture_bytes(BUFFER, 3);
    /* read as bool, too: 0 and 1 are among them, and as many of other bytes as of these */
    for (size_t i = 0; i < BUFFER; i += 3) bytes[i] &= 1;
    for (int i = 0; i < GROUP_INPUTS; i++) {
        assert_ok(base->class_->alloc(base, NULL, BUFFER, &out->inputs[i]));
        assert_ok(base->class_->copy_from_host(
            base, NULL, out->inputs[i], bytes + 8 * i, BUFFER - 8 * (size_t)i));
    }
    for (int i = 0; i < 2; i++) assert_ok(base->class_->alloc(base, NULL, BUFFER, &out->out[i]));
    free(bytes);
}

/* Every operator with every element type: all kernels in one source, which is compiled once. */
static void test_cuda_pointwise_source_has_the_bits_of_the_interpreter(void **state) {
    (void)state;
    TEST_OF_RESULTS();
    static GroupCase cases[GROUP_CASES_MAX];
    const uint32_t count = group_fixture_cases(cases);
    assert_in_range(count, 700, GROUP_CASES_MAX);
    TextBuilder OWN_TEXT(source) = {0};
    OWN_IMAGE(image) = {0};
    CudaNvrtc nvrtc;
    CUmodule module;
    Run run;
    OWN(Device, base) = cuda_device_fixture_get("");
    open_run(base, &run);
    group_fixture_source(cases, count, 0, 1, &source);
    assert_ok(cuda_nvrtc_open(90, 13000, &nvrtc));
    assert_ok(cuda_nvrtc_compile(&nvrtc, "all", text_builder_get(&source), &image, NULL));
    CUDA_SCOPE(scope);
    assert_ok(cuda_scope_enter(run.device, &scope));
    const CudaSymbols *api = run.device->api;
    assert_int_equal(api->cuModuleLoadData(&module, image.bytes), CUDA_SUCCESS);
    for (uint32_t i = 0; i < count; i++) {
        char name[TEXT];
        CUfunction function;
        (void)snprintf(name, sizeof name, "group_%u", i);
        assert_int_equal(api->cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
        check_case(&run, &cases[i], function);
    }
    assert_int_equal(api->cuModuleUnload(module), CUDA_SUCCESS);
    for (int i = 0; i < GROUP_INPUTS; i++) base->class_->free(base, NULL, run.inputs[i], BUFFER);
    for (int i = 0; i < 2; i++) base->class_->free(base, NULL, run.out[i], BUFFER);
}

int test_cuda_pointwise_source(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_pointwise_source_names_steps_and_layouts),
        cmocka_unit_test(test_cuda_pointwise_source_is_the_same_for_all_sizes_and_numbers),
        cmocka_unit_test(test_cuda_pointwise_source_has_the_bits_of_the_interpreter),
    };
    return cmocka_run_group_tests_name("cuda_pointwise_source", tests, NULL, NULL);
}
