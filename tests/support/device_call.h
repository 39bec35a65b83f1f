#pragma once
/* Runs one operator on one device the way the interpreter does: infer, plan, allocate, launch. */
#include "kernels/device.h"
#include "kernels/plan.h"
#include "kernels/tensor.h"
#include "tests/support/test_support.h"

enum { DEVICE_CALL_INPUTS_MAX = 16, DEVICE_CALL_OUTPUTS_MAX = 8 };

typedef struct DeviceCall {
    Device *device;
    const char *operator_name;
    const char *attributes; /* "{axis=1}"; NULL: the defaults */
    uint32_t input_count;
    Tensor *inputs[DEVICE_CALL_INPUTS_MAX]; /* on the host; NULL: absent */
    uint32_t output_count;                  /* 0 means 1 */
    uint32_t threads;                       /* 0 means 1 */
    /* Tensors start this many elements into their storages: kernels must not rely on alignment. */
    uint32_t offset_elements;
    /* Input 1 + n: output 0 is written over input n, where the plan allows it. 0: never. */
    uint32_t in_place;
    bool expand; /* a fused operator: as its plain ones, whatever kernels there are */
    bool pack;   /* input 1 is a constant: packed where the device's rule says so */
    uint64_t philox_key, philox_counter;
    /* Refuse (EXHAUSTED) to allocate a tensor beyond this; 0: no limit. */
    uint64_t bytes_max;
} DeviceCall;

/* out_outputs: host tensors, to be released. out_kernel_name: optional. */
MUST_CHECK Error *device_call_run(
    const DeviceCall *call, Tensor **out_outputs, const char **out_kernel_name);
/* Only infers and plans. */
MUST_CHECK Error *device_call_plan(const DeviceCall *call, Plan **out);

/* Host tensors from values of any kind; rank and dims follow. Release with tensor_release. */
Tensor *device_tensor(DType dtype, const double *values, uint32_t rank, ...);
/* Filled with repeatable numbers in [low, high]; integers whole. */
Tensor *device_tensor_random(
    DType dtype, const Shape *shape, double low, double high, uint64_t seed);
double device_tensor_get(const Tensor *tensor, int64_t index);
/* Of dtype, shape and bytes. */
uint64_t device_tensor_hash(const Tensor *tensor);
