#include "tests/kernels/cuda_turn_fixture.h"

#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/infer_fixture.h"

enum { COUNT = 100, SIZE = COUNT * sizeof(float) };

static Plan *make_plan(Device *device, const char *operator_name, const char *inputs) {
    InferFixture fixture;
    Plan *plan = NULL;
    infer_fixture_init(&fixture, operator_name, NULL, inputs, 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(device->class_->plan(device, &fixture.request, &plan));
    assert_true(strncmp(plan->kernel_name, "cuda.", 5) == 0);
    infer_fixture_deinit(&fixture);
    return plan;
}

void cuda_turns_init(CudaTurns *turns, Device *device) {
    *turns = (CudaTurns){.device = device};
    turns->doubling = make_plan(device, "Add", "float32[100] float32[100]");
    turns->negation = make_plan(device, "Neg", "float32[100]");
    assert_ok(device->class_->stream_create(device, &turns->stream));
    for (int i = 0; i < CUDA_TURN_BLOCKS; i++)
        assert_ok(device->class_->alloc(device, turns->stream, SIZE, &turns->blocks[i]));
    assert_ok(device->class_->stream_synchronize(device, turns->stream));
}

void cuda_turns_deinit(CudaTurns *turns) {
    const DeviceClass *class_ = turns->device->class_;
    for (int i = 0; i < CUDA_TURN_BLOCKS; i++)
        class_->free(turns->device, turns->stream, turns->blocks[i], SIZE);
    class_->stream_destroy(turns->device, turns->stream);
    plan_release(turns->doubling);
    plan_release(turns->negation);
}

Error *cuda_turns_start(CudaTurns *turns) {
    float numbers[COUNT];
    turns->expected = (float)++turns->count;
    turns->at = turns->count % CUDA_TURN_BLOCKS;
    for (int i = 0; i < COUNT; i++) numbers[i] = turns->expected;
    return turns->device->class_->copy_from_host(
        turns->device, turns->stream, turns->blocks[turns->at], numbers, SIZE);
}

static Error *launch_plan(CudaTurns *turns, const Plan *plan) {
    const uint64_t block = turns->blocks[turns->at], inputs[] = {block, block};
    Launch launch = {.inputs = inputs, .outputs = &block, .stream = turns->stream, .threads = 1};
    return plan->launch(plan, &launch, &plan->outputs[0].shape);
}

static Error *launch_copy(CudaTurns *turns) {
    const uint64_t from = turns->blocks[turns->at];
    turns->at = (turns->at + 1) % CUDA_TURN_BLOCKS;
    return turns->device->class_->copy(
        turns->device, turns->stream, turns->blocks[turns->at], from, SIZE);
}

Error *cuda_turns_launch(CudaTurns *turns, const char *letters) {
    for (; *letters; letters++) {
        if (*letters == 'c') {
            TRY(launch_copy(turns));
            continue;
        }
        TRY(launch_plan(turns, *letters == 'd' ? turns->doubling : turns->negation));
        turns->expected *= *letters == 'd' ? 2 : -1;
    }
    return NULL;
}

Error *cuda_turns_read(CudaTurns *turns) {
    float numbers[COUNT];
    TRY(turns->device->class_->copy_to_host(
        turns->device, turns->stream, numbers, turns->blocks[turns->at], SIZE));
    for (int i = 0; i < COUNT; i++) assert_true(numbers[i] == turns->expected);
    return NULL;
}

Error *cuda_turns_run(CudaTurns *turns, const char *letters) {
    TRY(cuda_turns_start(turns));
    TRY(cuda_turns_launch(turns, letters));
    return cuda_turns_read(turns);
}
