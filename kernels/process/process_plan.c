#include "base/allocator.h"
#include "kernels/process/process_internal.h"

/* The state of a plan: the worker's plan. */
typedef struct ProcessPlan {
    uint64_t id;
    _Atomic uint64_t launches; /* posted launches; the worker releases the plan after them */
    bool measures;
} ProcessPlan;

/* ---- launches ---- */

static Error *launch_plan(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    ProcessPlan *state = plan_state(plan);
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    process_wire_write_launch(
        &head, state->id, plan, launch, state->measures ? output_shapes : NULL);
    TRY(byte_writer_check(&head));
    TRY(process_place_init(plan->device, launch->stream, &place));
    process_channel_pass_stop(place.channel);
    (void)atomic_fetch_add(&state->launches, 1);
    return process_place_finish(
        &place, process_channel_post(place.channel, PROCESS_CALL_LAUNCH, &head, (ProcessBytes){0}));
}

static Error *read_shapes(
    ProcessChannel *channel, const Plan *plan, const ByteWriter *answer, Shape *out_shapes) {
    ByteReader reader = byte_reader(answer->data, answer->size);
    Error *error = process_wire_read_shapes(&reader, plan, out_shapes);
    return error ? process_channel_reject(channel, error) : NULL;
}

static Error *measure_plan(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const ProcessPlan *state = plan_state(plan);
    Launch inputs = *launch;
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    inputs.outputs = NULL; /* the worker infers the outputs */
    process_wire_write_launch(&head, state->id, plan, &inputs, NULL);
    TRY(process_place_init(plan->device, launch->stream, &place));
    process_channel_pass_stop(place.channel);
    Error *error = process_channel_call(
        place.channel, PROCESS_CALL_MEASURE, &head, (ProcessBytes){0}, &answer);
    if (!error) error = read_shapes(place.channel, plan, &answer, out_shapes);
    process_place_deinit(&place);
    return error;
}

/* The launches may be on other channels, so the worker is told how many launches come before the
 * release. */
static void release_there(Device *device, uint64_t id, uint64_t launches) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    byte_write_u64(&head, id);
    byte_write_u64(&head, launches);
    Error *error = process_place_init(device, NULL, &place);
    if (!error) {
        error = process_channel_post(
            place.channel, PROCESS_CALL_PLAN_RELEASE, &head, (ProcessBytes){0});
        process_place_deinit(&place);
    }
    error_free(error); /* if the worker has ended, so has the plan */
}

static void destroy_plan(Plan *plan) {
    const ProcessPlan *state = plan_state(plan);
    release_there(plan->device, state->id, atomic_load(&state->launches));
    plan_free(plan);
}

/* ---- planning ---- */

static void fill(Plan *plan, const WirePlan *facts) {
    ProcessPlan *state = plan_state(plan);
    plan->workspace_bytes = facts->workspace_bytes;
    plan->philox_draws = facts->philox_draws;
    plan->in_place = facts->in_place;
    plan->view = facts->view;
    plan->origin = facts->origin;
    plan->launch = facts->view ? NULL : launch_plan;
    plan->measure = facts->measures ? measure_plan : NULL;
    plan->destroy = destroy_plan;
    state->id = facts->id;
    state->measures = facts->measures;
}

static Error *read_plan(ProcessChannel *channel, const PlanRequest *request, const Plan *plain,
    const ByteWriter *answer, WirePlan *out) {
    ByteReader reader = byte_reader(answer->data, answer->size);
    Error *error = process_wire_read_plan(&reader, request, plain->in_place, out);
    return error ? process_channel_reject(channel, error) : NULL;
}

static Error *ask(Device *device, const PlanRequest *request, const Plan *plain, WirePlan *out) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    process_wire_write_request(&head, request);
    TRY(process_place_init(device, NULL, &place));
    Error *error =
        process_channel_call(place.channel, PROCESS_CALL_PLAN, &head, (ProcessBytes){0}, &answer);
    if (!error) error = read_plan(place.channel, request, plain, &answer, out);
    process_place_deinit(&place);
    return error;
}

Error *process_plan(Device *device, const PlanRequest *request, Plan **out) {
    OWN(Plan, plan) = NULL;
    WirePlan facts;
    TRY(plan_create(device, request, "", sizeof(ProcessPlan), &plan));
    TRY(ask(device, request, plan, &facts));
    fill(plan, &facts);
    plan->kernel_name = process_names_keep(process_device(device), facts.kernel_name);
    *out = TAKE(plan);
    return NULL;
}

/* ---- packed weights ---- */

static Error *read_rule(ByteReader *reader, uint32_t *out_layout, uint64_t *out_bytes) {
    TRY(byte_read_u32(reader, out_layout));
    TRY(byte_read_u64(reader, out_bytes));
    if (*out_bytes >> 62) FAIL(CORRUPT, "a packed constant without end");
    return byte_reader_check_end(reader);
}

Error *process_pack_rule(
    Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    process_wire_write_pack(&head, request);
    TRY(process_place_init(device, NULL, &place));
    Error *error = process_channel_call(
        place.channel, PROCESS_CALL_PACK_RULE, &head, (ProcessBytes){0}, &answer);
    process_place_deinit(&place);
    TRY(error);
    ByteReader reader = byte_reader(answer.data, answer.size);
    error = read_rule(&reader, out_layout, out_bytes);
    return error ? process_channel_reject(place.channel, error) : NULL;
}

Error *process_pack(Device *device, DeviceStream *stream, const PackRequest *request,
    uint32_t layout, const void *plain, uint64_t to) {
    ProcessPlace place;
    uint64_t size;
    ByteWriter OWN_BYTES(head) = {0};
    TRY(shape_bytes(&request->constant.shape, request->constant.dtype, &size));
    byte_write_u32(&head, layout);
    byte_write_u64(&head, to);
    process_wire_write_pack(&head, request);
    if (head.size > RING_PAYLOAD_MAX)
        FAIL(UNSUPPORTED, "%s: attributes of %zu bytes", request->operator_info->name, head.size);
    TRY(process_place_init(device, stream, &place));
    Error *error = process_channel_call(
        place.channel, PROCESS_CALL_PACK, &head, (ProcessBytes){plain, size}, NULL);
    process_place_deinit(&place);
    return error;
}
