#include "kernels/device/device_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

static Error *copy_part(const char *from, size_t size, char out[DEVICE_OPTION_MAX]) {
    if (size == 0 || size >= DEVICE_OPTION_MAX)
        FAIL(USAGE, "device option \"%.*s\" is not name=value", (int)(size < 80 ? size : 80), from);
    memcpy(out, from, size);
    out[size] = 0;
    return NULL;
}

Error *device_option_next(const char **inout_options, DeviceOption *out, bool *out_found) {
    const char *at = *inout_options;
    *out_found = *at != 0;
    if (*at == 0) return NULL;
    size_t size = strcspn(at, ",");
    const char *equals = memchr(at, '=', size);
    if (!equals)
        FAIL(USAGE, "device option \"%.*s\" is not name=value", (int)(size < 80 ? size : 80), at);
    TRY(copy_part(at, (size_t)(equals - at), out->name));
    TRY(copy_part(equals + 1, size - (size_t)(equals + 1 - at), out->value));
    *inout_options = at[size] ? at + size + 1 : at + size;
    return NULL;
}

Error *device_option_bytes(const DeviceOption *option, uint64_t *out) {
    static const struct {
        const char *suffix;
        double scale;
    } units[] = {{"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776}};
    char number[DEVICE_OPTION_MAX];
    memcpy(number, option->value, sizeof number);
    double scale = 1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!text_ends_with(number, units[i].suffix)) continue;
        number[strlen(number) - strlen(units[i].suffix)] = 0;
        scale = units[i].scale;
        break;
    }
    double value;
    if (!text_parse_f64(number, &value) || !(value > 0) || value * scale > 0x1p60 ||
        value * scale < 1)
        FAIL(USAGE, "%s=%s is not a size such as 64MiB", option->name, option->value);
    *out = (uint64_t)(value * scale);
    return NULL;
}

Error *device_option_count(const DeviceOption *option, uint64_t min, uint64_t max, uint64_t *out) {
    uint64_t value;
    if (!text_parse_u64(option->value, &value) || value < min || value > max)
        FAIL(USAGE, "%s=%s is not a number from %" PRIu64 " to %" PRIu64, option->name,
            option->value, min, max);
    *out = value;
    return NULL;
}

Error *device_option_factor(const DeviceOption *option, double min, double max, double *out) {
    double value;
    if (!text_parse_f64(option->value, &value) || !(value >= min && value <= max))
        FAIL(USAGE, "%s=%s is not a number from %g to %g", option->name, option->value, min, max);
    *out = value;
    return NULL;
}
