#pragma once
/* Converts a SparseTensorProto to a dense Tensor. Callers: files of the ONNX front end. Pure: no
 * state, any thread. */
#include "compiler/frontend/base/onnx_folder.h"
#include "kernels/tensor/tensor.h"
#include "onnx.pb-c.h"

/* Limit for all sparse tensors of a model together, so that a small file cannot demand much memory.
 */
static const uint64_t ONNX_SPARSE_BYTES_MAX = UINT64_C(1) << 30;

/* Returns the tensor's name, "" without one. */
static inline const char *onnx_sparse_name(const Onnx__SparseTensorProto *proto) {
    return proto->values && proto->values->name ? proto->values->name : "";
}
/* Reads a sparse tensor: zeros or empty strings, and the values at the indices ([NNZ], counted in
 * the whole tensor, or [NNZ, rank]).
 *
 * device:     a device whose addresses are pointers.
 * inout_left: bytes that may be allocated; the call subtracts the tensor's.
 * Errors: INVALID dims, or indices that are not int64, in the tensor and in rising order;
 *         UNSUPPORTED element types, more than *inout_left bytes; those of onnx_tensor_read. */
MUST_CHECK Error *onnx_sparse_read(const Onnx__SparseTensorProto *proto, const OnnxFolder *folder,
    Device *device, uint64_t *inout_left, Tensor **out);
