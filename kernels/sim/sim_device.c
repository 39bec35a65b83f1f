/* A pretend accelerator: its own address space and memory limit, synchronous copies, the cpu
 * device's mathematics underneath. What works here without a host pointer works on a real one.
 *
 * Its SPEC is described in sim_options.h. */
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/expansion_plan.h"
#include "kernels/host_fallback.h"
#include "kernels/sim/sim_faults.h"
#include "kernels/sim/sim_memory.h"
#include "kernels/sim/sim_options.h"
#include "kernels/sim/sim_pace.h"

extern const DeviceClass sim_device_class;

static const double KERNEL_BYTES_PER_S = 10e9; /* of operands, at speed=1 */

typedef struct SimDevice {
    Device base;
    Device *cpu; /* private: computes, and holds the bytes */
    SimMemory *memory;
    SimOptions options;
    SimFaults faults;
    SimPace link, kernels;
} SimDevice;

/* Behind a plan: the cpu's plan and how large each input is. */
typedef struct SimPlan {
    Plan *inner;
    uint64_t input_bytes[]; /* input_count */
} SimPlan;

static SimDevice *sim_device(Device *device) { return (SimDevice *)device; }

static void close_device(Device *base) {
    SimDevice *device = sim_device(base);
    sim_memory_release(device->memory);
    device_close(device->cpu);
    memory_free(device);
}

static Error *open_device(const char *kind, uint32_t index, const char *options, Device **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(SimDevice), &block));
    SimDevice *device = block;
    OWN(Device, owned) = &device->base;
    device->base.class_ = &sim_device_class;
    device->base.index = index;
    (void)snprintf(device->base.name, sizeof device->base.name, "%s:%u", kind, index);
    TRY(sim_options_read(options, &device->options));
    sim_faults_init(&device->faults, &device->options);
    sim_pace_init(&device->link, (double)device->options.bandwidth);
    sim_pace_init(&device->kernels, device->options.speed * KERNEL_BYTES_PER_S);
    TRY(device_open("cpu", &device->cpu));
    TRY(sim_memory_create(device->cpu, index, device->options.memory_bytes, &device->memory));
    *out = TAKE(owned);
    return NULL;
}

static Error *check(Device *device, SimCall call) {
    return sim_faults_check(&sim_device(device)->faults, call, device->name);
}

static Error *memory_info(Device *device, DeviceMemory *out) {
    TRY(check(device, SIM_CALL_OTHER));
    *out = sim_memory_info(sim_device(device)->memory);
    return NULL;
}

static Error *alloc(Device *device, uint64_t size, uint64_t *out_address) {
    TRY(check(device, SIM_CALL_ALLOC));
    TRY_WRAP(sim_memory_alloc(sim_device(device)->memory, size, out_address), "%s", device->name);
    return NULL;
}

static void free_memory(Device *device, uint64_t address, uint64_t size) {
    if (address) sim_memory_free(sim_device(device)->memory, address, size);
}

static Error *resolve(Device *device, uint64_t address, uint64_t size, uint64_t *out_host) {
    *out_host = 0;
    if (size == 0) return NULL;
    TRY_WRAP(sim_memory_resolve(sim_device(device)->memory, address, size, out_host), "%s",
        device->name);
    return NULL;
}

static Error *copy_from_host(Device *device, uint64_t to, const void *from, uint64_t size) {
    uint64_t host;
    SimPace *link = &sim_device(device)->link;
    uint64_t start_ns = sim_pace_begin(link);
    TRY(check(device, SIM_CALL_COPY));
    TRY(resolve(device, to, size, &host));
    if (size) memcpy((void *)(uintptr_t)host, from, size);
    sim_pace_end(link, start_ns, size);
    return NULL;
}

