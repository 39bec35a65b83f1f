#pragma once
/* Runs an operator on constants at compile time, with kernels whose bits are the same on every
 * machine. Callers: the folding passes and shape inference. Threads: one at a time per device. */
#include "kernels/device/device.h"
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/tensor/tensor.h"

/* Evaluates an operator.
 *
 * inputs:      NULL for absent ones; data on the host.
 * bytes_max:   of all outputs together.
 * out_outputs: output_count tensors of device_host(), owned by the caller, when *out_done.
 * out_done:    false (and no error) when there is no portable kernel, the outputs are larger, or
 *              the operator refuses its inputs; a run that reaches the operator then gets that
 *              error.
 * Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *evaluate_operator(Device *portable, const OperatorInfo *operator_info,
    const Attributes *attributes, uint32_t input_count, Tensor *const *inputs,
    uint32_t output_count, uint64_t bytes_max, Tensor **out_outputs, bool *out_done);
