#include "tests/support/device_call.h"

#include "base/allocator.h"
#include "kernels/planning/expansion_plan.h"
#include "kernels/device/float_environment.h"
#include "kernels/shape_rules/operator_infer.h"

struct DeviceRun {
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
    uint64_t output_bytes[DEVICE_CALL_OUTPUTS_MAX];
    uint64_t workspace;
    DeviceStream *stream; /* NULL where the device has none, or the call wants none */
};

static uint32_t output_count(const DeviceCall *call) {
    return call->output_count ? call->output_count : 1;
}

void device_run_close(DeviceRun *run) {
    if (!run) return;
    Device *device = run->call->device;
    for (uint32_t i = 0; i < run->allocation_count; i++)
        device->class_->free(device, run->stream, run->addresses[i], run->sizes[i]);
    device_stream_destroy(device, run->stream); /* waits for what may still read the plan */
    plan_release(run->plan);
    attributes_release(run->attributes);
    memory_free(run);
}

static Error *run_plan(DeviceRun *run) {
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
        if (operator_reads_value(run->info, i)) run->values[i] = tensor_data(call->inputs[i]);
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

static Error *run_alloc(DeviceRun *run, uint64_t size, uint64_t *out_address) {
    *out_address = 0;
    if (size == 0) return NULL;
    Device *device = run->call->device;
    if (run->call->bytes_max && size > run->call->bytes_max)
        FAIL(EXHAUSTED, "more than the test allows");
    TRY(device->class_->alloc(device, run->stream, size, out_address));
    run->addresses[run->allocation_count] = *out_address;
    run->sizes[run->allocation_count++] = size;
    return NULL;
}

static Error *place(DeviceRun *run, DType dtype, uint64_t bytes, uint64_t *out_address) {
    const uint64_t shift =
        (uint64_t)run->call->offset_elements * (dtype_bits(dtype) < 8 ? 1 : dtype_bits(dtype) / 8);
    TRY(run_alloc(run, bytes ? bytes + shift : 0, out_address));
    if (bytes) *out_address += shift;
    return NULL;
}

static Error *place_inputs(DeviceRun *run) {
    const DeviceCall *call = run->call;
    Device *device = call->device;
    for (uint32_t i = 0; i < call->input_count; i++) {
        const Tensor *input = call->inputs[i];
        if (!input || operator_reads_value(run->info, i)) continue; /* those are in the plan */
        uint64_t *address = &run->input_addresses[i];
        PackRequest pack = {run->info, run->attributes, i, tensor_spec(input)};
        if (run->inputs[i].layout != 0) {
            uint32_t layout;
            uint64_t bytes;
            TRY(device->class_->pack_rule(device, &pack, &layout, &bytes));
            TRY(run_alloc(run, bytes, address));
            TRY(device->class_->pack(
                device, run->stream, &pack, layout, tensor_data(input), *address));
            continue;
        }
        TRY(place(run, input->dtype, tensor_bytes(input), address));
        if (*address)
            TRY(device->class_->copy_from_host(
                device, run->stream, *address, tensor_data(input), tensor_bytes(input)));
    }
    return NULL;
}

static Error *place_outputs(DeviceRun *run, const Launch *launch) {
    const DeviceCall *call = run->call;
    for (uint32_t i = 0; i < output_count(call); i++)
        run->output_shapes[i] = run->plan->outputs[i].shape;
    if (run->plan->measure) TRY(run->plan->measure(run->plan, launch, run->output_shapes));
    if (run->plan->measure_bytes)
        TRY(run->plan->measure_bytes(run->plan, launch, run->output_shapes, run->output_bytes));
    for (uint32_t i = 0; i < output_count(call); i++)
        if (run->plan->outputs[i].dtype != DTYPE_STRING)
            TRY(shape_bytes(
                &run->output_shapes[i], run->plan->outputs[i].dtype, &run->output_bytes[i]));
    for (uint32_t i = 0; i < output_count(call); i++) {
        bool over = i == 0 && call->in_place && run->plan->in_place >> (call->in_place - 1) & 1;
        if (over)
            run->output_addresses[0] = run->input_addresses[call->in_place - 1];
        else
            TRY(place(
                run, run->plan->outputs[i].dtype, run->output_bytes[i], &run->output_addresses[i]));
    }
    return NULL;
}

static Error *fetch(DeviceRun *run, uint32_t index, uint64_t address, Tensor **out) {
    OWN(Tensor, tensor) = NULL;
    Device *device = run->call->device;
    TRY(tensor_create_on_host(
        device_host(), run->plan->outputs[index].dtype, &run->output_shapes[index], &tensor));
    if (tensor_bytes(tensor))
        TRY(device->class_->copy_to_host(
            device, run->stream, tensor_data(tensor), address, tensor_bytes(tensor)));
    *out = TAKE(tensor);
    return NULL;
}

static Launch launch_of(const DeviceRun *run) {
    const DeviceCall *call = run->call;
    return (Launch){.inputs = run->input_addresses,
        .outputs = run->output_addresses,
        .stream = run->stream,
        .workspace = run->workspace,
        .threads = call->threads ? call->threads : 1,
        .philox_key = call->philox_key,
        .philox_counter = call->philox_counter};
}

static Error *plan_and_place(DeviceRun *run) {
    TRY(run_plan(run));
    TRY(place_inputs(run));
    TRY(run_alloc(run, run->plan->workspace_bytes, &run->workspace));
    if (run->plan->view) {
        run->output_shapes[0] = run->plan->outputs[0].shape;
        run->output_addresses[0] = run->input_addresses[0];
        return NULL;
    }
    Launch launch = launch_of(run);
    return place_outputs(run, &launch);
}

Error *device_run_open(const DeviceCall *call, DeviceRun **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(DeviceRun), &block));
    OWN(DeviceRun, run) = block;
    run->call = call;
    if (!call->direct) TRY(device_stream_create(call->device, &run->stream));
    TRY(plan_and_place(run));
    *out = TAKE(run);
    return NULL;
}

