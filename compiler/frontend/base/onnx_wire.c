#include "compiler/frontend/base/onnx_wire.h"

#include <stdbool.h>
#include <string.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/text.h"
#include "compiler/frontend/base/onnx_raw_data.h"

/* protobuf-c recurses over nested messages and allocates a few hundred bytes for an empty message,
 * so depth and memory are bounded before it runs. */
enum { MEMORY_PER_BYTE = 48, MEMORY_BASE = 16 << 20 };

typedef struct WireLevel {
    const ProtobufCMessageDescriptor *descriptor;
    size_t end;
    size_t length_at, length_size; /* in the short copy: the message's length, as a number of so
                                      many bytes */
} WireLevel;

/* A walk over all fields. protobuf-c copies every field, and the data of tensors is nearly the
 * whole file. So the walk makes a short copy of the message, in which a reference stands for each
 * tensor's raw data (onnx_raw_data.h). A message that holds references has a smaller length, which
 * is written in as many bytes as before: protobuf allows that. */
typedef struct WireWalk {
    const uint8_t *data;
    size_t position;
    ByteWriter *copy; /* NULL: no short copy is made */
    size_t copied;    /* bytes of data that are in the short copy */
    uint32_t depth;
    WireLevel levels[ONNX_NESTING_MAX];
} WireWalk;

static void copy_until(WireWalk *walk, size_t end) {
    if (!walk->copy || end == walk->copied) return; /* an empty file has no address */
    byte_write_bytes(walk->copy, walk->data + walk->copied, end - walk->copied);
    walk->copied = end;
}

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

static void open_level(
    WireWalk *walk, const ProtobufCMessageDescriptor *descriptor, WireLevel level) {
    copy_until(walk, walk->position);
    if (walk->copy) level.length_at = walk->copy->size - level.length_size;
    level.descriptor = descriptor;
    walk->levels[++walk->depth] = level;
}

static void close_level(WireWalk *walk) {
    const WireLevel *level = &walk->levels[walk->depth--];
    copy_until(walk, walk->position);
    if (!walk->copy || walk->copy->failed) return;
    const size_t start = level->length_at + level->length_size;
    size_t length = walk->copy->size - start;
    for (size_t i = level->length_at; i < start; i++, length >>= 7)
        walk->copy->data[i] = (uint8_t)((length & 0x7f) | (i + 1 < start ? 0x80 : 0));
}

/* Called behind the field's data, which begins at start. */
static void refer_to_data(WireWalk *walk, size_t length_at, size_t start) {
    if (!walk->copy || walk->position - start < ONNX_RAW_DATA_REFERENCE_SIZE) return;
    copy_until(walk, length_at);
    byte_write_u8(walk->copy, ONNX_RAW_DATA_REFERENCE_SIZE); /* a length below 128 is one byte */
    onnx_raw_data_refer(walk->copy, start, walk->position - start);
    walk->copied = walk->position;
}

static Error *walk_length_delimited(WireWalk *walk, const ProtobufCFieldDescriptor *field) {
    uint64_t size;
    const size_t length_at = walk->position;
    TRY(read_varint(walk, &size));
    size_t start = walk->position;
    TRY(skip(walk, size));
    if (!field) return NULL;
    if (onnx_raw_data_is(walk->levels[walk->depth].descriptor, field))
        refer_to_data(walk, length_at, start);
    if (field->type == PROTOBUF_C_TYPE_STRING && strcmp(field->name, "doc_string") != 0 &&
        !text_is_utf8((const char *)walk->data + start, size))
        FAIL(CORRUPT, "the text of field %s at byte %zu is not UTF-8", field->name, start);
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) return NULL;
    if (walk->depth + 1 >= ONNX_NESTING_MAX)
        FAIL(CORRUPT, "messages nested deeper than %d at byte %zu", ONNX_NESTING_MAX, start);
    walk->position = start;
    open_level(walk, field->descriptor,
        (WireLevel){.end = start + size, .length_size = start - length_at});
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

static Error *check_wire(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
    size_t size, ByteWriter *copy) {
    WireWalk walk = {.data = data, .copy = copy};
    walk.levels[0] = (WireLevel){.descriptor = descriptor, .end = size};
    for (;;) {
        while (walk.depth > 0 && walk.position == walk.levels[walk.depth].end) close_level(&walk);
        if (walk.position == size) break;
        TRY(walk_field(&walk));
    }
    copy_until(&walk, size);
    return copy ? byte_writer_check(copy) : NULL;
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

static void release(ProtobufCMessage *message) {
    ProtobufCAllocator allocator = {budget_alloc, budget_free, NULL};
    if (!message) return;
    onnx_raw_data_forget(message);
    protobuf_c_message_free_unpacked(message, &allocator);
}

/* The copy is checked again: data may be a mapped file, which another program can change while it
 * is copied. */
static Error *unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
    ProtobufCMessage **out) {
    ByteWriter OWN_BYTES(copy) = {0};
    if (size > SIZE_MAX / MEMORY_PER_BYTE / 2) FAIL(INVALID, "a model of %zu bytes", size);
    TRY(check_wire(descriptor, data, size, &copy));
    TRY(check_wire(descriptor, copy.data, copy.size, NULL));
    WireBudget budget = {.left = size * MEMORY_PER_BYTE + MEMORY_BASE};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    ProtobufCMessage *message =
        protobuf_c_message_unpack(descriptor, &allocator, copy.size, copy.data);
    if (!message && budget.exhausted)
        FAIL(CORRUPT, "a file of %zu bytes whose content takes over %d times that", size,
            MEMORY_PER_BYTE);
    if (!message) FAIL(CORRUPT, "not an ONNX model: protobuf cannot be parsed");
    Error *error = onnx_raw_data_resolve(message, data, size);
    if (error)
        release(message);
    else
        *out = message;
    return error;
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
