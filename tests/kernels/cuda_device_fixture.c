#include "tests/kernels/cuda_device_fixture.h"

#include <stdlib.h>

#include "kernels/cuda/plugin/cuda_class.h"

void cuda_device_fixture_set(const char *name, const char *value) {
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

Error *cuda_device_fixture_open(const char *options, Device **out) {
    return cuda_device_class.open("cuda", 0, options, out);
}

Device *cuda_device_fixture_get(const char *options) {
    Device *device = NULL;
    assert_ok(cuda_device_fixture_open(options, &device));
    return device;
}

uint8_t *cuda_device_fixture_bytes(size_t size, uint64_t seed) {
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)test_random(&seed);
    return bytes;
}
