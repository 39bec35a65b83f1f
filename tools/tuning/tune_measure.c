#include "tools/tuning/tune_measure.h"

#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "kernels/device/float_environment.h"
#include "kernels/shape_rules/operator_infer.h"

/* About the weights of a network: a small network's weights stay in the last level cache, a large
 * one's do not. */
static const uint64_t WEIGHTS_BYTES = UINT64_C(48) << 20;

/* Random numbers of -0.5 … 0.5. Zeros would be faster than real weights, and denormal numbers
 * slower. */
static void fill(float *to, uint64_t count) {
    uint64_t random = 88172645463325252u;
    for (uint64_t i = 0; i < count; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        to[i] = (float)((double)(random >> 11) * 0x1p-53 - 0.5);
    }
}

static Error *alloc_input(TuneWay *way, uint32_t index, uint64_t bytes) {
    TRY(way->device->class_->alloc(way->device, NULL, bytes, &way->inputs[index]));
    way->input_bytes[index] = bytes;
    return NULL;
}

/* Packs the constant if the device has a layout for it, otherwise copies the plain values. */
static Error *make_constant(TuneWay *way, const PackRequest *request, const void *plain) {
    const DeviceClass *class_ = way->device->class_;
    uint64_t bytes = 0, plain_bytes;
    TRY(shape_bytes(&request->constant.shape, request->constant.dtype, &plain_bytes));
    TRY(class_->pack_rule(way->device, request, &way->layout, &bytes));
    TRY(alloc_input(way, 1, way->layout ? bytes : plain_bytes));
    way->copies[way->copy_count++] = way->inputs[1];
    while (way->copy_count < TUNE_COPIES_MAX &&
           (way->copy_count + 1) * way->input_bytes[1] <= WEIGHTS_BYTES)
        TRY(class_->alloc(way->device, NULL, way->input_bytes[1], &way->copies[way->copy_count++]));
    if (way->layout)
        TRY(class_->pack(way->device, NULL, request, way->layout, plain, way->inputs[1]));
    else
        TRY(class_->copy_from_host(way->device, NULL, way->inputs[1], plain, plain_bytes));
    for (uint32_t i = 1; i < way->copy_count; i++)
        TRY(class_->copy(way->device, NULL, way->copies[i], way->inputs[1], way->input_bytes[1]));
    return NULL;
}

static Error *make_input(
    TuneWay *way, const TuneCall *call, const Attributes *attributes, uint32_t index) {
    uint64_t bytes;
    void *plain;
    TRY(shape_bytes(&call->inputs[index], DTYPE_FLOAT32, &bytes));
    TRY(memory_map(bytes, &plain));
    fill(plain, bytes / sizeof(float));
    const PackRequest request = {.operator_info = operator_get(call->operator_id),
        .attributes = attributes,
        .input_index = index,
        .constant = {.present = true, .dtype = DTYPE_FLOAT32, .shape = call->inputs[index]}};
    Error *error = index == 1 ? make_constant(way, &request, plain) : NULL;
    if (!error && index != 1) {
        error = alloc_input(way, index, bytes);
        if (!error)
            error = way->device->class_->copy_from_host(
                way->device, NULL, way->inputs[index], plain, bytes);
    }
    memory_unmap(plain, bytes);
    return error;
}

static Error *make_plan(TuneWay *way, const TuneCall *call, const Attributes *attributes) {
    TensorSpec inputs[TUNE_INPUTS_MAX];
    static const void *const values[TUNE_INPUTS_MAX];
    for (uint32_t i = 0; i < call->input_count; i++)
        inputs[i] = (TensorSpec){.present = true,
            .dtype = DTYPE_FLOAT32,
            .layout = i == 1 ? way->layout : 0,
            .shape = call->inputs[i]};
    PlanRequest request = {.operator_info = operator_get(call->operator_id),
        .attributes = attributes,
        .input_count = call->input_count,
        .output_count = 1,
        .inputs = inputs,
        .values = values};
    TRY(operator_infer(&request));
    return way->device->class_->plan(way->device, &request, &way->plan);
}

Error *tune_way_open(Device *device, const TuneCall *call, TuneWay *out) {
    const char *text = call->attributes;
    OWN(Attributes, attributes) = NULL;
    *out = (TuneWay){.device = device};
    TRY(attributes_parse(&text, &attributes));
    TRY(attributes_check(attributes, operator_get(call->operator_id)));
    for (uint32_t i = 0; i < call->input_count; i++) TRY(make_input(out, call, attributes, i));
    TRY(make_plan(out, call, attributes));
    TRY(shape_bytes(&out->plan->outputs[0].shape, DTYPE_FLOAT32, &out->output_bytes));
    TRY(device->class_->alloc(device, NULL, out->output_bytes, &out->output));
    if (out->plan->workspace_bytes == 0) return NULL;
    return device->class_->alloc(device, NULL, out->plan->workspace_bytes, &out->workspace);
}

void tune_way_close(TuneWay *way) {
    Device *device = way->device;
    for (uint32_t i = 1; i < way->copy_count; i++)
        if (way->copies[i]) device->class_->free(device, NULL, way->copies[i], way->input_bytes[1]);
    for (uint32_t i = 0; i < TUNE_INPUTS_MAX; i++)
        if (way->inputs[i]) device->class_->free(device, NULL, way->inputs[i], way->input_bytes[i]);
    if (way->output) device->class_->free(device, NULL, way->output, way->output_bytes);
    if (way->workspace)
        device->class_->free(device, NULL, way->workspace, way->plan->workspace_bytes);
    plan_release(way->plan);
    *way = (TuneWay){0};
}

static Error *launch(TuneWay *way, uint32_t threads) {
    uint64_t inputs[TUNE_INPUTS_MAX];
    memcpy(inputs, way->inputs, sizeof inputs);
    inputs[1] = way->copies[way->copy_next];
    way->copy_next = (way->copy_next + 1) % way->copy_count;
    const Launch launch = {
        .inputs = inputs, .outputs = &way->output, .workspace = way->workspace, .threads = threads};
    return way->plan->launch(way->plan, &launch, &way->plan->outputs[0].shape);
}

Error *tune_way_run(TuneWay *way, uint32_t threads, uint32_t launches, double *out_ns) {
    FloatEnvironment environment;
    float_environment_enter(&environment);
    const uint64_t start = clock_now_ns(clock_real());
    Error *error = NULL;
    for (uint32_t i = 0; i < launches && !error; i++) error = launch(way, threads);
    const uint64_t ns = clock_now_ns(clock_real()) - start;
    float_environment_leave(&environment);
    if (!error) *out_ns = (double)(ns ? ns : 1) / launches;
    return error;
}
