#pragma once
/* External data of ONNX tensors: files beside the model, opened so that nothing outside the model's
 * folder or tree is reached. */
#include <stdint.h>

#include "base/error.h"
#include "compiler/frontend/onnx_folder.h"
#include "onnx.pb-c.h"

/* Opens the tensor's external data: only relative paths without "..", a regular file that holds
 * size bytes at the offset. Without a tree every component is opened without following symbolic
 * links, and the file has one link; with one, what was opened is what lies in the tree, whatever
 * becomes of the links. Close *out_descriptor. Errors: INVALID naming the location; NOT_FOUND; IO;
 * UNSUPPORTED when folder is NULL. */
MUST_CHECK Error *onnx_external_open(const Onnx__TensorProto *tensor, const OnnxFolder *folder,
    uint64_t size, int *out_descriptor, uint64_t *out_offset);
/* Reads exactly size bytes at offset. */
MUST_CHECK Error *onnx_external_read(int descriptor, uint64_t offset, void *out, uint64_t size);
