#pragma once
/* Running an operator on constants at compile time, with kernels whose bits are the same on every
 * machine. */
#include "kernels/device/device.h"
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/tensor/tensor.h"

/* inputs: NULL where absent; data on the host. bytes_max: of all outputs together.
 * out_outputs: output_count tensors of device_host(), owned by the caller, when *out_done; not done
 * (and no error) when there is no portable kernel, the outputs are larger, or the operator refuses
 * its inputs: that error then belongs to the run, if it comes to one. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *evaluate_operator(Device *portable, const OperatorInfo *operator_info,
    const Attributes *attributes, uint32_t input_count, Tensor *const *inputs,
    uint32_t output_count, uint64_t bytes_max, Tensor **out_outputs, bool *out_done);
