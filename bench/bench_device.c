/* bench_device: what the calls of a device cost, as in `bench_device sim:0,worker=process`. Each
 * figure is the best of many rounds, so that whatever else runs disturbs only some. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "kernels/registry/device_registry.h"
#include "kernels/operator/operator.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/operator/plan.h"
#include "kernels/device/device.h"

enum { ROUNDS = 200, POSTS = 32, CALLS = 100, COPY_BYTES = 64 << 20, COPY_ROUNDS = 5 };

typedef struct Bench {
    Device *device;
    DeviceStream *stream;
    Plan *plan;
    uint64_t address;
} Bench;

static Error *make_plan(Device *device, Plan **out) {
    static const TensorSpec input = {true, DTYPE_FLOAT32, 0, {1, {4}}};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_check(attributes, operator_get(OPERATOR_RELU)));
    PlanRequest request = {.operator_info = operator_get(OPERATOR_RELU),
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = &input};
    TRY(operator_infer(&request));
    return device->class_->plan(device, &request, out);
}

static Error *post_launches(const Bench *bench) {
    const Plan *plan = bench->plan;
    const Launch launch = {.inputs = &bench->address,
        .outputs = &bench->address,
        .stream = bench->stream,
        .threads = 1};
    for (int i = 0; i < POSTS; i++) TRY(plan->launch(plan, &launch, &plan->outputs[0].shape));
    return NULL;
}

static Error *synchronize(const Bench *bench) {
    for (int i = 0; i < CALLS; i++)
        TRY(bench->device->class_->stream_synchronize(bench->device, bench->stream));
    return NULL;
}

static Error *ask_memory(const Bench *bench) {
    DeviceMemory memory;
    for (int i = 0; i < CALLS; i++) TRY(bench->device->class_->memory(bench->device, &memory));
    return NULL;
}

/* Best nanoseconds for each of `count` things that the body does; it begins with an idle stream. */
static Error *measure(
    const Bench *bench, const char *what, Error *(*body)(const Bench *bench), uint32_t count) {
    double best = INFINITY;
    for (int i = 0; i < ROUNDS; i++) {
        TRY(device_stream_synchronize(bench->device, bench->stream));
        uint64_t start_ns = clock_now_ns(clock_real());
        TRY(body(bench));
        best = fmin(best, (double)(clock_now_ns(clock_real()) - start_ns) / count);
    }
    printf("%-46s %10.0f ns\n", what, best);
    return NULL;
}

static Error *measure_copies(const Bench *bench) {
    OWN(Device, host) = NULL;
    uint64_t address, there;
    double best[2] = {0};
    Device *device = bench->device;
    TRY(device_open("cpu", &host));
    TRY(host->class_->alloc(host, NULL, COPY_BYTES, &there));
    TRY(device->class_->alloc(device, bench->stream, COPY_BYTES, &address));
    for (int i = 0; i < COPY_ROUNDS * 2; i++) {
        DevicePlace on_host = {host, NULL, there}, on_device = {device, bench->stream, address};
        uint64_t start_ns = clock_now_ns(clock_real());
        TRY(i % 2 ? device_transfer(on_host, on_device, COPY_BYTES)
                  : device_transfer(on_device, on_host, COPY_BYTES));
        TRY(device->class_->stream_synchronize(device, bench->stream));
        best[i % 2] =
            fmax(best[i % 2], COPY_BYTES / (double)(clock_now_ns(clock_real()) - start_ns));
    }
    device->class_->free(device, bench->stream, address, COPY_BYTES);
    host->class_->free(host, NULL, there, COPY_BYTES);
    printf("%-46s %10.2f GB/s\n", "copy of 64 MiB from the host", best[0]);
    printf("%-46s %10.2f GB/s\n", "copy of 64 MiB to the host", best[1]);
    return NULL;
}

static Error *run_on(Bench *bench) {
    Device *device = bench->device;
    TRY(device_stream_create(device, &bench->stream));
    if (!bench->stream) FAIL(UNSUPPORTED, "%s has no streams", device->name);
    TRY(make_plan(device, &bench->plan));
    TRY(device->class_->alloc(device, bench->stream, DEVICE_ALIGNMENT, &bench->address));
    TRY(measure(bench, "launch that is posted", post_launches, POSTS));
    TRY(measure(bench, "wait for an idle stream", synchronize, CALLS));
    TRY(measure(bench, "call without a stream", ask_memory, CALLS));
    return measure_copies(bench);
}

int main(int count, char **arguments) {
    Bench bench = {0};
    Error *error = device_open(count > 1 ? arguments[1] : "sim:0,worker=process", &bench.device);
    if (!error) {
        error = run_on(&bench);
        plan_release(bench.plan);
        if (bench.address)
            bench.device->class_->free(bench.device, bench.stream, bench.address, DEVICE_ALIGNMENT);
        device_stream_destroy(bench.device, bench.stream);
        device_close(bench.device);
    }
    if (error) fprintf(stderr, "bench_device: %s\n", error_message(error));
    bool failed = error;
    error_free(error);
    return failed;
}
