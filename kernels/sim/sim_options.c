#include "kernels/sim/sim_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kernels/operator/operator.h"

static const uint64_t MEMORY_BYTES_DEFAULT = (uint64_t)1 << 30;
enum { LAG_US_MAX = 1000000 };
static const double SPEED_MIN = 1e-6, SPEED_MAX = 1e6;

static Error *read_lacks(const DeviceOption *option, void *out) {
    char lacks[DEVICE_OPTION_MAX + 2];
    int size = snprintf(lacks, sizeof lacks, "+%s+", option->value);
    if (size >= DEVICE_OPTION_MAX)
        FAIL(USAGE, "lacks=… has more than %d letters", DEVICE_OPTION_MAX - 3);
    for (const char *at = option->value; *at;) {
        char name[DEVICE_OPTION_MAX];
        size_t length = strcspn(at, "+");
        memcpy(name, at, length);
        name[length] = 0;
        if (!operator_find(name) && strcmp(name, "*") != 0)
            FAIL(USAGE, "lacks: there is no operator \"%s\"", name);
        at += at[length] ? length + 1 : length;
    }
    memcpy(out, lacks, (size_t)size + 1);
    return NULL;
}

static Error *read_bytes(const DeviceOption *option, void *out) {
    return device_option_bytes(option, out);
}

static Error *read_speed(const DeviceOption *option, void *out) {
    return device_option_factor(option, SPEED_MIN, SPEED_MAX, out);
}

static Error *read_lag(const DeviceOption *option, void *out) {
    return device_option_count(option, 1, LAG_US_MAX, out);
}

static Error *read_count(const DeviceOption *option, void *out) {
    return device_option_count(option, 1, UINT64_MAX, out);
}

static const struct {
    const char *name;
    Error *(*read)(const DeviceOption *option, void *out);
    size_t offset;
} options_known[] = {
    {"memory", read_bytes, offsetof(SimOptions, memory_bytes)},
    {"lacks", read_lacks, offsetof(SimOptions, lacks)},
    {"speed", read_speed, offsetof(SimOptions, speed)},
    {"bandwidth", read_bytes, offsetof(SimOptions, bandwidth)},
    {"lag", read_lag, offsetof(SimOptions, lag_us)},
    {"fail-alloc", read_count, offsetof(SimOptions, fail_alloc)},
    {"fail-copy", read_count, offsetof(SimOptions, fail_copy)},
    {"fail-launch", read_count, offsetof(SimOptions, fail_launch)},
    {"lose-after", read_count, offsetof(SimOptions, lose_after)},
};
enum { OPTION_COUNT = sizeof options_known / sizeof options_known[0] };

static Error *fail_unknown(const char *name) {
    TextBuilder OWN_TEXT(names) = {0};
    for (size_t i = 0; i < OPTION_COUNT; i++)
        text_appendf(&names, "%s%s", i ? ", " : "", options_known[i].name);
    FAIL(USAGE, "sim has no option \"%s\"; there are: %s", name, text_builder_get(&names));
}

static Error *read_option(const DeviceOption *option, SimOptions *out) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strcmp(options_known[i].name, option->name) == 0)
            return options_known[i].read(option, (char *)out + options_known[i].offset);
    return fail_unknown(option->name);
}

Error *sim_options_read(const char *options, SimOptions *out) {
    SimOptions read = {.memory_bytes = MEMORY_BYTES_DEFAULT};
    for (;;) {
        bool found;
        DeviceOption option;
        TRY(device_option_next(&options, &option, &found));
        if (!found) break;
        TRY(read_option(&option, &read));
    }
    *out = read;
    return NULL;
}
