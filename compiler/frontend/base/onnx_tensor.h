#pragma once
/* Converts a TensorProto to a Tensor. Sizes are recomputed and compared before memory is allocated.
 * Callers: files of the ONNX front end. Pure: no state, any thread. */
#include "compiler/frontend/base/onnx_folder.h"
#include "kernels/tensor/tensor.h"
#include "onnx.pb-c.h"

/* Converts ONNX's element type number to ours. Errors: UNSUPPORTED naming it. */
MUST_CHECK Error *onnx_dtype(int32_t data_type, DType *out);
/* Reads a tensor. device: a device whose addresses are pointers. Errors: INVALID dims, sizes;
 * UNSUPPORTED element type. */
MUST_CHECK Error *onnx_tensor_read(
    const Onnx__TensorProto *proto, const OnnxFolder *folder, Device *device, Tensor **out);
/* Makes a tensor of strings; the shape gives their number. Errors: INVALID a string is not UTF-8.
 */
MUST_CHECK Error *onnx_tensor_make_strings(
    const Shape *shape, const ProtobufCBinaryData *strings, Tensor **out);
