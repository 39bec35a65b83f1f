#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/string_tensor.h"
#include "serialize/checkpoint/checkpoint_internal.h"
#include "serialize/container/value_bytes.h"
#include "serialize/checkpoint/warm_storages.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/objects/list.h"
#include "vm/objects/object.h"
#include "vm/objects/opaque.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

typedef struct ObjectReader {
    const Container *container;
    WorkerPool *pool;
    ChunkVerify verify;
    Residency *residency;
    Execution *execution;
    WarmStorages *warm; /* NULL: none */
    ByteReader reader;
    CheckpointObjects *objects;
    uint32_t index;  /* of the object that is read; it may refer to objects of lower index only */
    BulkRead *reads; /* into storages of host memory; done together, at the end */
    size_t read_count, read_capacity;
} ObjectReader;

enum { VALUE_BYTES_MIN = 1, OBJECT_BYTES_MIN = 2 };

Error *checkpoint_value_read(
    ByteReader *reader, const CheckpointObjects *objects, uint32_t limit, Value *out) {
    uint8_t tag;
    uint32_t index;
    TRY(byte_read_u8(reader, &tag));
    if (tag != VALUE_OBJECT) return value_bytes_read_scalar(reader, tag, out);
    TRY(byte_read_u32(reader, &index));
    if (index >= limit) FAIL(CORRUPT, "a reference to object %u of %u", index, limit);
    *out = value_copy(objects->values[index]);
    return NULL;
}

static Error *read_values(ObjectReader *self, Value *out, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        TRY_WRAP(checkpoint_value_read(&self->reader, self->objects, self->index, &out[i]),
            "field %u", i);
    return NULL;
}

static Error *read_bulks(const ObjectReader *self, const BulkRead *reads, size_t count) {
    if (self->warm)
        return warm_storages_read_bulks(
            self->warm, self->container, reads, count, self->pool, self->verify);
    return container_read_bulks(self->container, reads, count, self->pool, self->verify);
}

/* Reads into memory that only the device can address. */
static Error *read_far(const ObjectReader *self, Storage *storage, const StoredExtent *extent) {
    Device *device = storage->device;
    void *copy;
    TRY(memory_map((size_t)extent->size, &copy));
    const BulkRead read = {extent->bulk_index, copy};
    Error *error = read_bulks(self, &read, 1);
    if (!error)
        error = device->class_->copy_from_host(
            device, storage_stream(storage), storage->address + extent->offset, copy, extent->size);
    memory_unmap(copy, (size_t)extent->size);
    return error;
}

static Error *read_extent(ObjectReader *self, Storage *storage, const StoredExtent *extent) {
    uint64_t address = storage->address + extent->offset;
    Device *device = storage->device;
    if (extent->bytes)
        return device->class_->copy_from_host(
            device, storage_stream(storage), address, extent->bytes, extent->size);
    if (!device->class_->host_memory) return read_far(self, storage, extent);
    void *array = self->reads;
    TRY(memory_grow(&array, self->read_count, &self->read_capacity, sizeof(BulkRead)));
    self->reads = array;
    self->reads[self->read_count++] = (BulkRead){extent->bulk_index, (void *)(uintptr_t)address};
    return NULL;
}

static Error *make_storage(ObjectReader *self, const StoredStorage *stored, Storage **out) {
    MemoryAnswer answer;
    OWN(Storage, storage) = NULL;
    MemoryPool *pool = execution_get_pool(self->execution, stored->slot);
    if (self->warm) {
        TRY(warm_storages_take(self->warm, stored, pool, out));
        if (*out) return NULL;
    }
    TRY(checkpoint_storage_make(stored, pool, &answer, &storage));
    if (answer.kind == MEMORY_NEEDED)
        FAIL(EXHAUSTED, "%llu bytes are not free on %s", (unsigned long long)stored->size,
            self->residency->devices[stored->slot]->name);
    for (uint32_t i = 0; i < stored->extents.count; i++)
        TRY_WRAP(read_extent(self, storage, &stored->extents.items[i]), "extent %u", i);
    storage->sealed = stored->sealed;
    *out = TAKE(storage);
    return NULL;
}

