#include "kernels/device.h"

#include <stdatomic.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/host_memory.h"
#include "kernels/plan.h"
#include "kernels/plugin.h"
#include "kernels/process/process_device.h"

#define DEVICE(kind) extern const DeviceClass kind##_device_class;
#define DEVICE_PLUGIN(kind)
#include "kernels/devices.def"
#undef DEVICE_PLUGIN
#undef DEVICE

static const DeviceClass *const classes[] = {
#define DEVICE(kind) &kind##_device_class,
#define DEVICE_PLUGIN(kind)
#include "kernels/devices.def"
#undef DEVICE_PLUGIN
#undef DEVICE
    NULL,
};

static const char *const kinds[] = {
#define DEVICE(kind) #kind,
#define DEVICE_PLUGIN(kind) #kind,
#include "kernels/devices.def"
#undef DEVICE_PLUGIN
#undef DEVICE
    NULL,
};

enum { DEVICE_INDEX_MAX = 63, KIND_MAX = 16, TRANSFER_BYTES = 1 << 20 };

const DeviceClass *const *device_classes(void) { return classes; }
const char *const *device_kinds(void) { return kinds; }

static Error *host_plan(Device *device, const PlanRequest *request, Plan **out) {
    (void)out;
    FAIL(UNSUPPORTED, "%s: no kernel for %s", device->name, request->operator_info->name);
}

static void host_close(Device *device) { (void)device; }

static const DeviceClass host_class = {
    .abi_version = DEVICE_ABI_VERSION,
    .kind = "host",
    .close = host_close,
    .memory = host_memory_info,
    .alloc = host_memory_alloc,
    .free = host_memory_free,
    .copy_from_host = host_memory_copy_from_host,
    .copy_to_host = host_memory_copy_to_host,
    .copy = host_memory_copy,
    .plan = host_plan,
    .host_memory = true,
};

Device *device_host(void) {
    static Device host = {
        .class_ = &host_class, .name = "host"}; /* only total_bytes is ever written */
    return &host;
}

static Error *unknown_kind(const char *kind) {
    TextBuilder OWN_TEXT(known) = {0};
    for (size_t i = 0; kinds[i]; i++) text_appendf(&known, "%s%s", i ? ", " : "", kinds[i]);
    FAIL(UNSUPPORTED, "no device kind \"%s\" in this build; there are: %s", kind,
        text_builder_get(&known));
}

/* NULL: not in this build. */
static const DeviceClass *find_built_in(const char *kind) {
    for (size_t i = 0; classes[i]; i++)
        if (strcmp(classes[i]->kind, kind) == 0) return classes[i];
    return NULL;
}

static Error *find_class(const char *kind, const DeviceClass **out) {
    const DeviceClass *built_in = find_built_in(kind);
    if (built_in) {
        *out = built_in;
        return NULL;
    }
    for (size_t i = 0; kinds[i]; i++)
        if (strcmp(kinds[i], kind) == 0) return plugin_load(kind, out);
    return unknown_kind(kind);
}

uint32_t device_count(const char *kind) {
    const DeviceClass *class_;
    Error *error = find_class(kind, &class_);
    if (error) {
        error_free(error); /* whoever opens one is told why there is none */
        return 0;
    }
    return class_->count ? class_->count() : 1;
}

/* A device SPEC taken apart. */
typedef struct ParsedSpec {
    char kind[KIND_MAX];
    uint32_t index;
    const DeviceClass *class_;
    TextBuilder options; /* without `worker` */
    bool in_process;
} ParsedSpec;

/* What is not name=value is left for the device to refuse. */
static Error *parse_options(const char *options, ParsedSpec *out) {
    while (*options) {
        size_t length = strcspn(options, ",");
        if (strncmp(options, "worker=", 7) == 0) {
            const char *value = options + 7;
            bool process = length == 14 && strncmp(value, "process", 7) == 0;
            if (!process && !(length == 11 && strncmp(value, "none", 4) == 0))
                FAIL(USAGE, "worker=%.*s is neither process nor none", (int)(length - 7), value);
            out->in_process = process;
        } else {
            if (out->options.size) text_append(&out->options, ",");
            text_append_bytes(&out->options, options, length);
        }
        options += options[length] ? length + 1 : length;
    }
    return text_builder_check(&out->options);
}

/* "sim:1,memory=64MiB": kind, then index and options, each of them optional. */
static Error *parse_spec(const char *spec, ParsedSpec *out) {
    size_t length = strcspn(spec, ":,");
    if (length == 0 || length >= sizeof out->kind)
        FAIL(USAGE, "\"%s\" is not a device such as cpu or sim:0", spec);
    memcpy(out->kind, spec, length);
    out->kind[length] = 0;
    TRY_WRAP(find_class(out->kind, &out->class_), "device \"%s\"", spec);
    const char *at = spec + length;
    if (*at) at++;
    size_t digits = strspn(at, "0123456789");
    if (digits > 0 && (at[digits] == 0 || at[digits] == ',') && spec[length] == ':') {
        for (size_t i = 0; i < digits && out->index <= DEVICE_INDEX_MAX; i++)
            out->index = out->index * 10 + (uint32_t)(at[i] - '0');
        if (out->index > DEVICE_INDEX_MAX)
            FAIL(USAGE, "device \"%s\": the index is above %d", spec, DEVICE_INDEX_MAX);
        at += at[digits] ? digits + 1 : digits;
    }
    return parse_options(at, out);
}

