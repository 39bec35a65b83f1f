#pragma once
/* Checks the protobuf wire format of ONNX before protobuf-c sees the bytes: nesting, UTF-8, memory.
 * Callers: onnx_import.c, onnx_function.c. Pure: no state, any thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "onnx.pb-c.h"

enum { ONNX_NESTING_MAX = 200 /* messages inside messages: about 50 graphs inside graphs */ };

/* Checks and unpacks a model, whose tensors' raw data stays in the given data. Release with
 * onnx_wire_release before the data. Another program may change the data meanwhile: then tensors
 * have other values. Errors: CORRUPT with the byte offset. */
MUST_CHECK Error *onnx_wire_unpack(const uint8_t *data, size_t size, Onnx__ModelProto **out);
void onnx_wire_release(Onnx__ModelProto *model);
DEFINE_OWN(Onnx__ModelProto, onnx_wire_release);
/* As onnx_wire_unpack, for one attribute. Release with onnx_wire_release_attribute. */
MUST_CHECK Error *onnx_wire_unpack_attribute(
    const uint8_t *data, size_t size, Onnx__AttributeProto **out);
void onnx_wire_release_attribute(Onnx__AttributeProto *attribute);
