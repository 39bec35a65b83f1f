#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/planning/expansion_plan.h"
#include "kernels/planning/host_fallback.h"
#include "kernels/device/kernel_stop.h"
#include "kernels/sim/sim_internal.h"

/* The state of a plan: the cpu's plan and the size of each input. */
typedef struct SimPlan {
    Plan *inner;
    uint64_t input_bytes[]; /* input_count */
} SimPlan;

/* A launch with host addresses. */
typedef struct HostLaunch {
    Launch launch;
    uint64_t inputs[PLAN_INPUTS_MAX];
    uint64_t outputs[PLAN_OUTPUTS_MAX];
    uint64_t bytes; /* bytes of the operands */
} HostLaunch;

/* A queued launch: a copy of the caller's arguments, with a reference to the plan. */
typedef struct QueuedLaunch {
    SimCommand base;
    Plan *plan; /* retained */
    Launch launch;
    Shape *output_shapes;
    uint64_t *inputs, *outputs;
    KernelStopScope scope; /* of the launching thread */
} QueuedLaunch;

static Error *to_host(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, HostLaunch *out) {
    const SimPlan *state = plan_state(plan);
    Device *device = plan->device;
    out->launch = *launch;
    out->launch.stream = NULL;
    out->launch.inputs = out->inputs;
    out->launch.outputs = out->outputs;
    out->bytes = 0;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        TRY_WRAP(
            sim_device_resolve(device, launch->inputs[i], state->input_bytes[i], &out->inputs[i]),
            "input %u", i);
        out->bytes += state->input_bytes[i];
    }
    for (uint32_t i = 0; output_shapes && i < plan->output_count; i++) {
        uint64_t bytes;
        TRY(shape_bytes(&output_shapes[i], plan->outputs[i].dtype, &bytes));
        TRY_WRAP(sim_device_resolve(device, launch->outputs[i], bytes, &out->outputs[i]),
            "output %u", i);
        out->bytes += bytes;
    }
    return sim_device_resolve(
        device, launch->workspace, plan->workspace_bytes, &out->launch.workspace);
}

static Error *run_now(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const SimPlan *state = plan_state(plan);
    SimPace *pace = &sim_device(plan->device)->kernels;
    uint64_t start_ns = sim_pace_begin(pace);
    HostLaunch host;
    TRY(sim_device_check(plan->device, SIM_CALL_LAUNCH));
    TRY(to_host(plan, launch, output_shapes, &host));
    TRY(state->inner->launch(state->inner, &host.launch, output_shapes));
    sim_pace_end(pace, start_ns, host.bytes);
    return NULL;
}

static Error *run_queued(SimCommand *command) {
    const QueuedLaunch *self = (const QueuedLaunch *)command;
    kernel_stop_scope = self->scope;
    Error *error = run_now(self->plan, &self->launch, self->output_shapes);
    kernel_stop_scope = (KernelStopScope){0};
    return error;
}

static void release_queued(SimCommand *command) {
    plan_release(((QueuedLaunch *)command)->plan);
    memory_free(command);
}

static Error *launch_plan(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    if (!launch->stream) return run_now(plan, launch, output_shapes);
    TRY(sim_device_check(plan->device, SIM_CALL_OTHER));
    size_t shapes_size = plan->output_count * sizeof(Shape);
    size_t input_size = plan->input_count * sizeof(uint64_t);
    size_t output_size = plan->output_count * sizeof(uint64_t);
    void *memory;
    TRY(memory_alloc(1, sizeof(QueuedLaunch) + shapes_size + input_size + output_size, &memory));
    QueuedLaunch *queued = memory;
    queued->base = (SimCommand){.run = run_queued, .release = release_queued};
    queued->output_shapes = (Shape *)(queued + 1);
    queued->inputs = (uint64_t *)((char *)queued->output_shapes + shapes_size);
    queued->outputs = (uint64_t *)((char *)queued->inputs + input_size);
    memcpy(queued->output_shapes, output_shapes, shapes_size);
    if (input_size) memcpy(queued->inputs, launch->inputs, input_size);
    memcpy(queued->outputs, launch->outputs, output_size);
    queued->launch = *launch;
    queued->launch.inputs = queued->inputs;
    queued->launch.outputs = queued->outputs;
    queued->scope = kernel_stop_scope;
    queued->plan = plan_retain((Plan *)(uintptr_t)plan);
    return sim_device_queue(launch->stream, &queued->base);
}

static Error *measure_plan(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const SimPlan *state = plan_state(plan);
    HostLaunch host;
    TRY(sim_device_settle(launch->stream));
    TRY(sim_device_check(plan->device, SIM_CALL_LAUNCH)); /* counting is a kernel, too */
    TRY(to_host(plan, launch, NULL, &host));
    return state->inner->measure(state->inner, &host.launch, out_shapes);
}

static void destroy_plan(Plan *plan) {
    SimPlan *state = plan_state(plan);
    plan_release(state->inner);
    plan_free(plan);
}

/* The size of a packed operand is given by the pack rule, the size of others by their shape. */
static Error *input_size(
    SimDevice *device, const PlanRequest *request, uint32_t index, uint64_t *out) {
    const TensorSpec *input = &request->inputs[index];
    if (input->layout == 0) return plan_request_input_bytes(request, index, out);
    PackRequest pack = {request->operator_info, request->attributes, index, *input};
    pack.constant.layout = 0;
    uint32_t layout;
    TRY(device->cpu->class_->pack_rule(device->cpu, &pack, &layout, out));
    if (layout != input->layout)
        FAIL(INVALID, "%s: input %u has layout %u, not %u", request->operator_info->name, index,
            input->layout, layout);
    return NULL;
}

bool sim_lacks(const SimDevice *device, const OperatorInfo *info) {
    char wanted[DEVICE_OPTION_MAX];
    const char *names = device->options.lacks;
    if (strstr(names, "+*+")) return true;
    (void)snprintf(wanted, sizeof wanted, "+%s+", info->name);
    return strstr(names, wanted) != NULL;
}

/* Plans as a device without that kernel would. */
static Error *plan_otherwise(SimDevice *device, const PlanRequest *request, Plan **out) {
    if (request->operator_info->expansion[0])
        return expansion_plan_create(&device->base, request, out);
    return host_fallback_plan(&device->base, device->cpu, request, out);
}

Error *sim_plan(Device *base, const PlanRequest *request, Plan **out) {
    SimDevice *device = sim_device(base);
    TRY(sim_device_check(base, SIM_CALL_OTHER));
    if (sim_lacks(device, request->operator_info)) return plan_otherwise(device, request, out);
    OWN(Plan, inner) = NULL;
    OWN(Plan, made) = NULL;
    TRY_WRAP(device->cpu->class_->plan(device->cpu, request, &inner), "%s", base->name);
    size_t size = sizeof(SimPlan) + request->input_count * sizeof(uint64_t);
    TRY(plan_create(base, request, inner->kernel_name, size, &made));
    made->origin = inner->origin;
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
