#include "tests/conformance/conformance_bench.h"

#include <string.h>

#include "base/clock.h"

/* A short launch is repeated until enough time has passed to have met a quiet moment. */
enum { REPETITIONS_MIN = 5, REPETITIONS_MAX = 1000 };
static const uint64_t TIME_NS = 5000000;

static uint64_t product(const Shape *shape, uint32_t from, uint32_t to) {
    return (uint64_t)shape_product(shape, from, to);
}

static uint64_t count(const Shape *shape) { return product(shape, 0, shape->rank); }

/* Of one element of the output: the terms of the sum that it is. 0: no sum of products. */
static uint64_t terms(const DeviceCall *call, const Attributes *attributes) {
    const char *name = call->operator_name;
    const Shape *a = &call->inputs[0]->shape;
    const Shape *b = call->input_count > 1 ? &call->inputs[1]->shape : NULL;
    if (strcmp(name, "MatMul") == 0) return (uint64_t)a->dims[a->rank - 1];
    if (strcmp(name, "Gemm") == 0 || strcmp(name, "FusedMatMul") == 0)
        return (uint64_t)a->dims[a->rank - (attributes_int(attributes, "transA") ? 2 : 1)];
    if (strcmp(name, "Conv") == 0 || strcmp(name, "FusedConv") == 0) return product(b, 1, b->rank);
    return 0;
}

static uint64_t operations(
    const DeviceCall *call, const Attributes *attributes, const Shape *output) {
    const char *name = call->operator_name;
    if (call->input_count == 0) return 0;
    const Shape *a = &call->inputs[0]->shape;
    const Shape *b = call->input_count > 1 ? &call->inputs[1]->shape : NULL;
    if (strcmp(name, "ConvTranspose") == 0) return 2 * count(a) * product(b, 1, b->rank);
    if (strcmp(name, "FusedAttention") == 0) { /* both products of [m, d], [n, d] and [n, e] */
        const Shape *value = &call->inputs[2]->shape;
        uint64_t queries = product(a, 0, a->rank - 1);
        uint64_t keys = (uint64_t)value->dims[value->rank - 2];
        return 2 * queries * keys * (uint64_t)(a->dims[a->rank - 1] + value->dims[value->rank - 1]);
    }
    if (strcmp(name, "LSTM") == 0) { /* [sequence, batch, inputs] by both weight matrices */
        const Shape *recurrent = &call->inputs[2]->shape;
        return 2 * product(a, 0, 2) * (count(b) + count(recurrent));
    }
    return 2 * count(output) * terms(call, attributes);
}

static Error *count_operations(const DeviceCall *call, const Shape *output, uint64_t *out) {
    OWN(Attributes, attributes) = NULL;
    const char *text = call->attributes;
    TRY(attributes_parse(&text, &attributes));
    TRY(attributes_check(attributes, operator_find(call->operator_name)));
    *out = operations(call, attributes, output);
    return NULL;
}

/* Two events around a launch, on devices that have them: their time is the device's alone. */
typedef struct Stopwatch {
    Device *device;
    DeviceStream *stream;
    DeviceEvent *before, *after;
} Stopwatch;

static Error *stopwatch_init(Device *device, DeviceStream *stream, Stopwatch *out) {
    *out = (Stopwatch){.device = device, .stream = stream};
    if (!stream) return NULL;
    TRY(device->class_->event_create(device, &out->before));
    return device->class_->event_create(device, &out->after);
}

static void stopwatch_deinit(Stopwatch *watch) {
    if (watch->before) watch->device->class_->event_destroy(watch->device, watch->before);
    if (watch->after) watch->device->class_->event_destroy(watch->device, watch->after);
}

static Error *launch_once(DeviceRun *run, const Stopwatch *watch, uint64_t *out_ns) {
    const DeviceClass *class_ = watch->device->class_;
    uint64_t start_ns = clock_now_ns(clock_real());
    if (!watch->stream) {
        TRY(device_run_launch(run));
        *out_ns = clock_now_ns(clock_real()) - start_ns;
        return NULL;
    }
    TRY(class_->event_record(watch->device, watch->before, watch->stream));
    TRY(device_run_launch(run));
    TRY(class_->event_record(watch->device, watch->after, watch->stream));
    TRY(device_run_wait(run));
    return class_->event_elapsed(watch->device, watch->before, watch->after, out_ns);
}

static Error *repeat(DeviceRun *run, const Stopwatch *watch, ConformanceTime *out) {
    uint64_t ns, start_ns = clock_now_ns(clock_real());
    TRY(launch_once(run, watch, &ns)); /* to warm up */
    while (out->repetitions < REPETITIONS_MIN || (clock_now_ns(clock_real()) - start_ns < TIME_NS &&
                                                     out->repetitions < REPETITIONS_MAX)) {
        TRY(launch_once(run, watch, &ns));
        if (out->repetitions == 0 || ns < out->min_ns) out->min_ns = ns;
        out->repetitions++;
    }
    return NULL;
}

static Error *measure(const DeviceCall *call, ConformanceTime *out) {
    OWN(DeviceRun, run) = NULL;
    TRY(device_run_open(call, &run));
    const Plan *plan = device_run_get_plan(run);
    out->kernel_name = plan->kernel_name;
    out->view = plan->view;
    if (plan->view) return NULL;
    out->bytes = device_run_operand_bytes(run);
    TRY(count_operations(call, &plan->outputs[0].shape, &out->operations));
    Stopwatch watch;
    Error *error = stopwatch_init(call->device, device_run_get_stream(run), &watch);
    if (!error) error = repeat(run, &watch, out);
    stopwatch_deinit(&watch);
    return error;
}

Error *conformance_bench(const ConformanceDevice *on, const ConformanceCase *row, DType dtype,
    uint32_t threads, ConformanceTime *out) {
    ConformanceRun run;
    ConformanceTime time = {0};
    conformance_prepare(on->device, row, dtype, &run);
    run.call.threads = threads;
    Error *error = measure(&run.call, &time);
    conformance_run_deinit(&run);
    TRY(error);
    *out = time;
    return NULL;
}
