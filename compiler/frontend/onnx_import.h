#pragma once
/* Imports ONNX models: the bytes of a ModelProto become a module of the IR. All bytes are checked.
 * Caller: compile.c. Threads: any. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compiler/frontend/base/onnx_folder.h"
#include "compiler/frontend/base/onnx_names.h"
#include "compiler/ir/ir.h"

enum { ONNX_OPSET_MIN = 1, ONNX_OPSET_MAX = 28, ONNX_IR_MIN = 3, ONNX_IR_MAX = 14 };

/* Imports a model. folder: the place of external data; NULL: external data is refused.
 * Errors: CORRUPT not a ModelProto; UNSUPPORTED an operator, attribute, element type, opset or IR
 *         version, named with its node; INVALID shapes, names, types that contradict each other. */
MUST_CHECK Error *onnx_import(
    const uint8_t *data, size_t size, const OnnxFolder *folder, IrModule **out);
/* Imports a model with a choice for shared names. out_shared: several inputs share a name, so that
 * the choice matters. inout_given: whether a second function is wanted, which takes values for
 * inputs that have an initializer (onnx_given.h); whether the model has such inputs. */
MUST_CHECK Error *onnx_import_names(const uint8_t *data, size_t size, const OnnxFolder *folder,
    OnnxNames names, bool *inout_given, bool *out_shared, IrModule **out);