static Error *copy_to_host(Device *device, void *to, uint64_t from, uint64_t size) {
    uint64_t host;
    SimPace *link = &sim_device(device)->link;
    uint64_t start_ns = sim_pace_begin(link);
    TRY(check(device, SIM_CALL_COPY));
    TRY(resolve(device, from, size, &host));
    if (size) memcpy(to, (const void *)(uintptr_t)host, size);
    sim_pace_end(link, start_ns, size);
    return NULL;
}

static Error *copy(Device *device, uint64_t to, uint64_t from, uint64_t size) {
    uint64_t host_to, host_from;
    TRY(check(device, SIM_CALL_COPY));
    TRY(resolve(device, to, size, &host_to));
    TRY(resolve(device, from, size, &host_from));
    if (size) memmove((void *)(uintptr_t)host_to, (const void *)(uintptr_t)host_from, size);
    return NULL;
}

/* A launch with host addresses. */
typedef struct HostLaunch {
    Launch launch;
    uint64_t inputs[PLAN_INPUTS_MAX];
    uint64_t outputs[PLAN_OUTPUTS_MAX];
    uint64_t bytes; /* of its operands */
} HostLaunch;

static Error *to_host(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, HostLaunch *out) {
    const SimPlan *state = plan_state(plan);
    out->launch = *launch;
    out->launch.inputs = out->inputs;
    out->launch.outputs = out->outputs;
    out->bytes = 0;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        TRY_WRAP(resolve(plan->device, launch->inputs[i], state->input_bytes[i], &out->inputs[i]),
            "input %u", i);
        out->bytes += state->input_bytes[i];
    }
    for (uint32_t i = 0; output_shapes && i < plan->output_count; i++) {
        uint64_t bytes;
        TRY(shape_bytes(&output_shapes[i], plan->outputs[i].dtype, &bytes));
        TRY_WRAP(
            resolve(plan->device, launch->outputs[i], bytes, &out->outputs[i]), "output %u", i);
        out->bytes += bytes;
    }
    return resolve(plan->device, launch->workspace, plan->workspace_bytes, &out->launch.workspace);
}

static Error *launch_plan(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    const SimPlan *state = plan_state(plan);
    SimPace *pace = &sim_device(plan->device)->kernels;
    uint64_t start_ns = sim_pace_begin(pace);
    HostLaunch host;
    TRY(check(plan->device, SIM_CALL_LAUNCH));
    TRY(to_host(plan, launch, output_shapes, &host));
    TRY(state->inner->launch(state->inner, &host.launch, output_shapes, out_abandoned));
    sim_pace_end(pace, start_ns, host.bytes);
    return NULL;
}

static Error *measure_plan(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const SimPlan *state = plan_state(plan);
    HostLaunch host;
    TRY(check(plan->device, SIM_CALL_LAUNCH)); /* counting is a kernel, too */
    TRY(to_host(plan, launch, NULL, &host));
    return state->inner->measure(state->inner, &host.launch, out_shapes);
}

static void destroy_plan(Plan *plan) {
    SimPlan *state = plan_state(plan);
    plan_release(state->inner);
    plan_free(plan);
}

/* Packed operands are as large as the rule says, others as their shape. */
static Error *input_size(
    SimDevice *device, const PlanRequest *request, uint32_t index, uint64_t *out) {
    const TensorSpec *input = &request->inputs[index];
    *out = 0;
    if (!input->present) return NULL;
    /* read at planning, from the host: a launch has no address for it */
    if (index < 64 && (request->operator_info->value_inputs >> index & 1)) return NULL;
    if (input->layout == 0) return shape_bytes(&input->shape, input->dtype, out);
    PackRequest pack = {request->operator_info, request->attributes, index, *input};
    pack.constant.layout = 0;
    uint32_t layout;
    TRY(device->cpu->class_->pack_rule(device->cpu, &pack, &layout, out));
    if (layout != input->layout)
        FAIL(INVALID, "%s: input %u has layout %u, not %u", request->operator_info->name, index,
            input->layout, layout);
    return NULL;
}

