#pragma once
/* Runs one operator on one device the way the interpreter does: infer, plan, allocate, launch. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"
#include "tests/support/device_tensor.h"

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
    bool direct; /* without a stream of its own: each step is done when it returns */
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

/* The same in steps: a call that is planned, with its operands on the device. */
typedef struct DeviceRun DeviceRun;
/* call: borrowed, outlives the run. */
MUST_CHECK Error *device_run_open(const DeviceCall *call, DeviceRun **out);
void device_run_close(DeviceRun *run);
DEFINE_OWN(DeviceRun, device_run_close);
/* Queues a launch. May be repeated unless the call is in place. Nothing for views. */
MUST_CHECK Error *device_run_launch(DeviceRun *run);
/* Returns when the launches are done. Errors: theirs. */
MUST_CHECK Error *device_run_wait(DeviceRun *run);
/* The outputs, to be released. */
MUST_CHECK Error *device_run_fetch(DeviceRun *run, Tensor **out_outputs);
const Plan *device_run_get_plan(const DeviceRun *run);
/* The address of an output and its bytes; strings included, which cannot be fetched. */
uint64_t device_run_get_output(const DeviceRun *run, uint32_t index, uint64_t *out_bytes);
/* NULL on a device without queues. */
DeviceStream *device_run_get_stream(const DeviceRun *run);
/* Bytes that a launch reads and writes at least: all inputs and outputs once. */
uint64_t device_run_operand_bytes(const DeviceRun *run);
