#pragma once
/* External data of ONNX tensors: files beside the model, opened so that nothing outside the model's
 * folder is reached. */
#include <stdint.h>

#include "base/error.h"
#include "onnx.pb-c.h"

/* Opens the tensor's external data: only relative paths without "..", every component opened
 * without following symbolic links, a regular file with one link that holds size bytes at the
 * offset. Close *out_descriptor. Errors: INVALID naming the location; NOT_FOUND; IO; UNSUPPORTED
 * when directory_descriptor is -1. */
MUST_CHECK Error *onnx_external_open(const Onnx__TensorProto *tensor, int directory_descriptor,
    uint64_t size, int *out_descriptor, uint64_t *out_offset);
/* Reads exactly size bytes at offset. */
MUST_CHECK Error *onnx_external_read(int descriptor, uint64_t offset, void *out, uint64_t size);
