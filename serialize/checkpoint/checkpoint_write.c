#include <string.h>

#include "base/allocator.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/checkpoint/checkpoint_extents.h"
#include "serialize/checkpoint/checkpoint_storage.h"
#include "serialize/chunk/copy_ahead.h"
#include "serialize/container/object_table.h"
#include "serialize/chunk/storage_chunks.h"
#include "serialize/container/value_bytes.h"
#include "vm/objects/adt.h"
#include "vm/assembly/assembly.h"
#include "vm/objects/closure.h"
#include "vm/objects/list.h"
#include "vm/objects/object.h"
#include "vm/objects/opaque.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

typedef struct CheckpointWriter {
    const Snapshot *snapshot;
    ContainerWriter *container;
    ObjectTable *table;
    LiveExtent *extents;
    uint32_t extent_count;
    /* extents are sorted by storage, in the order in which storages are written */
    uint32_t next_extent;
    ChunkSink sink;
    size_t *kept;         /* per extent in far memory: how many of the first chunks the sink has */
    uint64_t *bases;      /* per object: the offset in its storage from which bytes are written */
    DeviceStream *stream; /* for copies from the device */
    CopyAhead *copies;    /* the copies of `stream` */
} CheckpointWriter;

static void write_value(const CheckpointWriter *self, ByteWriter *writer, const Value *value) {
    value_bytes_write_scalar(writer, value);
    if (value->tag == VALUE_OBJECT)
        byte_write_u32(writer, object_table_find(self->table, value->object));
}

static void write_values(
    const CheckpointWriter *self, ByteWriter *writer, const Value *values, uint32_t count) {
    byte_write_u32(writer, count);
    for (uint32_t i = 0; i < count; i++) write_value(self, writer, &values[i]);
}

/* True when the storage's bytes are copied over a link, ahead of their use. */
static bool is_far(const Storage *storage) { return !storage->device->class_->host_memory; }

static uint32_t chunk_size_of(const Storage *storage) {
    return storage->append ? CHUNK_APPEND_SIZE : CHUNK_SIZE;
}

/* The names of the extent's first chunks, as far as the storage knows them. The caller releases
 * *out_refs with memory_free. */
static Error *known_chunks(
    const Storage *storage, const LiveExtent *extent, ChunkRef **out_refs, size_t *out_count) {
    const uint32_t chunk_size = chunk_size_of(storage);
    void *memory;
    TRY(memory_alloc(chunk_count(extent->size, chunk_size), sizeof(ChunkRef), &memory));
    *out_refs = memory;
    *out_count = storage_chunks_get(storage, extent->offset, extent->size, chunk_size, *out_refs);
    return NULL;
}

static Error *write_inline(
    CheckpointWriter *self, ByteWriter *writer, const Storage *storage, const LiveExtent *extent) {
    const void *bytes = (const void *)(uintptr_t)(storage->address + extent->offset);
    if (!is_far(storage)) {
        byte_write_bytes(writer, bytes, extent->size);
        return NULL;
    }
    RawChunks reader = copy_ahead_next(self->copies);
    TRY(reader.get(reader.self, 0, &bytes));
    byte_write_bytes(writer, bytes, extent->size);
    reader.done(reader.self, 0);
    return NULL;
}

/* Writes the chunks of an extent in far memory that the sink lacks. */
static Error *write_far(CheckpointWriter *self, const LiveExtent *extent, uint32_t chunk_size,
    KnownChunks known, ChunkFilter filter, uint32_t *out_bulk) {
    RawChunks rest = {0};
    known.count = self->kept[extent - self->extents];
    if (known.count < chunk_count(extent->size, chunk_size)) rest = copy_ahead_next(self->copies);
    return container_writer_add_bulk_read(
        self->container, rest, extent->size, chunk_size, filter, known, out_bulk);
}

