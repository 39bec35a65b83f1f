#pragma once
/* The raw data of an ONNX model's tensors, which stays where the model's bytes are: in the message
 * that protobuf-c unpacks, a reference of 16 bytes stands for it. raw_data of fewer bytes is copied
 * as it is. Caller: onnx_wire.c. Pure: no state, any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "onnx.pb-c.h"

enum { ONNX_RAW_DATA_REFERENCE_SIZE = 16 };

/* True for the field raw_data of a TensorProto. */
bool onnx_raw_data_is(
    const ProtobufCMessageDescriptor *message, const ProtobufCFieldDescriptor *field);
/* Writes a reference: u64 offset, u64 size of the data. */
void onnx_raw_data_refer(ByteWriter *writer, size_t offset, size_t size);
/* Points raw_data of all tensors in the message at the data that their references name. The
 * message must be given to onnx_raw_data_forget, also after an error, before it is freed.
 * Errors: CORRUPT a reference to bytes behind the end. */
MUST_CHECK Error *onnx_raw_data_resolve(
    ProtobufCMessage *message, const uint8_t *data, size_t size);
/* Empties raw_data of all tensors in a resolved message whose data lies outside the message. */
void onnx_raw_data_forget(ProtobufCMessage *message);