static Error *open_in_process(const ParsedSpec *parsed, Device **out) {
    TextBuilder OWN_TEXT(spec) = {0};
    if (parsed->class_->host_memory)
        FAIL(USAGE, "%s cannot be in a process of its own: its memory is the host's", parsed->kind);
    text_appendf(&spec, "%s:%u%s%s", parsed->kind, parsed->index, parsed->options.size ? "," : "",
        text_builder_get(&parsed->options));
    TRY(text_builder_check(&spec));
    return process_device_open(parsed->kind, parsed->index, text_builder_get(&spec), out);
}

static Error *open_parsed(const ParsedSpec *parsed, bool in_process, Device **out) {
    if (in_process) return open_in_process(parsed, out);
    return parsed->class_->open(
        parsed->kind, parsed->index, text_builder_get(&parsed->options), out);
}

static Error *open_spec(const char *spec, bool here, Device **out) {
    ParsedSpec parsed = {0};
    Error *error = parse_spec(spec, &parsed);
    if (!error) {
        bool in_process = parsed.in_process && !here;
        error = open_parsed(&parsed, in_process, out);
        if (!here) error = error_wrap(error, "device \"%s\"", spec);
    }
    text_builder_deinit(&parsed.options);
    return error;
}

static bool is_plugin(const char *spec) {
    size_t length = strcspn(spec, ":,");
    for (size_t i = 0; kinds[i]; i++)
        if (strlen(kinds[i]) == length && strncmp(kinds[i], spec, length) == 0)
            return !find_built_in(kinds[i]);
    return false;
}

Error *device_spec_apart(const char *spec, char **out_spec) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, spec);
    if (is_plugin(spec) && !strstr(spec, ",worker=")) text_append(&text, ",worker=process");
    return text_builder_take(&text, out_spec);
}

Error *device_open(const char *spec, Device **out) { return open_spec(spec, false, out); }

Error *device_open_here(const char *spec, Device **out) { return open_spec(spec, true, out); }

void device_close(Device *device) {
    if (device) device->class_->close(device);
}

Error *device_open_portable(Device **out) { return cpu_device_open_portable(out); }

Error *device_total_bytes(Device *device, uint64_t *out_bytes) {
    uint64_t total = atomic_load_explicit(&device->total_bytes, memory_order_relaxed);
    if (total == 0) {
        DeviceMemory memory;
        TRY(device->class_->memory(device, &memory));
        total = memory.total_bytes;
        atomic_store_explicit(&device->total_bytes, total, memory_order_relaxed);
    }
    *out_bytes = total;
    return NULL;
}

bool device_shares_memory(const Device *a, const Device *b) {
    return a == b || (a->class_->host_memory && b->class_->host_memory);
}

Error *device_stream_create(Device *device, DeviceStream **out) {
    *out = NULL;
    return device->class_->stream_create ? device->class_->stream_create(device, out) : NULL;
}

void device_stream_destroy(Device *device, DeviceStream *stream) {
    if (stream) device->class_->stream_destroy(device, stream);
}

Error *device_stream_synchronize(Device *device, DeviceStream *stream) {
    return stream ? device->class_->stream_synchronize(device, stream) : NULL;
}

static Error *copy_in(DevicePlace to, const void *from, uint64_t size) {
    return to.device->class_->copy_from_host(to.device, to.stream, to.address, from, size);
}

static Error *copy_out(void *to, DevicePlace from, uint64_t size) {
    return from.device->class_->copy_to_host(from.device, from.stream, to, from.address, size);
}

static Error *transfer_through_host(DevicePlace to, DevicePlace from, uint64_t size, void *buffer) {
    for (uint64_t left = size, part; left > 0; left -= part) {
        part = left < TRANSFER_BYTES ? left : TRANSFER_BYTES;
        TRY(copy_out(buffer, from, part));
        TRY(copy_in(to, buffer, part));
        to.address += part;
        from.address += part;
    }
    return NULL;
}

/* Between two streams: behind what the source's is at, and done before it goes on. */
static Error *copy_inside(DevicePlace to, DevicePlace from, uint64_t size) {
    Device *device = to.device;
    if (from.stream != to.stream) TRY(device_stream_synchronize(device, from.stream));
    TRY(device->class_->copy(device, to.stream, to.address, from.address, size));
    return from.stream != to.stream ? device_stream_synchronize(device, to.stream) : NULL;
}

Error *device_transfer(DevicePlace to, DevicePlace from, uint64_t size) {
    if (size == 0) return NULL;
    if (to.device == from.device) return copy_inside(to, from, size);
    if (from.device->class_->host_memory)
        return copy_in(to, (const void *)(uintptr_t)from.address, size);
    if (to.device->class_->host_memory) return copy_out((void *)(uintptr_t)to.address, from, size);
    void *buffer;
    TRY(memory_alloc(TRANSFER_BYTES, 1, &buffer));
    Error *error = transfer_through_host(to, from, size, buffer);
    memory_free(buffer);
    return error;
}
