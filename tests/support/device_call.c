#include "tests/support/device_call.h"

#include "base/allocator.h"
#include "base/digest.h"
#include "kernels/dtype_scalar.h"
#include "kernels/expansion_plan.h"
#include "kernels/float_environment.h"

/* Everything one call holds. */
typedef struct Run {
    const DeviceCall *call;
    const OperatorInfo *info;
    Attributes *attributes;
    PlanRequest request;
    TensorSpec inputs[DEVICE_CALL_INPUTS_MAX];
    const void *values[DEVICE_CALL_INPUTS_MAX];
    Plan *plan;
    uint64_t addresses[DEVICE_CALL_INPUTS_MAX + DEVICE_CALL_OUTPUTS_MAX + 1]; /* allocations */
    uint64_t sizes[DEVICE_CALL_INPUTS_MAX + DEVICE_CALL_OUTPUTS_MAX + 1];
    uint32_t allocation_count;
    uint64_t input_addresses[DEVICE_CALL_INPUTS_MAX];
    uint64_t output_addresses[DEVICE_CALL_OUTPUTS_MAX];
    Shape output_shapes[DEVICE_CALL_OUTPUTS_MAX];
} Run;

static uint32_t output_count(const DeviceCall *call) {
    return call->output_count ? call->output_count : 1;
}

static void run_deinit(Run *run) {
    const Device *device = run->call->device;
    plan_release(run->plan);
    attributes_release(run->attributes);
    for (uint32_t i = 0; i < run->allocation_count; i++)
        device->class_->free(run->call->device, NULL, run->addresses[i], run->sizes[i]);
}

static Error *run_plan(Run *run) {
    const DeviceCall *call = run->call;
    run->info = operator_find(call->operator_name);
    if (!run->info) FAIL(INVALID, "no operator %s", call->operator_name);
    const char *text = call->attributes ? call->attributes : "{}";
    TRY(attributes_parse(&text, &run->attributes));
    TRY(attributes_check(run->attributes, run->info));
    run->request.operator_info = run->info;
    run->request.attributes = run->attributes;
    run->request.input_count = call->input_count;
    run->request.output_count = output_count(call);
    run->request.inputs = run->inputs;
    run->request.values = run->values;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) continue;
        run->inputs[i] = tensor_spec(call->inputs[i]);
        if (run->info->value_inputs >> i & 1) run->values[i] = tensor_data(call->inputs[i]);
        PackRequest pack = {run->info, run->attributes, i, run->inputs[i]};
        uint64_t bytes;
        if (call->pack && i == 1 && call->device->class_->pack_rule)
            TRY(call->device->class_->pack_rule(
                call->device, &pack, &run->inputs[i].layout, &bytes));
    }
    TRY(operator_infer(&run->request));
    if (call->expand) return expansion_plan_create(call->device, &run->request, &run->plan);
    return call->device->class_->plan(call->device, &run->request, &run->plan);
}

static Error *run_alloc(Run *run, uint64_t size, uint64_t *out_address) {
    *out_address = 0;
    if (size == 0) return NULL;
    Device *device = run->call->device;
    if (run->call->bytes_max && size > run->call->bytes_max)
        FAIL(EXHAUSTED, "more than the test allows");
    TRY(device->class_->alloc(device, NULL, size, out_address));
    run->addresses[run->allocation_count] = *out_address;
    run->sizes[run->allocation_count++] = size;
    return NULL;
}

static Error *place(Run *run, DType dtype, const Shape *shape, uint64_t *out_address) {
    uint64_t bytes, shift = (uint64_t)run->call->offset_elements * (dtype_bits(dtype) / 8);
    TRY(shape_bytes(shape, dtype, &bytes));
    TRY(run_alloc(run, bytes ? bytes + shift : 0, out_address));
    if (bytes) *out_address += shift;
    return NULL;
}

static Error *place_inputs(Run *run) {
    const DeviceCall *call = run->call;
    Device *device = call->device;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const Tensor *input = call->inputs[i];
        if (!input) continue;
        uint64_t *address = &run->input_addresses[i];
        PackRequest pack = {run->info, run->attributes, i, tensor_spec(input)};
        if (run->inputs[i].layout != 0) {
            uint32_t layout;
            uint64_t bytes;
            TRY(device->class_->pack_rule(device, &pack, &layout, &bytes));
            TRY(run_alloc(run, bytes, address));
            TRY(device->class_->pack(device, NULL, &pack, layout, tensor_data(input), *address));
            continue;
        }
        TRY(place(run, input->dtype, &input->shape, address));
        if (*address)
            TRY(device->class_->copy_from_host(
                device, NULL, *address, tensor_data(input), tensor_bytes(input)));
    }
    return NULL;
}

