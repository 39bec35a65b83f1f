#include "vm/objects/opaque.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/objects/object.h"

static uint64_t charge(const OpaqueKind *kind, const void *state) {
    return sizeof(Opaque) + kind->bytes(state);
}

Error *opaque_create(ObjectMeter *meter, const OpaqueKind *kind, void *owned_state, Opaque **out) {
    void *memory;
    uint64_t bytes = charge(kind, owned_state);
    Error *error = object_meter_charge(meter, bytes);
    if (!error) {
        error = memory_alloc(1, sizeof(Opaque), &memory);
        if (error) object_meter_refund(meter, bytes);
    }
    if (error) {
        kind->destroy(owned_state);
        return error;
    }
    Opaque *opaque = memory;
    refcount_init(&opaque->refcount);
    opaque->kind = kind;
    opaque->state = owned_state;
    opaque->meter = meter;
    *out = opaque;
    return NULL;
}

void opaque_release(Opaque *opaque) {
    if (!opaque || !refcount_release(&opaque->refcount)) return;
    object_meter_refund(opaque->meter, charge(opaque->kind, opaque->state));
    opaque->kind->destroy(opaque->state);
    memory_free(opaque);
}

Error *opaque_copy(const Opaque *opaque, Opaque **out) {
    void *state;
    TRY_WRAP(opaque->kind->copy(opaque->state, &state), "%s", opaque->kind->name);
    return opaque_create(opaque->meter, opaque->kind, state, out);
}

Value *opaque_values(const Opaque *opaque, uint32_t *out_count) {
    *out_count = 0;
    return opaque->kind->values ? opaque->kind->values(opaque->state, out_count) : NULL;
}

Error *opaque_charge(Opaque *opaque, uint64_t more_bytes) {
    return object_meter_charge(opaque->meter, more_bytes);
}

void opaque_refund(Opaque *opaque, uint64_t bytes) { object_meter_refund(opaque->meter, bytes); }

Error *shape_heap_create(uint32_t count, ShapeHeap **out) {
    if (count > SHAPE_HEAP_CELLS_MAX)
        FAIL(INVALID, "a shape heap of %u cells; there may be %d", count, SHAPE_HEAP_CELLS_MAX);
    void *memory;
    TRY(memory_alloc(1, sizeof(ShapeHeap) + count * sizeof(int64_t), &memory));
    ShapeHeap *heap = memory;
    heap->count = count;
    *out = heap;
    return NULL;
}

static Error *shape_heap_copy(const void *state, void **out) {
    const ShapeHeap *heap = state;
    ShapeHeap *copy;
    TRY(shape_heap_create(heap->count, &copy));
    memcpy(copy->cells, heap->cells, heap->count * sizeof heap->cells[0]);
    *out = copy;
    return NULL;
}

static Error *shape_heap_save(const void *state, ByteWriter *writer) {
    const ShapeHeap *heap = state;
    byte_write_u32(writer, heap->count);
    for (uint32_t i = 0; i < heap->count; i++) byte_write_i64(writer, heap->cells[i]);
    return byte_writer_check(writer);
}

static Error *shape_heap_load(ByteReader *reader, void **out) {
    uint32_t count;
    TRY(byte_read_count(reader, sizeof(int64_t), &count));
    ShapeHeap *heap;
    TRY(shape_heap_create(count, &heap));
    for (uint32_t i = 0; i < count; i++) {
        Error *error = byte_read_i64(reader, &heap->cells[i]);
        if (error) {
            memory_free(heap);
            return error;
        }
    }
    *out = heap;
    return NULL;
}

static uint64_t shape_heap_bytes(const void *state) {
    const ShapeHeap *heap = state;
    return sizeof(ShapeHeap) + heap->count * sizeof heap->cells[0];
}

static void shape_heap_print(const void *state, TextBuilder *out) {
    text_appendf(out, "of %u cells", ((const ShapeHeap *)state)->count);
}

const OpaqueKind opaque_shape_heap = {
    .name = "shape_heap",
    .destroy = memory_free,
    .bytes = shape_heap_bytes,
    .copy = shape_heap_copy,
    .save = shape_heap_save,
    .load = shape_heap_load,
    .print = shape_heap_print,
};
