#pragma once
/* The protobuf wire format of ONNX, checked before protobuf-c sees it: nesting, UTF-8, memory. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "onnx.pb-c.h"

enum { ONNX_NESTING_MAX = 200 /* messages inside messages: about 50 graphs inside graphs */ };

/* Release with onnx_wire_release. Errors: CORRUPT with the byte offset. */
MUST_CHECK Error *onnx_wire_unpack(const uint8_t *data, size_t size, Onnx__ModelProto **out);
void onnx_wire_release(Onnx__ModelProto *model);
DEFINE_OWN(Onnx__ModelProto, onnx_wire_release);
/* The same for one attribute. Release with onnx_wire_release_attribute. */
MUST_CHECK Error *onnx_wire_unpack_attribute(
    const uint8_t *data, size_t size, Onnx__AttributeProto **out);
void onnx_wire_release_attribute(Onnx__AttributeProto *attribute);