static Error *place_outputs(Run *run, const Launch *launch) {
    const DeviceCall *call = run->call;
    for (uint32_t i = 0; i < output_count(call); i++)
        run->output_shapes[i] = run->plan->outputs[i].shape;
    if (run->plan->measure) TRY(run->plan->measure(run->plan, launch, run->output_shapes));
    for (uint32_t i = 0; i < output_count(call); i++) {
        bool over = i == 0 && call->in_place && run->plan->in_place >> (call->in_place - 1) & 1;
        if (over)
            run->output_addresses[0] = run->input_addresses[call->in_place - 1];
        else
            TRY(place(run, run->plan->outputs[i].dtype, &run->output_shapes[i],
                &run->output_addresses[i]));
    }
    return NULL;
}

static Error *fetch(Run *run, uint32_t index, uint64_t address, Tensor **out) {
    OWN(Tensor, tensor) = NULL;
    Device *device = run->call->device;
    TRY(tensor_create_on_host(
        device_host(), run->plan->outputs[index].dtype, &run->output_shapes[index], &tensor));
    if (tensor_bytes(tensor))
        TRY(device->class_->copy_to_host(
            device, NULL, tensor_data(tensor), address, tensor_bytes(tensor)));
    *out = TAKE(tensor);
    return NULL;
}

static Error *run_launch(Run *run, Tensor **out_outputs) {
    const DeviceCall *call = run->call;
    TRY(place_inputs(run));
    Launch launch = {.inputs = run->input_addresses,
        .outputs = run->output_addresses,
        .threads = call->threads ? call->threads : 1,
        .philox_key = call->philox_key,
        .philox_counter = call->philox_counter};
    TRY(run_alloc(run, run->plan->workspace_bytes, &launch.workspace));
    if (run->plan->view) {
        run->output_shapes[0] = run->plan->outputs[0].shape;
        return fetch(run, 0, run->input_addresses[0], &out_outputs[0]);
    }
    TRY(place_outputs(run, &launch));
    bool abandoned = false;
    FloatEnvironment environment;
    float_environment_enter(&environment);
    Error *error = run->plan->launch(run->plan, &launch, run->output_shapes, &abandoned);
    float_environment_leave(&environment);
    TRY(error);
    if (abandoned) FAIL(INTERNAL, "abandoned without being asked");
    for (uint32_t i = 0; i < output_count(call); i++) {
        error = fetch(run, i, run->output_addresses[i], &out_outputs[i]);
        if (!error) continue;
        while (i-- > 0) tensor_release(out_outputs[i]);
        return error;
    }
    return NULL;
}

Error *device_call_run(const DeviceCall *call, Tensor **out_outputs, const char **out_kernel_name) {
    Run run = {.call = call};
    Error *error = run_plan(&run);
    if (!error && out_kernel_name) *out_kernel_name = run.plan->kernel_name;
    if (!error) error = run_launch(&run, out_outputs);
    run_deinit(&run);
    return error;
}

Error *device_call_plan(const DeviceCall *call, Plan **out) {
    Run run = {.call = call};
    Error *error = run_plan(&run);
    if (!error) *out = TAKE(run.plan);
    run_deinit(&run);
    return error;
}

Tensor *device_tensor(DType dtype, const double *values, uint32_t rank, ...) {
    Shape shape = {.rank = rank};
    va_list arguments;
    va_start(arguments, rank);
    for (uint32_t i = 0; i < rank; i++) shape.dims[i] = va_arg(arguments, int);
    va_end(arguments);
    Tensor *tensor = NULL;
    assert_ok(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    char *data = tensor_data(tensor);
    for (int64_t i = 0; i < shape_count_unchecked(&shape); i++)
        assert_true(dtype_scalar_write(dtype, values[i], data + i * (dtype_bits(dtype) / 8)));
    return tensor;
}

Tensor *device_tensor_random(
    DType dtype, const Shape *shape, double low, double high, uint64_t seed) {
    Tensor *tensor = NULL;
    assert_ok(tensor_create_on_host(device_host(), dtype, shape, &tensor));
    char *data = tensor_data(tensor);
    for (int64_t i = 0; i < shape_count_unchecked(shape); i++) {
        double unit = (double)(test_random(&seed) >> 11) * 0x1p-53;
        double value = dtype == DTYPE_BOOL ? unit < 0.5 : low + unit * (high - low);
        assert_true(dtype_scalar_write(dtype, value, data + i * (dtype_bits(dtype) / 8)));
    }
    return tensor;
}

double device_tensor_get(const Tensor *tensor, int64_t index) {
    double value = 0;
    const char *data = tensor_data(tensor);
    assert_true(
        dtype_scalar_read(tensor->dtype, data + index * (dtype_bits(tensor->dtype) / 8), &value));
    return value;
}

uint64_t device_tensor_hash(const Tensor *tensor) {
    uint64_t parts[3 + SHAPE_RANK_MAX] = {(uint64_t)tensor->dtype, tensor->shape.rank,
        digest_xxh3(tensor_data(tensor), tensor_bytes(tensor))};
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        parts[3 + i] = (uint64_t)tensor->shape.dims[i];
    return digest_xxh3(parts, sizeof parts);
}
