#include "serialize/checkpoint/checkpoint_summary.h"

#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "serialize/checkpoint/checkpoint_internal.h"
#include "serialize/container/value_bytes.h"
#include "vm/objects/object.h"

typedef struct ObjectSummary {
    uint8_t kind;
    DType dtype;
    Shape shape;
    uint64_t bytes;
} ObjectSummary;

typedef struct SummaryReader {
    const Container *container;
    CheckpointSummary *summary;
    ObjectSummary *objects;
    uint32_t object_count;
    CheckpointVisit *visit; /* NULL: storages are not visited */
    void *context;
} SummaryReader;

enum { SECTION_ITEM_MIN = 1, FRAME_BYTES = 12, REGISTER_BYTES_MIN = 9, LABEL_BYTES_MIN = 8 };

static Error *skip(ByteReader *reader, size_t size) {
    const uint8_t *ignored;
    return byte_read_view(reader, size, &ignored);
}

static Error *skip_text(ByteReader *reader) {
    uint32_t size;
    TRY(byte_read_count(reader, 1, &size));
    return skip(reader, size);
}

/* Reads the kind of a value, and for an object its summary. */
static Error *read_value(const SummaryReader *self, ByteReader *reader, SummaryLive *out) {
    uint8_t tag;
    uint32_t index;
    TRY(byte_read_u8(reader, &tag));
    Value value = {.tag = tag};
    switch (tag) {
    case VALUE_NIL:
        break;
    case VALUE_BOOL:
    case VALUE_DTYPE:
        TRY(skip(reader, 1));
        break;
    case VALUE_INT:
    case VALUE_FLOAT:
        TRY(skip(reader, 8));
        break;
    case VALUE_OBJECT:
        TRY(byte_read_u32(reader, &index));
        if (index >= self->object_count) FAIL(CORRUPT, "a reference to object %u", index);
        out->kind = object_kind_name(self->objects[index].kind);
        out->dtype = self->objects[index].dtype;
        out->shape = self->objects[index].shape;
        out->bytes = self->objects[index].bytes;
        return NULL;
    default:
        FAIL(CORRUPT, "a value of kind %u", tag);
    }
    out->kind = value_kind_name(&value);
    return NULL;
}

/* Adds the bytes of a container's items; an item held twice counts twice. */
static Error *add_values(
    const SummaryReader *self, ByteReader *reader, ObjectSummary *inout_object) {
    uint32_t count;
    TRY(byte_read_count(reader, SECTION_ITEM_MIN, &count));
    for (uint32_t i = 0; i < count; i++) {
        SummaryLive held = {0};
        TRY(read_value(self, reader, &held));
        if (!checked_add_u64(inout_object->bytes, held.bytes, &inout_object->bytes))
            inout_object->bytes = UINT64_MAX;
    }
    return NULL;
}

static Error *read_storage(const SummaryReader *self, ByteReader *reader, ObjectSummary *out) {
    enum { EXTENT_BYTES_MIN = 17 };
    uint32_t count;
    uint64_t offset, size;
    if (self->visit) TRY(self->visit(self->context, *reader));
    TRY(skip(reader, 3));
    TRY(byte_read_u64(reader, &size));
    TRY(byte_read_count(reader, EXTENT_BYTES_MIN, &count));
    for (uint32_t i = 0; i < count; i++) {
        TRY(byte_read_u64(reader, &offset));
        TRY(byte_read_u64(reader, &size));
        TRY(skip(reader, size <= CHECKPOINT_INLINE_SIZE ? (size_t)size : 4));
        out->bytes += size;
        self->summary->tensor_bytes += size;
    }
    return NULL;
}

static Error *read_tensor(ByteReader *reader, ObjectSummary *out) {
    bool written, constant;
    TRY(value_bytes_read_dtype(reader, false, &out->dtype));
    TRY(value_bytes_read_shape(reader, 0, &out->shape));
    TRY(value_bytes_read_bool(reader, &written));
    TRY(value_bytes_read_bool(reader, &constant));
    TRY(skip(reader, 12));
    if (constant) return NULL;
    return error_recode(shape_bytes(&out->shape, out->dtype, &out->bytes), ERROR_CORRUPT);
}

static Error *read_object(const SummaryReader *self, ByteReader *reader, ObjectSummary *out) {
    uint32_t size;
    uint8_t count;
    TRY(byte_read_u8(reader, &out->kind));
    switch (out->kind) {
    case OBJECT_TENSOR:
        return read_tensor(reader, out);
    case OBJECT_STORAGE:
        return read_storage(self, reader, out);
    case OBJECT_ADT:
        TRY(skip(reader, 8));
        return add_values(self, reader, out);
    case OBJECT_LIST:
        return add_values(self, reader, out);
    case OBJECT_CLOSURE:
        TRY(skip(reader, 5));
        return add_values(self, reader, out);
    case OBJECT_SHAPE:
        TRY(byte_read_u8(reader, &count));
        return skip(reader, count * sizeof(int64_t));
    case OBJECT_STRING:
    case OBJECT_PACKED_FUNCTION:
        return skip_text(reader);
    case OBJECT_OPAQUE:
        TRY(skip_text(reader));
        TRY(byte_read_count(reader, 1, &size));
        return skip(reader, size);
    case CHECKPOINT_OPAQUE_WITH_VALUES:
        out->kind = OBJECT_OPAQUE;
        TRY(skip_text(reader));
        TRY(byte_read_count(reader, 1, &size));
        TRY(skip(reader, size));
        return add_values(self, reader, out);
    default:
        FAIL(CORRUPT, "object kind %u", out->kind);
    }
}

