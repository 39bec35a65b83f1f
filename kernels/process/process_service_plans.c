#include "kernels/operator/kernel_table.h"
#include "kernels/process/process_service_internal.h"

/* ---- plans ---- */

/* Returns the call's own bytes, or the pieces before the call if they did not fit one record. */
static ByteReader whole(const ProcessService *service, const ByteReader *in) {
    if (byte_reader_left(in) > 0) return *in;
    return byte_reader(service->inbox, service->inbox_size);
}

Error *process_serve_plan(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    WireRequest *request = &service->request;
    ByteReader reader = whole(service, in);
    Plan *plan = NULL;
    uint64_t id;
    Error *error = process_wire_read_request(&reader, request);
    if (!error) error = device->class_->plan(device, &request->request, &plan);
    wire_request_deinit(request);
    TRY(error);
    Plan *kept = plan_retain(plan);
    error = process_handles_add_plan(service->work->handles, plan, &id);
    if (!error) process_wire_write_plan(out, id, kept);
    plan_release(kept);
    return error;
}

Error *process_serve_plan_release(ProcessService *service, ByteReader *in, ByteWriter *out) {
    uint64_t id, launches;
    (void)out;
    TRY(byte_read_u64(in, &id));
    TRY(byte_read_u64(in, &launches));
    process_handles_drop(service->work->handles, id, launches);
    return NULL;
}

static Error *read_launch(ProcessService *service, ByteReader *in, bool measures, Plan **out) {
    WireLaunch *launch = &service->launch;
    TRY(process_wire_read_launch(in, launch));
    TRY(process_handles_get_plan(service->work->handles, launch->plan, out));
    const Plan *plan = *out;
    if (launch->input_count != plan->input_count ||
        launch->output_count != (measures ? 0 : plan->output_count) ||
        (measures ? !plan->measure : !plan->launch))
        FAIL(CORRUPT, "a launch that is not of its plan");
    if (!launch->has_shapes && !measures && plan->measure)
        FAIL(CORRUPT, "a launch without the shapes that were measured");
    if (!launch->has_shapes)
        for (uint32_t i = 0; i < plan->output_count; i++)
            launch->shapes[i] = plan->outputs[i].shape;
    launch->launch.stream = service->stream;
    return NULL;
}

/* process_service_look reads the stop that the parent wrote before it posted this launch. */
static KernelStopScope scope_of(ProcessService *service) {
    const uint32_t bits = service->launch.scope;
    if (!(bits & WIRE_SCOPE_STOPS)) return (KernelStopScope){0};
    process_service_look(service);
    return (KernelStopScope){
        &service->stop, (bits & WIRE_SCOPE_WHOLE) != 0, (bits & WIRE_SCOPE_PAUSES) != 0};
}

Error *process_serve_launch(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Plan *plan;
    (void)out;
    const WireLaunch *launch = &service->launch;
    TRY(read_launch(service, in, false, &plan));
    Error *error = NULL;
    kernel_stop_scope = scope_of(service);
    if (!service->error) error = plan->launch(plan, &launch->launch, launch->shapes);
    kernel_stop_scope = (KernelStopScope){0};
    process_handles_count_use(service->work->handles, launch->plan);
    return error;
}

Error *process_serve_measure(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Plan *plan;
    WireLaunch *launch = &service->launch;
    TRY(read_launch(service, in, true, &plan));
    TRY(process_service_tell(service));
    kernel_stop_scope = scope_of(service);
    Error *error = plan->measure(plan, &launch->launch, launch->shapes);
    kernel_stop_scope = (KernelStopScope){0};
    TRY(error);
    process_wire_write_shapes(out, launch->shapes, plan->output_count);
    return NULL;
}

/* ---- packed weights ---- */

Error *process_serve_pack_rule(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    ByteReader reader = whole(service, in);
    PackRequest request;
    OWN(Attributes, attributes) = NULL;
    uint32_t layout;
    uint64_t bytes;
    if (!device->class_->pack_rule) FAIL(UNSUPPORTED, "%s packs nothing", device->name);
    TRY(process_wire_read_pack(&reader, &request, &attributes));
    TRY(device->class_->pack_rule(device, &request, &layout, &bytes));
    byte_write_u32(out, layout);
    byte_write_u64(out, bytes);
    return NULL;
}

Error *process_serve_pack(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    PackRequest request;
    OWN(Attributes, attributes) = NULL;
    uint32_t layout;
    uint64_t to, bytes;
    (void)out;
    if (!device->class_->pack) FAIL(UNSUPPORTED, "%s packs nothing", device->name);
    TRY(byte_read_u32(in, &layout));
    TRY(byte_read_u64(in, &to));
    TRY(process_wire_read_pack(in, &request, &attributes));
    TRY(shape_bytes(&request.constant.shape, request.constant.dtype, &bytes));
    if (bytes != service->inbox_size) FAIL(CORRUPT, "a constant of another size than its shape");
    TRY(process_service_tell(service));
    return device->class_->pack(device, service->stream, &request, layout, service->inbox, to);
}

Error *process_serve_kernels(ProcessService *service, ByteReader *in, ByteWriter *out) {
    Device *device = service->work->device;
    (void)in;
    size_t count_at = out->size;
    uint32_t tables = 0;
    byte_write_u32(out, 0);
    if (!device->class_->kernels) return NULL;
    for (const Kernel *const *table = device->class_->kernels(device); *table; table++, tables++) {
        const uint32_t rows = kernel_table_count(*table);
        byte_write_u32(out, rows);
        for (const Kernel *row = *table; row < *table + rows; row++) {
            byte_write_text(out, operator_get(row->operator_id)->name);
            byte_write_u32(out, row->dtypes);
            byte_write_u32(out, row->flags);
            byte_write_text(out, row->name);
        }
    }
    byte_patch_u32(out, count_at, tables);
    return NULL;
}