static Error *write_bulk(CheckpointWriter *self, Storage *storage, const LiveExtent *extent,
    KnownChunks known, uint32_t *out_bulk) {
    const ChunkFilter filter = value_bytes_filter(extent->dtype);
    const uint32_t chunk_size = chunk_size_of(storage);
    if (is_far(storage))
        TRY(write_far(self, extent, chunk_size, known, filter, out_bulk));
    else
        TRY(container_writer_add_bulk(self->container,
            (const void *)(uintptr_t)(storage->address + extent->offset), extent->size, chunk_size,
            filter, known, out_bulk));
    if (!storage->opaque)
        storage_chunks_note(storage, extent->offset, extent->size, chunk_size,
            container_writer_get_refs(self->container, *out_bulk));
    return NULL;
}

static Error *write_extent(CheckpointWriter *self, ByteWriter *writer, Storage *storage,
    const LiveExtent *extent, uint64_t base) {
    uint32_t bulk = 0;
    ChunkRef *refs;
    KnownChunks known;
    byte_write_u64(writer, extent->offset - base);
    byte_write_u64(writer, extent->size);
    if (extent->size <= CHECKPOINT_INLINE_SIZE) return write_inline(self, writer, storage, extent);
    TRY(known_chunks(storage, extent, &refs, &known.count));
    known.refs = refs;
    Error *error = write_bulk(self, storage, extent, known, &bulk);
    memory_free(refs);
    byte_write_u32(writer, bulk);
    return error;
}

/* A value's storage is written up to its last live byte. An opaque storage keeps its size, since
 * later instructions write the rest. */
static Error *write_storage(
    CheckpointWriter *self, ByteWriter *writer, Storage *storage, uint32_t index) {
    uint32_t first = self->next_extent, end = first;
    while (end < self->extent_count && self->extents[end].storage == index) end++;
    self->next_extent = end;
    uint64_t base = 0, size = storage->size;
    if (!storage->opaque) {
        base = first < end ? self->extents[first].offset & ~(uint64_t)(DEVICE_ALIGNMENT - 1) : 0;
        size = first < end ? self->extents[end - 1].offset + self->extents[end - 1].size - base : 0;
    }
    self->bases[index] = base;
    byte_write_u8(writer, storage->slot);
    byte_write_u8(writer, storage->opaque   ? CHECKPOINT_STORAGE_OPAQUE
                          : storage->append ? CHECKPOINT_STORAGE_APPEND
                                            : CHECKPOINT_STORAGE_VALUE);
    byte_write_u8(writer, storage->sealed);
    byte_write_u64(writer, size);
    byte_write_u32(writer, end - first);
    for (uint32_t i = first; i < end; i++)
        TRY(write_extent(self, writer, storage, &self->extents[i], base));
    return NULL;
}

static void write_tensor(const CheckpointWriter *self, ByteWriter *writer, const Tensor *tensor) {
    const Storage *storage = tensor->storage;
    bool constant = storage->constant_index != STORAGE_NOT_CONSTANT;
    uint32_t index = constant ? storage->constant_index : object_table_find(self->table, storage);
    uint64_t base = constant ? 0 : self->bases[index];
    byte_write_u8(writer, (uint8_t)tensor->dtype);
    value_bytes_write_shape(writer, &tensor->shape);
    byte_write_u8(writer, tensor->written);
    byte_write_u8(writer, constant);
    byte_write_u32(writer, index);
    /* the offset of a tensor without bytes means nothing */
    byte_write_u64(writer, tensor_bytes(tensor) ? tensor->offset - base : 0);
}

static Error *write_opaque(const CheckpointWriter *self, ByteWriter *writer, const Opaque *opaque) {
    uint32_t count;
    const Value *values = opaque_values(opaque, &count);
    ByteWriter OWN_BYTES(state) = {0};
    TRY_WRAP(opaque->kind->save(opaque->state, &state), "%s", opaque->kind->name);
    TRY(byte_writer_check(&state));
    if (state.size > UINT32_MAX) FAIL(EXHAUSTED, "%s: %zu bytes", opaque->kind->name, state.size);
    byte_write_text(writer, opaque->kind->name);
    byte_write_u32(writer, (uint32_t)state.size);
    byte_write_bytes(writer, state.data, state.size);
    if (opaque->kind->values) write_values(self, writer, values, count);
    return NULL;
}

