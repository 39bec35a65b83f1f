#pragma once
/* SparseTensorProto to a dense Tensor. */
#include "compiler/frontend/onnx_folder.h"
#include "kernels/tensor/tensor.h"
#include "onnx.pb-c.h"

/* Of all sparse tensors of a model together, so that a small file cannot take any memory. */
static const uint64_t ONNX_SPARSE_BYTES_MAX = UINT64_C(1) << 30;

/* "" where it has none. */
static inline const char *onnx_sparse_name(const Onnx__SparseTensorProto *proto) {
    return proto->values && proto->values->name ? proto->values->name : "";
}
/* Zeros, or empty strings, and the values where the indices say: [NNZ], counted in the whole
 * tensor, or [NNZ, rank]. device: whose addresses are pointers. inout_left: bytes that may be made;
 * what is made is taken off. Errors: INVALID dims, or indices that are not int64, in the tensor and
 * in rising order; UNSUPPORTED element types, more than *inout_left bytes; those of
 * onnx_tensor_read. */
MUST_CHECK Error *onnx_sparse_read(const Onnx__SparseTensorProto *proto, const OnnxFolder *folder,
    Device *device, uint64_t *inout_left, Tensor **out);
