#pragma once
/* A cuda device over the driver without a GPU (tests/support/fake_cuda), opened without the plugin
 * so that its inside can be looked at. */
#include "kernels/cuda/runtime/cuda_device.h"
#include "tests/support/test_support.h"

/* A setting of the fake driver for the devices opened next; NULL removes it. */
void cuda_device_fixture_set(const char *name, const char *value);
/* Errors: as the device class's open. */
MUST_CHECK Error *cuda_device_fixture_open(const char *options, Device **out);
/* The same, and it works. */
Device *cuda_device_fixture_get(const char *options);
/* Random bytes; the caller frees them. */
uint8_t *cuda_device_fixture_bytes(size_t size, uint64_t seed);