/* The number that an object's kind is stored as. */
static uint8_t stored_kind(const Value *value) {
    const bool holds = value_is(value, OBJECT_OPAQUE) && value->opaque->kind->values;
    return holds ? CHECKPOINT_OPAQUE_WITH_VALUES : value->kind;
}

static Error *write_object(CheckpointWriter *self, ByteWriter *writer, uint32_t index) {
    Value value = object_table_get(self->table, index);
    uint32_t count;
    const Value *children = value_children(&value, &count);
    byte_write_u8(writer, stored_kind(&value));
    switch ((ObjectKind)value.kind) {
    case OBJECT_TENSOR:
        write_tensor(self, writer, value.tensor);
        break;
    case OBJECT_STORAGE:
        return write_storage(self, writer, value.storage, index);
    case OBJECT_ADT:
        byte_write_i64(writer, value.adt->tag);
        write_values(self, writer, children, count);
        break;
    case OBJECT_LIST:
        write_values(self, writer, children, count);
        break;
    case OBJECT_CLOSURE:
        byte_write_u32(writer, value.closure->function);
        byte_write_u8(writer, (uint8_t)value.closure->side);
        write_values(self, writer, children, count);
        break;
    case OBJECT_SHAPE:
        value_bytes_write_shape_object(writer, value.shape);
        break;
    case OBJECT_STRING:
        byte_write_text(writer, value.string->text);
        break;
    case OBJECT_PACKED_FUNCTION:
        byte_write_text(writer, value.packed_function->name);
        break;
    case OBJECT_OPAQUE:
        return write_opaque(self, writer, value.opaque);
    case OBJECT_NONE:
    case OBJECT_KIND_COUNT:
        FAIL(INTERNAL, "an object of kind %u", value.kind);
    }
    return NULL;
}

static Error *add_objects(CheckpointWriter *self) {
    const Snapshot *snapshot = self->snapshot;
    for (uint32_t i = 0; i < snapshot->register_count; i++)
        TRY(object_table_add(self->table, snapshot->registers[i].value));
    TRY(object_table_add(self->table, snapshot->result));
    for (uint32_t i = 0; i < snapshot->yield_count; i++)
        TRY(object_table_add(self->table, snapshot->yields[i]));
    for (uint32_t i = 0; i < snapshot->input_count; i++)
        TRY(object_table_add(self->table, snapshot->inputs[i].value));
    void *memory;
    TRY(memory_alloc(object_table_count(self->table), sizeof(uint64_t), &memory));
    self->bases = memory;
    return checkpoint_extents_collect(self->table, &self->extents, &self->extent_count);
}

static Error *write_objects(CheckpointWriter *self) {
    ByteWriter OWN_BYTES(writer) = {0};
    uint32_t count = object_table_count(self->table);
    byte_write_u32(&writer, count);
    for (uint32_t i = 0; i < count; i++) TRY(write_object(self, &writer, i));
    return container_writer_add_written(self->container, SECTION_OBJECTS, &writer);
}

static Error *write_header(const CheckpointWriter *self) {
    ByteWriter OWN_BYTES(writer) = {0};
    TextBuilder OWN_TEXT(class_text) = {0};
    Device *device = self->snapshot->residency->devices[SLOT_DEVICE];
    device->class_->determinism_class(device, &class_text);
    TRY(text_builder_check(&class_text));
    byte_write_bytes(&writer, self->snapshot->executable->identity.bytes, DIGEST_SIZE);
    byte_write_text(&writer, text_builder_get(&class_text));
    byte_write_u64(&writer, 0); /* epoch: only migrations raise it */
    return container_writer_add_written(self->container, SECTION_HEADER, &writer);
}

