#include "kernels/process/process_wire.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/device/kernel_stop.h"
#include "kernels/shape_rules/operator_infer.h"

static const uint64_t WORKSPACE_BYTES_MAX = (uint64_t)1 << 48;
enum { KERNEL_NAME_MAX = 64, OPERATOR_NAME_MAX = 64, MESSAGE_MAX = 1023 };

/* ---- shapes and tensors ---- */

static void write_shape(ByteWriter *writer, const Shape *shape) {
    byte_write_u32(writer, shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++) byte_write_i64(writer, shape->dims[i]);
}

static Error *read_shape(ByteReader *reader, Shape *out) {
    int64_t count;
    memset(out, 0, sizeof *out);
    TRY(byte_read_u32(reader, &out->rank));
    if (out->rank > SHAPE_RANK_MAX) FAIL(CORRUPT, "rank %u", out->rank);
    for (uint32_t i = 0; i < out->rank; i++) TRY(byte_read_i64(reader, &out->dims[i]));
    return error_recode(shape_count(out, &count), ERROR_CORRUPT);
}

static void write_spec(ByteWriter *writer, const TensorSpec *spec) {
    byte_write_u8(writer, spec->present);
    if (!spec->present) return;
    byte_write_u32(writer, (uint32_t)spec->dtype);
    byte_write_u32(writer, spec->layout);
    write_shape(writer, &spec->shape);
}

static Error *read_spec(ByteReader *reader, TensorSpec *out) {
    uint8_t present;
    uint32_t dtype;
    memset(out, 0, sizeof *out);
    TRY(byte_read_u8(reader, &present));
    if (present > 1) FAIL(CORRUPT, "presence %u", present);
    if (!present) return NULL;
    TRY(byte_read_u32(reader, &dtype));
    if (!dtype_is_known(dtype)) FAIL(CORRUPT, "element type %u", dtype);
    out->present = true;
    out->dtype = (DType)dtype;
    TRY(byte_read_u32(reader, &out->layout));
    return read_shape(reader, &out->shape);
}

/* ---- operators ---- */

static Error *read_operator(
    ByteReader *reader, const OperatorInfo **out_info, Attributes **out_attributes) {
    char *name = NULL;
    TRY(byte_read_text(reader, OPERATOR_NAME_MAX, &name));
    const OperatorInfo *info = operator_find(name);
    Error *error = info ? NULL
                        : error_make(ERROR_UNSUPPORTED, __FILE__, __LINE__,
                              "the worker knows no operator \"%s\"", name);
    memory_free(name);
    TRY(error);
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_read(reader, &attributes));
    TRY(error_recode(attributes_check(attributes, info), ERROR_CORRUPT));
    *out_info = info;
    *out_attributes = TAKE(attributes);
    return NULL;
}

static void write_operator(
    ByteWriter *writer, const OperatorInfo *info, const Attributes *attributes) {
    byte_write_text(writer, info->name);
    attributes_write(attributes, writer);
}

/* ---- requests ---- */

static bool is_value(const PlanRequest *request, uint32_t index) {
    return operator_reads_value(request->operator_info, index) && request->inputs[index].present &&
           request->values && request->values[index];
}

static void write_value(ByteWriter *writer, const PlanRequest *request, uint32_t index) {
    const TensorSpec *input = &request->inputs[index];
    uint64_t bytes = 0;
    bool given = is_value(request, index);
    if (given) error_free(shape_bytes(&input->shape, input->dtype, &bytes)); /* was inferred with */
    byte_write_u8(writer, given);
    if (given) byte_write_bytes(writer, request->values[index], bytes);
}

