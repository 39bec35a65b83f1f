#pragma once
/* Calls of which the CUDA kernels, run on the host, must make what the cpu makes of them: with
 * equal bits or nearly; forwards and backwards, at odd addresses and in place, always with the same
 * bits. */
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

typedef struct CudaCall {
    const char *kernel_name; /* that must serve it */
    const char *operator_name, *attributes;
    DTypeSet dtypes; /* with each of which it runs */
    /* How far the cpu's result may be, in roundings of the element type relative to 1 + |it|:
     * halves, which are computed in float32, at most 4. 0: equal bits. */
    double roundings;
    uint32_t output_count;
    const char *inputs; /* as in tensor_text.h */
} CudaCall;

void cuda_fixture_check_all(const CudaCall *calls, size_t count);
#define cuda_fixture_check(table) cuda_fixture_check_all(table, sizeof(table) / sizeof((table)[0]))