static Error *write_frames(const CheckpointWriter *self) {
    ByteWriter OWN_BYTES(writer) = {0};
    const Snapshot *snapshot = self->snapshot;
    byte_write_u32(&writer, snapshot->entry);
    byte_write_u32(&writer, snapshot->frame_count);
    for (uint32_t i = 0; i < snapshot->frame_count; i++) {
        byte_write_u32(&writer, snapshot->frames[i].function);
        byte_write_u32(&writer, snapshot->frames[i].pc);
        byte_write_u32(&writer, snapshot->frames[i].return_register);
    }
    return container_writer_add_written(self->container, SECTION_FRAMES, &writer);
}

static Error *write_registers(const CheckpointWriter *self) {
    ByteWriter OWN_BYTES(writer) = {0};
    const Snapshot *snapshot = self->snapshot;
    byte_write_u32(&writer, snapshot->register_count);
    for (uint32_t i = 0; i < snapshot->register_count; i++) {
        byte_write_u32(&writer, snapshot->registers[i].frame);
        byte_write_u32(&writer, snapshot->registers[i].index);
        write_value(self, &writer, &snapshot->registers[i].value);
    }
    write_value(self, &writer, &snapshot->result);
    return container_writer_add_written(self->container, SECTION_REGISTERS, &writer);
}

static Error *write_rest(const CheckpointWriter *self) {
    ByteWriter OWN_BYTES(counters) = {0};
    ByteWriter OWN_BYTES(yields) = {0};
    ByteWriter OWN_BYTES(stateful) = {0};
    const Snapshot *snapshot = self->snapshot;
    byte_write_u64(&counters, snapshot->philox_key);
    byte_write_u64(&counters, snapshot->counters.philox);
    byte_write_u64(&counters, snapshot->counters.instructions);
    byte_write_u64(&counters, snapshot->counters.kernel_calls);
    byte_write_u64(&counters, snapshot->counters.yields);
    write_values(self, &yields, snapshot->yields, snapshot->yield_count);
    byte_write_u32(&stateful, snapshot->input_count);
    for (uint32_t i = 0; i < snapshot->input_count; i++) {
        byte_write_text(&stateful, snapshot->inputs[i].name);
        write_value(self, &stateful, &snapshot->inputs[i].value);
    }
    TRY(container_writer_add_written(self->container, SECTION_COUNTERS, &counters));
    TRY(container_writer_add_written(self->container, SECTION_YIELDS, &yields));
    return container_writer_add_written(self->container, SECTION_STATEFUL, &stateful);
}

/* Names of the innermost frames' functions and instructions, so that a checkpoint can be looked at
 * without its executable. */
static Error *write_labels(const CheckpointWriter *self) {
    ByteWriter OWN_BYTES(writer) = {0};
    const Snapshot *snapshot = self->snapshot;
    uint32_t count = snapshot->frame_count;
    uint32_t first = count > CHECKPOINT_LABELS_MAX ? count - CHECKPOINT_LABELS_MAX : 0;
    byte_write_u32(&writer, first);
    byte_write_u32(&writer, count - first);
    for (uint32_t i = first; i < count; i++) {
        TextBuilder OWN_TEXT(instruction) = {0};
        const Frame *frame = &snapshot->frames[i];
        assembly_print_instruction(snapshot->executable, frame->function, frame->pc, &instruction);
        TRY(text_builder_check(&instruction));
        byte_write_text(&writer, snapshot->executable->functions[frame->function].name);
        byte_write_text(&writer, text_builder_get(&instruction));
    }
    return container_writer_add_written(self->container, SECTION_LABELS, &writer);
}

/* The copies run beside the execution's stream, behind the work that the snapshot waits for. */
static Error *begin_stream(CheckpointWriter *self) {
    Device *device = self->snapshot->residency->devices[SLOT_DEVICE];
    TRY(device_stream_create(device, &self->stream));
    if (!self->snapshot->ready) return NULL;
    return device->class_->event_wait(device, self->snapshot->ready, self->stream);
}

/* How many of an extent's first chunks need not come from the device, since the sink has them. */
static Error *count_kept(
    const CheckpointWriter *self, const Storage *storage, const LiveExtent *extent, size_t *out) {
    ChunkRef *refs;
    size_t known;
    TRY(known_chunks(storage, extent, &refs, &known));
    Error *error = chunk_sink_count_leading(self->sink, refs, known, out);
    memory_free(refs);
    return error;
}

