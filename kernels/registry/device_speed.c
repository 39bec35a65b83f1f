#include "kernels/registry/device_speed.h"

#include <math.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "kernels/device/float_environment.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/operator/plan.h"

/* A square of float32, which is read twice and written once. */
enum { SIDE_MIN = 64, SIDE_MAX = 2048, REPEATS = 3, OPERANDS = 3 };
static const uint64_t ENOUGH_NS = 1000000; /* a longer measurement is precise enough */
/* A device of 1 GFLOP/s and 1 GB/s. */
static const double UNIT = 64;

typedef struct Probe {
    Device *device;
    DeviceStream *stream;
    uint64_t address, operand_bytes;
    int64_t side;
} Probe;

static Error *plan_operator(const Probe *probe, const char *name, Plan **out) {
    TensorSpec inputs[2];
    const void *const values[2] = {NULL, NULL};
    const char *none = "{}";
    OWN(Attributes, attributes) = NULL;
    void *memory;
    TRY(attributes_parse(&none, &attributes));
    for (int i = 0; i < 2; i++)
        inputs[i] = (TensorSpec){.present = true,
            .dtype = DTYPE_FLOAT32,
            .shape = {.rank = 2, .dims = {probe->side, probe->side}}};
    TRY(memory_alloc(1, sizeof(PlanRequest), &memory));
    PlanRequest *request = memory;
    request->operator_info = operator_find(name);
    request->attributes = attributes;
    request->input_count = 2;
    request->output_count = 1;
    request->inputs = inputs;
    request->values = values;
    Error *error = operator_infer(request);
    if (!error) error = probe->device->class_->plan(probe->device, request, out);
    memory_free(request);
    return error;
}

static Error *launch_and_wait(const Probe *probe, const Plan *plan, uint64_t workspace) {
    const uint64_t inputs[2] = {probe->address, probe->address + probe->operand_bytes};
    const uint64_t output = probe->address + 2 * probe->operand_bytes;
    const Launch launch = {.inputs = inputs,
        .outputs = &output,
        .stream = probe->stream,
        .workspace = workspace,
        .threads = 1};
    FloatEnvironment environment;
    float_environment_enter(&environment);
    Error *error = plan->launch(plan, &launch, &plan->outputs[0].shape);
    float_environment_leave(&environment);
    TRY(error);
    return device_stream_synchronize(probe->device, probe->stream);
}

/* The shortest of some. */
static Error *time_plan(const Probe *probe, const Plan *plan, uint64_t *out_ns) {
    const DeviceClass *class_ = probe->device->class_;
    uint64_t workspace = 0, size = plan->workspace_bytes;
    if (size) TRY(class_->alloc(probe->device, probe->stream, size, &workspace));
    Error *error = NULL;
    *out_ns = UINT64_MAX;
    for (int i = 0; !error && i < REPEATS; i++) {
        uint64_t start_ns = clock_now_ns(clock_real());
        error = launch_and_wait(probe, plan, workspace);
        uint64_t ns = clock_now_ns(clock_real()) - start_ns;
        if (ns < *out_ns) *out_ns = ns ? ns : 1;
    }
    class_->free(probe->device, probe->stream, workspace, size);
    return error;
}

static Error *time_operator(const Probe *probe, const char *name, uint64_t *out_ns) {
    OWN(Plan, plan) = NULL;
    TRY(plan_operator(probe, name, &plan));
    return time_plan(probe, plan, out_ns);
}

/* Measures at one size. */
static Error *measure(Probe *probe, double *out_speed, bool *out_enough) {
    const DeviceClass *class_ = probe->device->class_;
    uint64_t product_ns, sum_ns, count = (uint64_t)(probe->side * probe->side);
    probe->operand_bytes = count * sizeof(float);
    TRY(class_->alloc(
        probe->device, probe->stream, OPERANDS * probe->operand_bytes, &probe->address));
    Error *error = time_operator(probe, "MatMul", &product_ns);
    if (!error) error = time_operator(probe, "Add", &sum_ns);
    class_->free(probe->device, probe->stream, probe->address, OPERANDS * probe->operand_bytes);
    TRY(error);
    double flops = 2.0 * (double)count * (double)probe->side;
    double bytes = (double)(OPERANDS * probe->operand_bytes);
    *out_speed = UNIT * sqrt(flops / (double)product_ns * (bytes / (double)sum_ns));
    *out_enough = product_ns >= ENOUGH_NS;
    return NULL;
}

static uint64_t round_speed(double speed) {
    uint64_t rounded = 1;
    while (rounded < DEVICE_SPEED_MAX && (double)rounded * M_SQRT2 < speed) rounded *= 2;
    return rounded;
}

Error *device_speed_measure(Device *device, uint64_t *out_speed) {
    Probe probe = {.device = device};
    double speed = 1;
    bool enough = false;
    TRY(device_stream_create(device, &probe.stream));
    Error *error = NULL;
    for (probe.side = SIDE_MIN; !error && !enough && probe.side <= SIDE_MAX; probe.side *= 2)
        error = measure(&probe, &speed, &enough);
    device_stream_destroy(device, probe.stream);
    if (error_code(error) == ERROR_EXHAUSTED) {
        error_free(error); /* the size before has to do */
        error = NULL;
    }
    *out_speed = round_speed(speed);
    return error;
}