static Error *read_storage(ObjectReader *self, Value *out) {
    StoredStorage OWN_STORED_STORAGE(stored) = {0};
    Storage *storage = NULL;
    TRY(checkpoint_storage_read(&self->reader, self->container, &stored));
    TRY(make_storage(self, &stored, &storage));
    self->objects->extents[self->index] = stored.extents;
    stored.extents = (StoredExtents){0};
    *out = value_object(OBJECT_STORAGE, storage);
    return NULL;
}

static Error *constant_storage(const ObjectReader *self, uint32_t index, Storage **out) {
    const Executable *executable = self->residency->executable;
    if (index >= executable->constant_count ||
        !value_is(&executable->constants[index].value, OBJECT_TENSOR))
        FAIL(CORRUPT, "constant %u is no tensor", index);
    const Tensor *constant = self->residency->constants[executable->constants[index].slot][index];
    if (!constant) FAIL(CORRUPT, "constant %u is never in a register", index);
    *out = constant->storage;
    return NULL;
}

/* A written tensor must have all its bytes in the file. */
static Error *check_covered(const StoredExtents *extents, const Tensor *tensor) {
    uint64_t size = tensor_bytes(tensor);
    for (uint32_t i = 0; i < extents->count; i++) {
        const StoredExtent *extent = &extents->items[i];
        if (tensor->offset >= extent->offset && size <= extent->size &&
            tensor->offset - extent->offset <= extent->size - size)
            return NULL;
    }
    if (size > 0) FAIL(CORRUPT, "a written tensor whose bytes are not there");
    return NULL;
}

static Error *read_tensor(ObjectReader *self, Value *out) {
    DType dtype;
    Shape shape;
    bool written, constant;
    uint32_t index;
    uint64_t offset;
    Storage *storage;
    TRY(value_bytes_read_dtype(&self->reader, false, &dtype));
    TRY(value_bytes_read_shape(&self->reader, 0, &shape));
    TRY(value_bytes_read_bool(&self->reader, &written));
    TRY(value_bytes_read_bool(&self->reader, &constant));
    TRY(byte_read_u32(&self->reader, &index));
    TRY(byte_read_u64(&self->reader, &offset));
    if (constant)
        TRY(constant_storage(self, index, &storage));
    else {
        if (index >= self->index || !value_is(&self->objects->values[index], OBJECT_STORAGE))
            FAIL(CORRUPT, "a tensor in object %u, which is no storage before it", index);
        storage = self->objects->values[index].storage;
    }
    OWN(Tensor, tensor) = NULL;
    TRY(error_recode(tensor_create(storage, offset, dtype, &shape, &tensor), ERROR_CORRUPT));
    if (!written) tensor_set_unwritten(tensor);
    if (!written && (constant || !storage->opaque))
        FAIL(CORRUPT, "an unwritten tensor outside an opaque storage");
    if (written && !constant) TRY(check_covered(&self->objects->extents[index], tensor));
    *out = value_object(OBJECT_TENSOR, TAKE(tensor));
    return NULL;
}

static Error *read_adt(ObjectReader *self, Value *out) {
    int64_t tag;
    uint32_t count;
    OWN(Adt, adt) = NULL;
    TRY(byte_read_i64(&self->reader, &tag));
    TRY(byte_read_count(&self->reader, VALUE_BYTES_MIN, &count));
    if (tag < 0 || tag > ADT_TAG_MAX || count > ADT_FIELDS_MAX)
        FAIL(CORRUPT, "tag %lld, %u fields", (long long)tag, count);
    TRY(adt_create(execution_get_meter(self->execution), tag, count, &adt));
    TRY(read_values(self, adt->fields, count));
    *out = value_object(OBJECT_ADT, TAKE(adt));
    return NULL;
}

