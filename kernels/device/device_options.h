#pragma once
/* Parses the part of a device SPEC after its index: "memory=64MiB,speed=2". Called by the devices
 * when they are opened. Pure: no state. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { DEVICE_OPTION_MAX = 64 };

typedef struct DeviceOption {
    char name[DEVICE_OPTION_MAX];
    char value[DEVICE_OPTION_MAX];
} DeviceOption;

/* The next option; *out_found false at the end. Errors: USAGE. */
MUST_CHECK Error *device_option_next(
    const char **inout_options, DeviceOption *out, bool *out_found);
/* Parses "4096", "64KiB", "1.5GiB". Errors: USAGE naming the option. */
MUST_CHECK Error *device_option_bytes(const DeviceOption *option, uint64_t *out);
/* Parses a whole number. Errors: USAGE below min or above max. */
MUST_CHECK Error *device_option_count(
    const DeviceOption *option, uint64_t min, uint64_t max, uint64_t *out);
/* Parses a number such as 2 or 0.25. Errors: USAGE below min or above max. */
MUST_CHECK Error *device_option_factor(
    const DeviceOption *option, double min, double max, double *out);
