#pragma once
/* External data of ONNX tensors: files beside the model, opened so that nothing outside the model's
 * folder or tree can be reached. Caller: onnx_tensor.c. Threads: any. */
#include <stdint.h>

#include "base/error.h"
#include "compiler/frontend/base/onnx_folder.h"
#include "onnx.pb-c.h"

/* Opens the tensor's external data. Accepts only relative paths without ".." to a regular file that
 * holds size bytes at the offset. Without a tree every component is opened without following
 * symbolic links, and the file must have one link. With a tree the opened file itself must lie in
 * the tree, even if links change during the call. The caller closes *out_descriptor.
 * Errors: INVALID naming the location; NOT_FOUND; IO; UNSUPPORTED folder is NULL. */
MUST_CHECK Error *onnx_external_open(const Onnx__TensorProto *tensor, const OnnxFolder *folder,
    uint64_t size, int *out_descriptor, uint64_t *out_offset);
/* Reads exactly size bytes at offset. */
MUST_CHECK Error *onnx_external_read(int descriptor, uint64_t offset, void *out, uint64_t size);