Error *device_run_launch(DeviceRun *run) {
    if (run->plan->view) return NULL;
    Launch launch = launch_of(run);
    FloatEnvironment environment;
    float_environment_enter(&environment);
    Error *error = run->plan->launch(run->plan, &launch, run->output_shapes);
    float_environment_leave(&environment);
    return error;
}

Error *device_run_fetch(DeviceRun *run, Tensor **out_outputs) {
    for (uint32_t i = 0; i < output_count(run->call); i++) {
        Error *error = fetch(run, i, run->output_addresses[i], &out_outputs[i]);
        if (!error) continue;
        while (i-- > 0) {
            tensor_release(out_outputs[i]);
            out_outputs[i] = NULL;
        }
        return error;
    }
    return NULL;
}

Error *device_run_wait(DeviceRun *run) {
    return device_stream_synchronize(run->call->device, run->stream);
}

DeviceStream *device_run_get_stream(const DeviceRun *run) { return run->stream; }

uint64_t device_run_get_output(const DeviceRun *run, uint32_t index, uint64_t *out_bytes) {
    *out_bytes = run->output_bytes[index];
    return run->output_addresses[index];
}

const Plan *device_run_get_plan(const DeviceRun *run) { return run->plan; }

uint64_t device_run_operand_bytes(const DeviceRun *run) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < run->call->input_count; i++)
        if (run->call->inputs[i]) total += tensor_bytes(run->call->inputs[i]);
    for (uint32_t i = 0; i < output_count(run->call); i++)
        total += (uint64_t)shape_count_unchecked(&run->output_shapes[i]) *
                 dtype_bits(run->plan->outputs[i].dtype) / 8;
    return total;
}

Error *device_call_run(const DeviceCall *call, Tensor **out_outputs, const char **out_kernel_name) {
    OWN(DeviceRun, run) = NULL;
    TRY(device_run_open(call, &run));
    if (out_kernel_name) *out_kernel_name = run->plan->kernel_name;
    TRY(device_run_launch(run));
    TRY(device_run_wait(run));
    return device_run_fetch(run, out_outputs);
}

Error *device_call_plan(const DeviceCall *call, Plan **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(DeviceRun), &block));
    OWN(DeviceRun, run) = block;
    run->call = call;
    TRY(run_plan(run));
    *out = TAKE(run->plan);
    return NULL;
}
