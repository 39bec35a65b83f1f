#include "kernels/registry/device_registry.h"

#include <string.h>

#include "kernels/cpu/device/cpu_device.h"
#include "kernels/plugin/plugin.h"
#include "kernels/process/process_device.h"

#define DEVICE(kind) extern const DeviceClass kind##_device_class;
#define DEVICE_PLUGIN(kind)
#include "kernels/registry/devices.def"
#undef DEVICE_PLUGIN
#undef DEVICE

static const DeviceClass *const classes[] = {
#define DEVICE(kind) &kind##_device_class,
#define DEVICE_PLUGIN(kind)
#include "kernels/registry/devices.def"
#undef DEVICE_PLUGIN
#undef DEVICE
    NULL,
};

static const char *const kinds[] = {
#define DEVICE(kind) #kind,
#define DEVICE_PLUGIN(kind) #kind,
#include "kernels/registry/devices.def"
#undef DEVICE_PLUGIN
#undef DEVICE
    NULL,
};

enum { DEVICE_INDEX_MAX = 63, KIND_MAX = 16 };

const DeviceClass *const *device_classes(void) { return classes; }
const char *const *device_kinds(void) { return kinds; }

static Error *unknown_kind(const char *kind) {
    TextBuilder OWN_TEXT(known) = {0};
    for (size_t i = 0; kinds[i]; i++) text_appendf(&known, "%s%s", i ? ", " : "", kinds[i]);
    FAIL(UNSUPPORTED, "no device kind \"%s\" in this build; there are: %s", kind,
        text_builder_get(&known));
}

/* NULL: this build does not contain the kind. */
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
        error_free(error); /* device_open reports the reason */
        return 0;
    }
    return class_->count ? class_->count() : 1;
}

/* A device SPEC taken apart. */
typedef struct ParsedSpec {
    char kind[KIND_MAX];
    uint32_t index;
    const DeviceClass *class_;
    TextBuilder options; /* the options except `worker` */
    bool in_process;
} ParsedSpec;

/* Takes out `worker`. The device refuses options that are not name=value. */
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

/* Parses "sim:1,memory=64MiB": the kind, then index and options, which are both optional. */
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

Error *device_open_portable(Device **out) { return cpu_device_open_portable(out); }
