#pragma once
/* Device SPECs that open no device, and why. */
#include <stddef.h>

#include "base/error.h"

typedef struct DeviceRefusal {
    ErrorCode code;
    const char *spec;
    const char *message; /* or a part of it */
} DeviceRefusal;

/* Tries each; names the first that is not refused as its row says. */
void device_refusals_check(const DeviceRefusal *rows, size_t count);