static Error *read_list(ObjectReader *self, Value *out) {
    uint32_t count;
    OWN(List, list) = NULL;
    TRY(byte_read_count(&self->reader, VALUE_BYTES_MIN, &count));
    TRY(list_create(execution_get_meter(self->execution), count, &list));
    for (uint32_t i = 0; i < count; i++) {
        Value item;
        TRY_WRAP(
            checkpoint_value_read(&self->reader, self->objects, self->index, &item), "item %u", i);
        TRY(list_append(list, item));
    }
    *out = value_object(OBJECT_LIST, TAKE(list));
    return NULL;
}

static Error *read_closure(ObjectReader *self, Value *out) {
    uint32_t function, count;
    uint8_t side;
    OWN(Closure, closure) = NULL;
    const Executable *executable = self->residency->executable;
    TRY(byte_read_u32(&self->reader, &function));
    TRY(byte_read_u8(&self->reader, &side));
    TRY(byte_read_count(&self->reader, VALUE_BYTES_MIN, &count));
    if (function >= executable->function_count) FAIL(CORRUPT, "function %u", function);
    if (side != CLOSURE_FIRST && side != CLOSURE_LAST) FAIL(CORRUPT, "side %u", side);
    /* the count of bound values is compared by the call: Relax makes closures with too many */
    TRY(closure_create(
        execution_get_meter(self->execution), function, (ClosureSide)side, count, &closure));
    TRY(read_values(self, closure->bound, count));
    *out = value_object(OBJECT_CLOSURE, TAKE(closure));
    return NULL;
}

static Error *read_string(ObjectReader *self, Value *out) {
    char *text;
    StringObject *string;
    TRY(byte_read_text(&self->reader, STRING_OBJECT_SIZE_MAX, &text));
    Error *error =
        string_object_create(execution_get_meter(self->execution), text, strlen(text), &string);
    memory_free(text);
    TRY(error);
    *out = value_object(OBJECT_STRING, string);
    return NULL;
}

static Error *read_packed_function(ObjectReader *self, Value *out) {
    char *name;
    PackedObject *object;
    TRY(byte_read_text(&self->reader, FUNCTION_NAME_MAX, &name));
    Error *error = packed_object_create(execution_get_packed(self->execution), name, &object);
    memory_free(name);
    TRY(error);
    *out = value_object(OBJECT_PACKED_FUNCTION, object);
    return NULL;
}

/* The values that the state holds, behind its bytes. */
static Error *read_held(ObjectReader *self, const Opaque *opaque) {
    uint32_t count, stored;
    Value *values = opaque_values(opaque, &count);
    TRY(byte_read_u32(&self->reader, &stored));
    if (stored != count) FAIL(CORRUPT, "%u values, not %u", stored, count);
    TRY(read_values(self, values, count));
    return error_recode(opaque->kind->check_values(opaque->state), ERROR_CORRUPT);
}

static Error *load_opaque(
    ObjectReader *self, const OpaqueKind *kind, const uint8_t *bytes, uint32_t size, Value *out) {
    ByteReader state = byte_reader(bytes, size);
    void *loaded;
    OWN(Opaque, opaque) = NULL;
    TRY(kind->load(&state, &loaded));
    TRY(opaque_create(execution_get_meter(self->execution), kind, loaded, &opaque));
    TRY(byte_reader_check_end(&state));
    if (kind->values) TRY(read_held(self, opaque));
    *out = value_object(OBJECT_OPAQUE, TAKE(opaque));
    return NULL;
}

