#include "compiler/frontend/base/onnx_raw_data.h"

#include <string.h>

#include "base/allocator.h"

bool onnx_raw_data_is(
    const ProtobufCMessageDescriptor *message, const ProtobufCFieldDescriptor *field) {
    return message == &onnx__tensor_proto__descriptor &&
           field->offset == offsetof(Onnx__TensorProto, raw_data);
}

void onnx_raw_data_refer(ByteWriter *writer, size_t offset, size_t size) {
    byte_write_u64(writer, offset);
    byte_write_u64(writer, size);
}

/* Called for each tensor with a reference, or with data that a reference named. */
typedef void Visitor(void *context, ProtobufCBinaryData *raw_data);

typedef struct Visit {
    Visitor *visitor;
    void *context;
} Visit;

static void visit(const Visit *self, ProtobufCMessage *message);

/* Whether the member of a union is the one that is set. The other members share its memory. */
static bool is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
    uint32_t which;
    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)) return true;
    memcpy(&which, (const char *)message + field->quantifier_offset, sizeof which);
    return which == field->id;
}

/* Reads the members as protobuf-c's generic code does. */
static void visit_field(
    const Visit *self, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
    const char *base = (const char *)message;
    size_t count = 1;
    ProtobufCMessage *one, **many = &one;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || !is_set(message, field)) return;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&count, base + field->quantifier_offset, sizeof count);
        memcpy(&many, base + field->offset, sizeof many);
    } else
        memcpy(&one, base + field->offset, sizeof one);
    for (size_t i = 0; i < count; i++)
        if (many[i]) visit(self, many[i]);
}

/* The depth is bounded by ONNX_NESTING_MAX. */
static void visit(const Visit *self, ProtobufCMessage *message) {
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
        visit_field(self, message, &message->descriptor->fields[i]);
    if (message->descriptor != &onnx__tensor_proto__descriptor) return;
    Onnx__TensorProto *tensor = (Onnx__TensorProto *)message;
    if (tensor->has_raw_data && tensor->raw_data.len >= ONNX_RAW_DATA_REFERENCE_SIZE)
        self->visitor(self->context, &tensor->raw_data);
}

typedef struct Resolving {
    const uint8_t *data;
    size_t size;
    bool beyond; /* a reference leads out of the data */
} Resolving;

static void resolve(void *context, ProtobufCBinaryData *raw_data) {
    Resolving *resolving = context;
    uint64_t reference[2];
    _Static_assert(sizeof reference == ONNX_RAW_DATA_REFERENCE_SIZE, "offset and size");
    memcpy(reference, raw_data->data, sizeof reference); /* this machine is little-endian */
    const bool within = raw_data->len == sizeof reference && reference[0] <= resolving->size &&
                        reference[1] >= sizeof reference &&
                        reference[1] <= resolving->size - reference[0];
    memory_free(raw_data->data);
    *raw_data = (ProtobufCBinaryData){0};
    if (within) /* protobuf-c knows no constant data */
        *raw_data = (ProtobufCBinaryData){
            (size_t)reference[1], (uint8_t *)(uintptr_t)(resolving->data + reference[0])};
    resolving->beyond |= !within;
}

Error *onnx_raw_data_resolve(ProtobufCMessage *message, const uint8_t *data, size_t size) {
    Resolving resolving = {.data = data, .size = size};
    visit(&(Visit){resolve, &resolving}, message);
    if (resolving.beyond) FAIL(CORRUPT, "the model changed while it was read; try again");
    return NULL;
}

static void forget(void *context, ProtobufCBinaryData *raw_data) {
    (void)context;
    *raw_data = (ProtobufCBinaryData){0};
}

void onnx_raw_data_forget(ProtobufCMessage *message) { visit(&(Visit){forget, NULL}, message); }