/* Copies the value, since its readers expect aligned numbers. */
static Error *read_value(ByteReader *reader, WireRequest *out, uint32_t index) {
    const TensorSpec *input = &out->inputs[index];
    uint8_t given;
    uint64_t bytes;
    const uint8_t *view;
    TRY(byte_read_u8(reader, &given));
    if (given > 1 || (given && !input->present)) FAIL(CORRUPT, "input %u: value %u", index, given);
    if (!given) return NULL;
    TRY(error_recode(shape_bytes(&input->shape, input->dtype, &bytes), ERROR_CORRUPT));
    TRY(byte_read_view(reader, bytes, &view));
    TRY(memory_alloc(bytes ? bytes : 1, 1, &out->owned_values[index]));
    if (bytes) memcpy(out->owned_values[index], view, bytes);
    out->values[index] = out->owned_values[index];
    return NULL;
}

void process_wire_write_request(ByteWriter *writer, const PlanRequest *request) {
    write_operator(writer, request->operator_info, request->attributes);
    byte_write_u32(writer, request->input_count);
    byte_write_u32(writer, request->output_count);
    for (uint32_t i = 0; i < request->input_count; i++) {
        write_spec(writer, &request->inputs[i]);
        write_value(writer, request, i);
    }
}

Error *process_wire_read_request(ByteReader *reader, WireRequest *out) {
    memset(out, 0, sizeof *out);
    PlanRequest *request = &out->request;
    TRY(read_operator(reader, &request->operator_info, &out->attributes));
    TRY(byte_read_u32(reader, &request->input_count));
    TRY(byte_read_u32(reader, &request->output_count));
    if (request->input_count > PLAN_INPUTS_MAX || request->output_count > PLAN_OUTPUTS_MAX)
        FAIL(CORRUPT, "%u inputs, %u outputs", request->input_count, request->output_count);
    for (uint32_t i = 0; i < request->input_count; i++) {
        TRY_WRAP(read_spec(reader, &out->inputs[i]), "input %u", i);
        TRY_WRAP(read_value(reader, out, i), "input %u", i);
    }
    TRY(byte_reader_check_end(reader));
    request->attributes = out->attributes;
    request->inputs = out->inputs;
    request->values = out->values;
    return operator_infer(request);
}

void wire_request_deinit(WireRequest *request) {
    for (uint32_t i = 0; i < PLAN_INPUTS_MAX; i++)
        if (request->owned_values[i]) memory_free(request->owned_values[i]);
    attributes_release(request->attributes);
}

void process_wire_write_pack(ByteWriter *writer, const PackRequest *request) {
    write_operator(writer, request->operator_info, request->attributes);
    byte_write_u32(writer, request->input_index);
    write_spec(writer, &request->constant);
}

Error *process_wire_read_pack(ByteReader *reader, PackRequest *out, Attributes **out_attributes) {
    OWN(Attributes, attributes) = NULL;
    TRY(read_operator(reader, &out->operator_info, &attributes));
    TRY(byte_read_u32(reader, &out->input_index));
    TRY(read_spec(reader, &out->constant));
    if (!out->constant.present || out->constant.layout != 0)
        FAIL(CORRUPT, "a constant that is not there, or packed");
    uint64_t bytes;
    TRY(error_recode(
        shape_bytes(&out->constant.shape, out->constant.dtype, &bytes), ERROR_CORRUPT));
    TRY(byte_reader_check_end(reader));
    out->attributes = attributes;
    *out_attributes = TAKE(attributes);
    return NULL;
}

/* ---- launches ---- */

static uint32_t scope_bits(void) {
    const KernelStopScope scope = kernel_stop_scope;
    if (!scope.stop) return 0;
    return WIRE_SCOPE_STOPS | (scope.whole ? WIRE_SCOPE_WHOLE : 0) |
           (scope.pauses ? WIRE_SCOPE_PAUSES : 0);
}

