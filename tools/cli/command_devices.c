#include <stdio.h>
#include <string.h>

#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "kernels/operator/kernel_table.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/server/jobs_api.h"
#include "tools/client/remote.h"

const CommandOption command_devices_options[] = {
    {"kernels", NULL, false, "which kernel serves which operator and element type"},
    {0},
};

static void print_row(json_object *device) {
    printf("%-8s %10.1f GB free of %.1f GB  %s\n", remote_text(device, "device"),
        remote_real(device, "free_bytes") / 1e9, remote_real(device, "memory_bytes") / 1e9,
        remote_text(device, "determinism_class"));
}

static Error *print_device(const CommandContext *context, const char *spec) {
    OWN(Device, device) = NULL;
    DeviceMemory memory;
    TextBuilder OWN_TEXT(class_text) = {0};
    json_object *object;
    TRY(device_open(spec, &device));
    TRY(device->class_->memory(device, &memory));
    device->class_->determinism_class(device, &class_text);
    TRY(text_builder_check(&class_text));
    JobsApiDevice shown = {.determinism_class = text_builder_get(&class_text),
        .memory_bytes = memory.total_bytes,
        .free_bytes = memory.free_bytes};
    (void)snprintf(shown.device, sizeof shown.device, "%s", device->name);
    (void)snprintf(shown.name, sizeof shown.name, "%s", device->class_->kind);
    TRY(jobs_api_device_json(&shown, &object));
    return remote_show(context, object, print_row);
}

static Error *print_kernel(const CommandContext *context, const char *device, const Kernel *row) {
    const OperatorInfo *info = operator_get(row->operator_id);
    TextBuilder OWN_TEXT(dtypes) = {0};
    for (uint32_t dtype = 1; dtype < DTYPE_COUNT; dtype++)
        if (dtype_is_known(dtype) && (row->dtypes & DTYPE_BIT(dtype)))
            text_appendf(&dtypes, "%s%s", dtypes.size ? " " : "", dtype_name((DType)dtype));
    if (!context->json) {
        printf("%-8s %-22s %-28s %s\n", device, info->name, row->name, text_builder_get(&dtypes));
        return NULL;
    }
    json_object *object;
    TRY(json_fields_create(&object));
    json_fields_text(object, "device", device);
    json_fields_text(object, "operator", info->name);
    json_fields_text(object, "kernel", row->name);
    json_fields_text(object, "dtypes", text_builder_get(&dtypes));
    return command_print_json(object);
}

/* Prints the kernels in the order of the search. */
static Error *print_kernels(const CommandContext *context, const char *spec) {
    OWN(Device, device) = NULL;
    TRY(device_open(spec, &device));
    if (!device->class_->kernels) return NULL;
    KernelRows rows = {device->class_->kernels(device), 0};
    for (const Kernel *row; (row = kernel_rows_next(&rows));)
        TRY(print_kernel(context, device->name, row));
    return NULL;
}

/* Prints every device of a kind; kernels once, since all devices of a kind have the same. */
static Error *print_kind(const CommandContext *context, const char *kind, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        char spec[DEVICE_NAME_MAX];
        int size = snprintf(spec, sizeof spec, "%s", kind);
        if (strcmp(kind, "cpu") != 0)
            (void)snprintf(spec + size, sizeof spec - (size_t)size, ":%u", i);
        if (command_flag(context, "kernels")) return print_kernels(context, spec);
        TRY(print_device(context, spec));
    }
    return NULL;
}

/* Kernels are the same in every process of this version. */
Error *command_devices(CommandContext *context) {
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    if (!command_flag(context, "kernels")) TRY(remote_find(context, &client));
    remote_path(&path, ROUTE_DEVICE_LIST, NULL);
    if (client) return remote_list(context, client, &path, NULL, print_row);
    for (const char *const *kind = device_kinds(); *kind; kind++)
        TRY(print_kind(context, *kind, device_count(*kind)));
    return NULL;
}
