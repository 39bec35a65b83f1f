#include "serialize/checkpoint/checkpoint_storage.h"

#include "base/allocator.h"
#include "serialize/chunk/storage_chunks.h"
#include "serialize/container/value_bytes.h"
#include "vm/residency/residency.h"

enum { EXTENT_BYTES_MIN = 17 };

void checkpoint_storage_deinit(StoredStorage *stored) {
    memory_free(stored->extents.items);
    *stored = (StoredStorage){0};
}

static uint32_t chunk_size_of(const StoredStorage *stored) {
    return stored->kind == CHECKPOINT_STORAGE_APPEND ? CHUNK_APPEND_SIZE : CHUNK_SIZE;
}

static Error *read_data(ByteReader *reader, const Container *container, const StoredStorage *stored,
    StoredExtent *extent) {
    if (extent->size <= CHECKPOINT_INLINE_SIZE)
        return byte_read_view(reader, (size_t)extent->size, &extent->bytes);
    TRY(byte_read_u32(reader, &extent->bulk_index));
    TRY(container_get_bulk(container, extent->bulk_index, &extent->bulk));
    if (extent->bulk.chunk_size != chunk_size_of(stored))
        FAIL(
            CORRUPT, "data in chunks of %u for a storage of another kind", extent->bulk.chunk_size);
    if (extent->bulk.size != extent->size)
        FAIL(CORRUPT, "%llu bytes of data for an extent of %llu",
            (unsigned long long)extent->bulk.size, (unsigned long long)extent->size);
    return NULL;
}

static Error *read_extents(ByteReader *reader, const Container *container, StoredStorage *stored) {
    uint64_t end = 0, size = stored->size;
    for (uint32_t i = 0; i < stored->extents.count; i++) {
        StoredExtent *extent = &stored->extents.items[i];
        TRY(byte_read_u64(reader, &extent->offset));
        TRY(byte_read_u64(reader, &extent->size));
        if (extent->size == 0 || extent->offset < end || (i > 0 && extent->offset == end) ||
            extent->offset > size || extent->size > size - extent->offset)
            FAIL(CORRUPT, "extent %u overlaps another or leaves its storage", i);
        end = extent->offset + extent->size;
        TRY_WRAP(read_data(reader, container, stored, extent), "extent %u", i);
    }
    if (stored->kind != CHECKPOINT_STORAGE_OPAQUE && end != size)
        FAIL(CORRUPT, "a storage of %llu bytes of which %llu are written", (unsigned long long)size,
            (unsigned long long)end);
    return NULL;
}

Error *checkpoint_storage_read(ByteReader *reader, const Container *container, StoredStorage *out) {
    StoredStorage OWN_STORED_STORAGE(stored) = {0};
    uint32_t count;
    void *memory;
    TRY(byte_read_u8(reader, &stored.slot));
    TRY(byte_read_u8(reader, &stored.kind));
    TRY(value_bytes_read_bool(reader, &stored.sealed));
    TRY(byte_read_u64(reader, &stored.size));
    TRY(byte_read_count(reader, EXTENT_BYTES_MIN, &count));
    if (stored.slot >= SLOT_COUNT) FAIL(CORRUPT, "slot %u", stored.slot);
    if (stored.kind > CHECKPOINT_STORAGE_APPEND) FAIL(CORRUPT, "a storage of kind %u", stored.kind);
    if (stored.kind == CHECKPOINT_STORAGE_OPAQUE && stored.sealed)
        FAIL(CORRUPT, "a storage both opaque and sealed");
    TRY(memory_alloc(count, sizeof(StoredExtent), &memory));
    stored.extents = (StoredExtents){memory, count};
    TRY(read_extents(reader, container, &stored));
    *out = stored;
    stored = (StoredStorage){0};
    return NULL;
}

Error *checkpoint_storage_name(const StoredStorage *stored, Digest *out_name) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u8(&bytes, stored->slot);
    byte_write_u8(&bytes, stored->kind);
    byte_write_u64(&bytes, stored->size);
    for (uint32_t i = 0; i < stored->extents.count; i++) {
        const StoredExtent *extent = &stored->extents.items[i];
        byte_write_u64(&bytes, extent->offset);
        byte_write_u64(&bytes, extent->size);
        if (extent->bytes) byte_write_bytes(&bytes, extent->bytes, (size_t)extent->size);
        for (size_t k = 0; k < extent->bulk.chunk_count; k++)
            byte_write_bytes(&bytes, extent->bulk.refs[k].hash.bytes, DIGEST_SIZE);
    }
    TRY(byte_writer_check(&bytes));
    return digest_sha256(bytes.data, bytes.size, out_name);
}

Error *checkpoint_storage_make(
    const StoredStorage *stored, MemoryPool *pool, MemoryAnswer *out_answer, Storage **out) {
    OWN(Storage, storage) = NULL;
    TRY((stored->kind == CHECKPOINT_STORAGE_APPEND ? storage_create_append : storage_create)(
        pool, stored->slot, stored->size, out_answer, &storage));
    if (out_answer->kind != MEMORY_GRANTED) return NULL;
    storage->opaque = stored->kind == CHECKPOINT_STORAGE_OPAQUE;
    for (uint32_t i = 0; i < stored->extents.count && !storage->opaque; i++) {
        const StoredExtent *extent = &stored->extents.items[i];
        if (!extent->bytes)
            storage_chunks_note(
                storage, extent->offset, extent->size, extent->bulk.chunk_size, extent->bulk.refs);
    }
    *out = TAKE(storage);
    return NULL;
}
