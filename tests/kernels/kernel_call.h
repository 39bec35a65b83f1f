#pragma once
/* Runs one operator on a device under different conditions: threads, odd addresses, packed
 * constants, in place; checks that nothing is written beside the outputs. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"
#include "tests/support/test_support.h"

enum { KERNEL_CALL_INPUTS_MAX = 16, KERNEL_CALL_OUTPUTS_MAX = 4 };

typedef struct KernelInput {
    DType dtype; /* DTYPE_NONE: absent */
    Shape shape;
    const void *data;
} KernelInput;

typedef struct KernelCall {
    const char *name;       /* of the operator */
    const char *attributes; /* "{axis=1}"; NULL for none */
    uint32_t input_count, output_count;
    KernelInput inputs[KERNEL_CALL_INPUTS_MAX];
} KernelCall;

typedef struct KernelMode {
    uint32_t threads;
    uint32_t offset;  /* elements by which each tensor misses alignment */
    uint32_t packed;  /* bit i: input i is a constant that the device may pack */
    int32_t in_place; /* output 0 over this input where the plan allows it; -1: no */
    uint8_t fill;     /* what outputs and workspace hold before */
} KernelMode;

typedef struct KernelResult {
    const char *kernel_name;
    bool was_packed, was_in_place;
    uint32_t count;
    DType dtypes[KERNEL_CALL_OUTPUTS_MAX];
    Shape shapes[KERNEL_CALL_OUTPUTS_MAX];
    uint64_t bytes[KERNEL_CALL_OUTPUTS_MAX];
    void *data[KERNEL_CALL_OUTPUTS_MAX];
} KernelResult;

#define KERNEL_MODE_PLAIN ((KernelMode){.threads = 1, .in_place = -1})

/* device: cpu. The result is released with kernel_result_deinit. */
MUST_CHECK Error *kernel_call_run(
    Device *device, const KernelCall *call, KernelMode mode, KernelResult *out);
void kernel_result_deinit(KernelResult *result);

/* Runs plainly into *out, then under many conditions, and compares every byte: 1, 2, 3 and 8
 * threads, odd addresses, in place over each input, other contents of memory before. */
void kernel_call_check_bits(Device *device, const KernelCall *call, KernelResult *out);
/* With the inputs of the bits packed: the same bits at any number of threads, near the plain
 * result, and with one of our own kernels the plain result's bits. Returns whether anything was
 * packed. */
bool kernel_call_check_packed(
    Device *device, const KernelCall *call, uint32_t packed, const KernelResult *plain);

/* |value - expected| <= tolerance * (1 + |expected|) for each; NaN only where NaN is expected. */
void kernel_check_close(
    const KernelResult *result, uint32_t output, const double *expected, double tolerance);
/* Element i of an output as double. */
double kernel_result_at(const KernelResult *result, uint32_t output, int64_t index);

/* count numbers of -1 … 1, the same for the same seed; released with free. */
float *kernel_random_floats(uint64_t seed, int64_t count);
/* "cpu", opened once and never closed; kernel_portable_device likewise. */
Device *kernel_cpu_device(void);
Device *kernel_portable_device(void);
