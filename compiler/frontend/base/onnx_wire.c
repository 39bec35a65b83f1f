#include "compiler/frontend/base/onnx_wire.h"

#include <stdbool.h>
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"

/* protobuf-c recurses over nested messages and allocates a few hundred bytes for an empty message,
 * so depth and memory are bounded before it runs. */
enum { MEMORY_PER_BYTE = 48, MEMORY_BASE = 16 << 20 };

typedef struct WireLevel {
    const ProtobufCMessageDescriptor *descriptor;
    size_t end;
} WireLevel;

typedef struct WireWalk {
    const uint8_t *data;
    size_t position;
    uint32_t depth;
    WireLevel levels[ONNX_NESTING_MAX];
} WireWalk;

static Error *read_varint(WireWalk *walk, uint64_t *out) {
    size_t end = walk->levels[walk->depth].end;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (walk->position >= end) break;
        uint8_t byte = walk->data[walk->position++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = value;
            return NULL;
        }
    }
    FAIL(CORRUPT, "not an ONNX model: broken number at byte %zu", walk->position);
}

static Error *skip(WireWalk *walk, uint64_t size) {
    if (size > walk->levels[walk->depth].end - walk->position)
        FAIL(CORRUPT, "not an ONNX model: a field at byte %zu ends behind its message",
            walk->position);
    walk->position += size;
    return NULL;
}

static Error *walk_length_delimited(WireWalk *walk, const ProtobufCFieldDescriptor *field) {
    uint64_t size;
    TRY(read_varint(walk, &size));
    size_t start = walk->position;
    TRY(skip(walk, size));
    if (!field) return NULL;
    if (field->type == PROTOBUF_C_TYPE_STRING && strcmp(field->name, "doc_string") != 0 &&
        !text_is_utf8((const char *)walk->data + start, size))
        FAIL(CORRUPT, "the text of field %s at byte %zu is not UTF-8", field->name, start);
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) return NULL;
    if (walk->depth + 1 >= ONNX_NESTING_MAX)
        FAIL(CORRUPT, "messages nested deeper than %d at byte %zu", ONNX_NESTING_MAX, start);
    walk->levels[++walk->depth] = (WireLevel){field->descriptor, start + size};
    walk->position = start;
    return NULL;
}

static Error *walk_field(WireWalk *walk) {
    uint64_t key, ignored;
    TRY(read_varint(walk, &key));
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX)
        FAIL(CORRUPT, "not an ONNX model: field number at byte %zu", walk->position);
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
        walk->levels[walk->depth].descriptor, (unsigned)(key >> 3));
    switch (key & 7) {
    case 0:
        return read_varint(walk, &ignored);
    case 1:
        return skip(walk, 8);
    case 2:
        return walk_length_delimited(walk, field);
    case 5:
        return skip(walk, 4);
    default:
        FAIL(CORRUPT, "not an ONNX model: wire type at byte %zu", walk->position);
    }
}

static Error *check_wire(
    const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size) {
    WireWalk walk = {.data = data};
    walk.levels[0] = (WireLevel){descriptor, size};
    for (;;) {
        while (walk.depth > 0 && walk.position == walk.levels[walk.depth].end) walk.depth--;
        if (walk.position == size) return NULL;
        TRY(walk_field(&walk));
    }
}

typedef struct WireBudget {
    size_t left;
    bool exhausted;
} WireBudget;

static void *budget_alloc(void *context, size_t size) {
    WireBudget *budget = context;
    if (size > budget->left) {
        budget->exhausted = true;
        return NULL;
    }
    void *block;
    Error *error = memory_alloc(size, 1, &block);
    if (error) {
        error_free(error); /* protobuf-c reports by NULL */
        return NULL;
    }
    budget->left -= size;
    return block;
}

static void budget_free(void *context, void *block) {
    (void)context;
    memory_free(block);
}

static Error *unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
    ProtobufCMessage **out) {
    if (size > SIZE_MAX / MEMORY_PER_BYTE / 2) FAIL(INVALID, "a model of %zu bytes", size);
    TRY(check_wire(descriptor, data, size));
    WireBudget budget = {.left = size * MEMORY_PER_BYTE + MEMORY_BASE};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    *out = protobuf_c_message_unpack(descriptor, &allocator, size, data);
    if (!*out && budget.exhausted)
        FAIL(CORRUPT, "a file of %zu bytes whose content takes over %d times that", size,
            MEMORY_PER_BYTE);
    if (!*out) FAIL(CORRUPT, "not an ONNX model: protobuf cannot be parsed");
    return NULL;
}

static void release(ProtobufCMessage *message) {
    ProtobufCAllocator allocator = {budget_alloc, budget_free, NULL};
    if (message) protobuf_c_message_free_unpacked(message, &allocator);
}

Error *onnx_wire_unpack(const uint8_t *data, size_t size, Onnx__ModelProto **out) {
    ProtobufCMessage *message;
    TRY(unpack(&onnx__model_proto__descriptor, data, size, &message));
    *out = (Onnx__ModelProto *)message;
    return NULL;
}

void onnx_wire_release(Onnx__ModelProto *model) { release((ProtobufCMessage *)model); }

Error *onnx_wire_unpack_attribute(const uint8_t *data, size_t size, Onnx__AttributeProto **out) {
    ProtobufCMessage *message;
    TRY(unpack(&onnx__attribute_proto__descriptor, data, size, &message));
    *out = (Onnx__AttributeProto *)message;
    return NULL;
}

void onnx_wire_release_attribute(Onnx__AttributeProto *attribute) {
    release((ProtobufCMessage *)attribute);
}
