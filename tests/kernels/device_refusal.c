#include "tests/kernels/device_refusal.h"

#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

void device_refusals_check(const DeviceRefusal *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        Device *device = NULL;
        Error *error = device_open(rows[i].spec, &device);
        if (error_code(error) != rows[i].code || !strstr(error_message(error), rows[i].message))
            fail_msg("\"%s\": %s", rows[i].spec, error_message(error));
        error_free(error);
        assert_null(device);
    }
}