/* with_values: the object is stored with the values of its state. */
static Error *read_opaque(ObjectReader *self, bool with_values, Value *out) {
    char *name;
    uint32_t size;
    const uint8_t *bytes;
    TRY(byte_read_text(&self->reader, FUNCTION_NAME_MAX, &name));
    const OpaqueKind *kind =
        packed_registry_find_opaque_kind(execution_get_packed(self->execution), name);
    Error *error = NULL;
    if (!kind)
        error = error_make(ERROR_UNSUPPORTED, __FILE__, __LINE__,
            "an object of kind %s, which no packed function here makes", name);
    memory_free(name);
    if (!error) error = byte_read_count(&self->reader, 1, &size);
    if (!error) error = byte_read_view(&self->reader, size, &bytes);
    TRY(error);
    if (with_values != (kind->values != NULL))
        FAIL(CORRUPT, "%s %s values", kind->name, with_values ? "holds no" : "without its");
    TRY_WRAP(load_opaque(self, kind, bytes, size, out), "%s", kind->name);
    return NULL;
}

static Error *read_object(ObjectReader *self, Value *out) {
    uint8_t kind;
    TRY(byte_read_u8(&self->reader, &kind));
    switch (kind) {
    case OBJECT_TENSOR:
        return read_tensor(self, out);
    case OBJECT_STORAGE:
        return read_storage(self, out);
    case OBJECT_ADT:
        return read_adt(self, out);
    case OBJECT_LIST:
        return read_list(self, out);
    case OBJECT_CLOSURE:
        return read_closure(self, out);
    case OBJECT_SHAPE:
        return value_bytes_read_shape_object(&self->reader, out);
    case OBJECT_STRING:
        return read_string(self, out);
    case OBJECT_PACKED_FUNCTION:
        return read_packed_function(self, out);
    case OBJECT_OPAQUE:
        return read_opaque(self, false, out);
    case CHECKPOINT_OPAQUE_WITH_VALUES:
        return read_opaque(self, true, out);
    default:
        FAIL(CORRUPT, "object kind %u", kind);
    }
}

void checkpoint_objects_deinit(CheckpointObjects *objects) {
    for (uint32_t i = 0; i < objects->count; i++) {
        value_release(&objects->values[i]);
        memory_free(objects->extents[i].items);
    }
    memory_free(objects->values);
    memory_free(objects->extents);
    *objects = (CheckpointObjects){0};
}

/* Strings can be checked only when all bytes are read. */
static Error *check_strings(const CheckpointObjects *objects) {
    for (uint32_t i = 0; i < objects->count; i++)
        if (value_is(&objects->values[i], OBJECT_TENSOR))
            TRY_WRAP(error_recode(string_tensor_check(objects->values[i].tensor), ERROR_CORRUPT),
                "object %u", i);
    return NULL;
}

static Error *read_all(ObjectReader *self, uint32_t count) {
    void *memory;
    TRY(memory_alloc(count, sizeof(Value), &memory));
    self->objects->values = memory;
    TRY(memory_alloc(count, sizeof(StoredExtents), &memory));
    self->objects->extents = memory;
    self->objects->count = count;
    for (self->index = 0; self->index < count; self->index++)
        TRY_WRAP(read_object(self, &self->objects->values[self->index]), "object %u", self->index);
    TRY(byte_reader_check_end(&self->reader));
    TRY(read_bulks(self, self->reads, self->read_count));
    return check_strings(self->objects);
}

Error *checkpoint_objects_read(const Container *container, WorkerPool *pool, ChunkVerify verify,
    Residency *residency, Execution *execution, WarmStorages *warm, CheckpointObjects *out) {
    CheckpointObjects objects = {0};
    ObjectReader self = {.container = container,
        .pool = pool,
        .verify = verify,
        .residency = residency,
        .execution = execution,
        .warm = warm,
        .objects = &objects};
    uint32_t count;
    TRY(container_get_section(container, SECTION_OBJECTS, &self.reader));
    TRY(byte_read_count(&self.reader, OBJECT_BYTES_MIN, &count));
    Error *error = read_all(&self, count);
    memory_free(self.reads);
    if (error) {
        if (!objects.extents) objects.count = 0;
        checkpoint_objects_deinit(&objects);
        return error;
    }
    *out = objects;
    return NULL;
}