/* Lists the ranges to copy from the device, in the order in which they are written. */
static Error *list_ranges(CheckpointWriter *self, DeviceRange *ranges, size_t *out_count) {
    size_t count = 0;
    for (uint32_t i = 0; i < self->extent_count; i++) {
        const LiveExtent *extent = &self->extents[i];
        const Storage *storage = object_table_get(self->table, extent->storage).storage;
        if (!is_far(storage)) continue;
        if (extent->size > CHECKPOINT_INLINE_SIZE)
            TRY(count_kept(self, storage, extent, &self->kept[i]));
        /* bytes that are written in place are one chunk of any size */
        const bool in_place = extent->size <= CHECKPOINT_INLINE_SIZE;
        const uint32_t chunk_size = in_place ? CHUNK_SIZE : chunk_size_of(storage);
        const uint64_t kept = (uint64_t)self->kept[i] * chunk_size;
        if (kept < extent->size)
            ranges[count++] = (DeviceRange){
                storage->address + extent->offset + kept, extent->size - kept, chunk_size};
    }
    *out_count = count;
    return NULL;
}

static Error *begin_copies(CheckpointWriter *self) {
    Device *device = self->snapshot->residency->devices[SLOT_DEVICE];
    void *memory;
    size_t count;
    TRY(memory_alloc(self->extent_count, sizeof *self->kept, &memory));
    self->kept = memory;
    TRY(memory_alloc(self->extent_count, sizeof(DeviceRange), &memory));
    Error *error = list_ranges(self, memory, &count);
    if (!error) error = begin_stream(self);
    if (!error) error = copy_ahead_create(device, self->stream, memory, count, &self->copies);
    memory_free(memory);
    return error;
}

static Error *write_all(CheckpointWriter *self) {
    TRY(object_table_create(&self->table));
    TRY(add_objects(self));
    TRY(begin_copies(self));
    TRY(write_header(self));
    TRY(write_frames(self));
    TRY(write_objects(self));
    TRY(write_registers(self));
    TRY(write_labels(self));
    return write_rest(self);
}

Error *checkpoint_write(const Snapshot *snapshot, WorkerPool *pool, ChunkSink sink,
    ByteWriter *out_manifest, Digest *out_identity) {
    OWN(ContainerWriter, container) = NULL;
    TRY(container_writer_create(CONTAINER_CHECKPOINT, pool, sink, &container));
    CheckpointWriter self = {.snapshot = snapshot, .container = container, .sink = sink};
    Error *error = write_all(&self);
    copy_ahead_release(self.copies);
    device_stream_destroy(snapshot->residency->devices[SLOT_DEVICE], self.stream);
    object_table_release(self.table);
    memory_free(self.extents);
    memory_free(self.kept);
    memory_free(self.bases);
    TRY(error);
    return container_writer_finish(container, out_manifest, out_identity);
}

/* Writes to output, or to bytes if output is NULL. */
static Error *write_container(
    const Snapshot *snapshot, WorkerPool *pool, FileOutput *output, ByteWriter *bytes) {
    OWN(ContainerFile, file) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity;
    TRY(container_file_create(output, bytes, &file));
    TRY(checkpoint_write(snapshot, pool, container_file_get_sink(file), &manifest, &identity));
    return container_file_finish(file, manifest.data, manifest.size);
}

Error *checkpoint_write_memory(const Snapshot *snapshot, WorkerPool *pool, ByteWriter *out_file) {
    return write_container(snapshot, pool, NULL, out_file);
}

Error *checkpoint_write_file(
    const Snapshot *snapshot, WorkerPool *pool, const char *path, uint64_t *out_bytes) {
    OWN(FileOutput, output) = NULL;
    TRY(file_output_create(path, &output));
    TRY(write_container(snapshot, pool, output, NULL));
    TRY(file_output_commit(output));
    *out_bytes = file_output_size(output);
    return NULL;
}