void process_wire_write_launch(ByteWriter *writer, uint64_t plan_id, const Plan *plan,
    const Launch *launch, const Shape *shapes) {
    byte_write_u64(writer, plan_id);
    byte_write_u64(writer, launch->workspace);
    byte_write_u64(writer, launch->philox_key);
    byte_write_u64(writer, launch->philox_counter);
    byte_write_u32(writer, launch->threads);
    byte_write_u32(writer, plan->input_count);
    byte_write_u32(writer, launch->outputs ? plan->output_count : 0);
    byte_write_u32(writer, shapes != NULL);
    byte_write_u32(writer, scope_bits());
    if (plan->input_count)
        byte_write_bytes(writer, launch->inputs, plan->input_count * sizeof launch->inputs[0]);
    if (launch->outputs)
        byte_write_bytes(writer, launch->outputs, plan->output_count * sizeof launch->outputs[0]);
    for (uint32_t i = 0; shapes && i < plan->output_count; i++) write_shape(writer, &shapes[i]);
}

static Error *read_addresses(ByteReader *reader, uint32_t count, uint64_t *out) {
    for (uint32_t i = 0; i < count; i++) TRY(byte_read_u64(reader, &out[i]));
    return NULL;
}

Error *process_wire_read_launch(ByteReader *reader, WireLaunch *out) {
    uint32_t has_shapes;
    Launch *launch = &out->launch;
    *launch = (Launch){.inputs = out->inputs, .outputs = out->outputs};
    TRY(byte_read_u64(reader, &out->plan));
    TRY(byte_read_u64(reader, &launch->workspace));
    TRY(byte_read_u64(reader, &launch->philox_key));
    TRY(byte_read_u64(reader, &launch->philox_counter));
    TRY(byte_read_u32(reader, &launch->threads));
    TRY(byte_read_u32(reader, &out->input_count));
    TRY(byte_read_u32(reader, &out->output_count));
    TRY(byte_read_u32(reader, &has_shapes));
    TRY(byte_read_u32(reader, &out->scope));
    if (out->input_count > PLAN_INPUTS_MAX || out->output_count > PLAN_OUTPUTS_MAX ||
        has_shapes > 1 || out->scope > WIRE_SCOPE_ALL)
        FAIL(
            CORRUPT, "a launch with %u inputs and %u outputs", out->input_count, out->output_count);
    out->has_shapes = has_shapes;
    TRY(read_addresses(reader, out->input_count, out->inputs));
    TRY(read_addresses(reader, out->output_count, out->outputs));
    for (uint32_t i = 0; has_shapes && i < out->output_count; i++)
        TRY(read_shape(reader, &out->shapes[i]));
    return byte_reader_check_end(reader);
}

/* ---- plans ---- */

void process_wire_write_plan(ByteWriter *writer, uint64_t id, const Plan *plan) {
    byte_write_u64(writer, id);
    byte_write_u64(writer, plan->workspace_bytes);
    byte_write_u64(writer, plan->philox_draws);
    byte_write_u64(writer, plan->in_place);
    byte_write_u8(writer, plan->view);
    byte_write_u8(writer, plan->measure != NULL);
    byte_write_u8(writer, (uint8_t)plan->origin);
    byte_write_text(writer, plan->kernel_name);
}

/* Output 0 can be input 0 under another shape. */
static Error *check_view(const PlanRequest *request) {
    uint64_t to, from;
    if (request->input_count == 0 || request->output_count == 0 || !request->inputs[0].present)
        FAIL(CORRUPT, "a view of nothing");
    TRY(error_recode(
        shape_bytes(&request->outputs[0].shape, request->outputs[0].dtype, &to), ERROR_CORRUPT));
    TRY(error_recode(
        shape_bytes(&request->inputs[0].shape, request->inputs[0].dtype, &from), ERROR_CORRUPT));
    if (to != from) FAIL(CORRUPT, "a view of another size");
    return NULL;
}

static bool is_open(const TensorSpec *output) {
    for (uint32_t i = 0; i < output->shape.rank; i++)
        if (output->shape.dims[i] < 0) return true;
    return false;
}

/* Checks that exactly the outputs that depend on data are measured. */
static Error *check_measures(const PlanRequest *request, bool measures) {
    bool needed = false;
    for (uint32_t i = 0; i < request->output_count; i++)
        needed = needed || is_open(&request->outputs[i]);
    if ((needed && !measures) || (measures && !request->operator_info->shape_from_data))
        FAIL(CORRUPT, "%s is%s measured", request->operator_info->name, measures ? "" : " not");
    return NULL;
}