static Error *read_objects(SummaryReader *self) {
    enum { OBJECT_BYTES_MIN = 2 };
    ByteReader reader;
    uint32_t count;
    void *memory;
    TRY(container_get_section(self->container, SECTION_OBJECTS, &reader));
    TRY(byte_read_count(&reader, OBJECT_BYTES_MIN, &count));
    TRY(memory_alloc(count, sizeof(ObjectSummary), &memory));
    self->objects = memory;
    for (; self->object_count < count; self->object_count++)
        TRY_WRAP(read_object(self, &reader, &self->objects[self->object_count]), "object %u",
            self->object_count);
    return byte_reader_check_end(&reader);
}

static Error *read_frames(SummaryReader *self) {
    ByteReader reader;
    uint32_t count;
    void *memory;
    TRY(container_get_section(self->container, SECTION_FRAMES, &reader));
    TRY(byte_read_u32(&reader, &self->summary->entry));
    TRY(byte_read_count(&reader, FRAME_BYTES, &count));
    TRY(memory_alloc(count, sizeof(SummaryFrame), &memory));
    self->summary->frames = memory;
    self->summary->frame_count = count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(byte_read_u32(&reader, &self->summary->frames[i].function));
        TRY(byte_read_u32(&reader, &self->summary->frames[i].pc));
        TRY(skip(&reader, 4));
    }
    return byte_reader_check_end(&reader);
}

static Error *read_labels(SummaryReader *self) {
    enum { LABEL_MAX = 1 << 16 };
    ByteReader reader;
    uint32_t first, count;
    if (!container_has_section(self->container, SECTION_LABELS)) return NULL;
    TRY(container_get_section(self->container, SECTION_LABELS, &reader));
    TRY(byte_read_u32(&reader, &first));
    TRY(byte_read_count(&reader, LABEL_BYTES_MIN, &count));
    if (first > self->summary->frame_count || count > self->summary->frame_count - first)
        FAIL(CORRUPT, "labels of frames that are not there");
    for (uint32_t i = first; i < first + count; i++) {
        TRY(byte_read_text(&reader, LABEL_MAX, &self->summary->frames[i].function_name));
        TRY(byte_read_text(&reader, LABEL_MAX, &self->summary->frames[i].instruction));
    }
    return byte_reader_check_end(&reader);
}

static Error *read_registers(SummaryReader *self) {
    ByteReader reader;
    uint32_t count;
    void *memory;
    SummaryLive result;
    TRY(container_get_section(self->container, SECTION_REGISTERS, &reader));
    TRY(byte_read_count(&reader, REGISTER_BYTES_MIN, &count));
    TRY(memory_alloc(count, sizeof(SummaryLive), &memory));
    self->summary->live = memory;
    self->summary->live_count = count;
    for (uint32_t i = 0; i < count; i++) {
        SummaryLive *live = &self->summary->live[i];
        TRY(byte_read_u32(&reader, &live->frame));
        TRY(byte_read_u32(&reader, &live->index));
        TRY(read_value(self, &reader, live));
    }
    TRY(read_value(self, &reader, &result));
    return byte_reader_check_end(&reader);
}

static Error *read_counters(SummaryReader *self) {
    ByteReader reader;
    TRY(container_get_section(self->container, SECTION_COUNTERS, &reader));
    TRY(skip(&reader, 16));
    TRY(byte_read_u64(&reader, &self->summary->instructions));
    TRY(byte_read_u64(&reader, &self->summary->kernel_calls));
    TRY(byte_read_u64(&reader, &self->summary->yields));
    return byte_reader_check_end(&reader);
}

static Error *read_all(SummaryReader *self) {
    TRY(checkpoint_read_header(self->container, &self->summary->header));
    self->summary->has_execution = container_has_section(self->container, SECTION_FRAMES);
    if (!self->summary->has_execution && container_has_section(self->container, SECTION_JOB))
        return NULL;
    TRY_WRAP(read_frames(self), "frames");
    TRY_WRAP(read_labels(self), "labels");
    TRY_WRAP(read_objects(self), "objects");
    TRY_WRAP(read_registers(self), "registers");
    return error_wrap(read_counters(self), "counters");
}

Error *checkpoint_summary_read(const Container *container, CheckpointSummary *out) {
    CheckpointSummary summary = {0};
    SummaryReader self = {.container = container, .summary = &summary};
    Error *error = read_all(&self);
    memory_free(self.objects);
    if (error) {
        checkpoint_summary_deinit(&summary);
        return error_wrap(error, "checkpoint");
    }
    *out = summary;
    return NULL;
}

Error *checkpoint_walk_storages(const Container *container, CheckpointVisit *visit, void *context) {
    CheckpointSummary summary = {0};
    SummaryReader self = {
        .container = container, .summary = &summary, .visit = visit, .context = context};
    Error *error = read_objects(&self);
    memory_free(self.objects);
    return error_wrap(error, "objects");
}

void checkpoint_summary_deinit(CheckpointSummary *summary) {
    for (uint32_t i = 0; i < summary->frame_count; i++) {
        memory_free(summary->frames[i].function_name);
        memory_free(summary->frames[i].instruction);
    }
    memory_free(summary->frames);
    memory_free(summary->live);
    checkpoint_header_deinit(&summary->header);
    *summary = (CheckpointSummary){0};
}
