#pragma once
/* TensorProto to Tensor: sizes are recomputed and compared before anything is allocated. */
#include "compiler/frontend/onnx_folder.h"
#include "kernels/tensor/tensor.h"
#include "onnx.pb-c.h"

/* ONNX's element type number to ours. Errors: UNSUPPORTED naming it. */
MUST_CHECK Error *onnx_dtype(int32_t data_type, DType *out);
/* device: whose addresses are pointers. Errors: INVALID dims, sizes; UNSUPPORTED element type. */
MUST_CHECK Error *onnx_tensor_read(
    const Onnx__TensorProto *proto, const OnnxFolder *folder, Device *device, Tensor **out);
/* A tensor of strings; the shape says how many. Errors: INVALID one is not UTF-8. */
MUST_CHECK Error *onnx_tensor_make_strings(
    const Shape *shape, const ProtobufCBinaryData *strings, Tensor **out);