static Error *read_flag(ByteReader *reader, bool *out) {
    uint8_t value;
    TRY(byte_read_u8(reader, &value));
    if (value > 1) FAIL(CORRUPT, "flag %u", value);
    *out = value;
    return NULL;
}

static Error *read_plan_facts(
    ByteReader *reader, const PlanRequest *request, uint64_t in_place, WirePlan *out) {
    uint8_t origin;
    TRY(byte_read_u64(reader, &out->id));
    TRY(byte_read_u64(reader, &out->workspace_bytes));
    TRY(byte_read_u64(reader, &out->philox_draws));
    TRY(byte_read_u64(reader, &out->in_place));
    TRY(read_flag(reader, &out->view));
    TRY(read_flag(reader, &out->measures));
    TRY(byte_read_u8(reader, &origin));
    if (origin > PLAN_OF_HOST) FAIL(CORRUPT, "origin %u", origin);
    out->origin = (PlanOrigin)origin;
    if (out->workspace_bytes > WORKSPACE_BYTES_MAX) FAIL(CORRUPT, "the size of a workspace");
    if (out->in_place & ~in_place) FAIL(CORRUPT, "outputs over inputs that do not fit");
    if (out->view) TRY(check_view(request));
    return check_measures(request, out->measures);
}

Error *process_wire_read_plan(
    ByteReader *reader, const PlanRequest *request, uint64_t in_place, WirePlan *out) {
    memset(out, 0, sizeof *out);
    TRY(read_plan_facts(reader, request, in_place, out));
    TRY(byte_read_text(reader, KERNEL_NAME_MAX, &out->kernel_name));
    Error *error = byte_reader_check_end(reader);
    if (error) {
        memory_free(out->kernel_name);
        out->kernel_name = NULL;
    }
    return error;
}

void process_wire_write_shapes(ByteWriter *writer, const Shape *shapes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) write_shape(writer, &shapes[i]);
}

static bool fits(const Shape *shape, const Shape *planned) {
    if (shape->rank != planned->rank) return false;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (planned->dims[i] >= 0 && shape->dims[i] != planned->dims[i]) return false;
    return true;
}

Error *process_wire_read_shapes(ByteReader *reader, const Plan *plan, Shape *out_shapes) {
    for (uint32_t i = 0; i < plan->output_count; i++) {
        uint64_t bytes;
        Shape shape;
        TRY(read_shape(reader, &shape));
        TRY(error_recode(shape_bytes(&shape, plan->outputs[i].dtype, &bytes), ERROR_CORRUPT));
        if (!fits(&shape, &plan->outputs[i].shape)) FAIL(CORRUPT, "output %u as measured", i);
        out_shapes[i] = shape;
    }
    return byte_reader_check_end(reader);
}

/* ---- errors ---- */

void process_wire_write_error(ByteWriter *writer, const Error *error) {
    const char *message = error_message(error);
    size_t size = strlen(message);
    while (!text_is_utf8(message, size)) size--; /* a long message may be cut inside a character */
    byte_write_u32(writer, (uint32_t)error_code(error));
    byte_write_u32(writer, (uint32_t)size);
    byte_write_bytes(writer, message, size);
}

Error *process_wire_read_error(ByteReader *reader, Error **out_error) {
    uint32_t code;
    char *message;
    TRY(byte_read_u32(reader, &code));
    if (code == ERROR_NONE || code >= ERROR_CODE_COUNT) FAIL(CORRUPT, "error code %u", code);
    TRY(byte_read_text(reader, MESSAGE_MAX, &message));
    Error *error = byte_reader_check_end(reader);
    if (!error) *out_error = error_make((ErrorCode)code, __FILE__, __LINE__, "%s", message);
    memory_free(message);
    return error;
}