static bool lacks(const SimDevice *device, const OperatorInfo *info) {
    char wanted[DEVICE_OPTION_MAX];
    const char *names = device->options.lacks;
    if (strstr(names, "+*+")) return true;
    (void)snprintf(wanted, sizeof wanted, "+%s+", info->name);
    return strstr(names, wanted) != NULL;
}

/* As a device without that kernel does it. */
static Error *plan_otherwise(SimDevice *device, const PlanRequest *request, Plan **out) {
    if (request->operator_info->expansion[0])
        return expansion_plan_create(&device->base, request, out);
    return host_fallback_plan(&device->base, device->cpu, request, out);
}

static Error *plan(Device *base, const PlanRequest *request, Plan **out) {
    SimDevice *device = sim_device(base);
    TRY(check(base, SIM_CALL_OTHER));
    if (lacks(device, request->operator_info)) return plan_otherwise(device, request, out);
    OWN(Plan, inner) = NULL;
    OWN(Plan, made) = NULL;
    TRY_WRAP(device->cpu->class_->plan(device->cpu, request, &inner), "%s", base->name);
    size_t size = sizeof(SimPlan) + request->input_count * sizeof(uint64_t);
    TRY(plan_create(base, request, inner->kernel_name, size, &made));
    made->workspace_bytes = inner->workspace_bytes;
    made->philox_draws = inner->philox_draws;
    made->in_place = inner->in_place;
    made->view = inner->view;
    made->launch = inner->launch ? launch_plan : NULL;
    made->measure = inner->measure ? measure_plan : NULL;
    made->destroy = destroy_plan;
    SimPlan *state = plan_state(made);
    for (uint32_t i = 0; i < request->input_count; i++)
        TRY(input_size(device, request, i, &state->input_bytes[i]));
    state->inner = TAKE(inner);
    *out = TAKE(made);
    return NULL;
}

static Error *pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes) {
    Device *cpu = sim_device(device)->cpu;
    TRY(check(device, SIM_CALL_OTHER));
    if (lacks(sim_device(device), request->operator_info)) {
        *out_layout = 0; /* neither expansions nor the host take packed operands */
        *out_bytes = 0;
        return NULL;
    }
    return cpu->class_->pack_rule(cpu, request, out_layout, out_bytes);
}

static Error *pack(
    Device *device, const PackRequest *request, uint32_t layout, const void *plain, uint64_t to) {
    Device *cpu = sim_device(device)->cpu;
    uint32_t ruled;
    uint64_t bytes, host;
    SimPace *link = &sim_device(device)->link;
    uint64_t start_ns = sim_pace_begin(link);
    TRY(check(device, SIM_CALL_COPY)); /* the packed form goes over the link */
    TRY(cpu->class_->pack_rule(cpu, request, &ruled, &bytes));
    TRY(resolve(device, to, bytes, &host));
    TRY(cpu->class_->pack(cpu, request, layout, plain, host));
    sim_pace_end(link, start_ns, bytes);
    return NULL;
}

static const struct Kernel *const *kernels(Device *device) {
    Device *cpu = sim_device(device)->cpu;
    return cpu->class_->kernels(cpu);
}

static void determinism_class(Device *device, TextBuilder *out) {
    Device *cpu = sim_device(device)->cpu;
    cpu->class_->determinism_class(cpu, out);
}

const DeviceClass sim_device_class = {
    .abi_version = DEVICE_ABI_VERSION,
    .kind = "sim",
    .open = open_device,
    .close = close_device,
    .memory = memory_info,
    .alloc = alloc,
    .free = free_memory,
    .copy_from_host = copy_from_host,
    .copy_to_host = copy_to_host,
    .copy = copy,
    .plan = plan,
    .pack_rule = pack_rule,
    .pack = pack,
    .kernels = kernels,
    .host_memory = false,
    .determinism_class = determinism_class,
};
