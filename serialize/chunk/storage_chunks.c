#include "serialize/chunk/storage_chunks.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"

/* A storage seldom has more than one live extent. Of a storage with many extents, the first few are
 * kept. */
enum { EXTENTS_MAX = 8 };

typedef struct KnownExtent {
    uint64_t offset;
    uint32_t chunk_size;
    size_t count;
    ChunkRef *refs;
} KnownExtent;

typedef struct StorageChunks {
    StorageAnnotation base;
    pthread_mutex_t mutex; /* guards the members below */
    KnownExtent extents[EXTENTS_MAX];
    size_t extent_count;
} StorageChunks;

static void release(StorageAnnotation *base) {
    StorageChunks *chunks = (StorageChunks *)base;
    for (size_t i = 0; i < chunks->extent_count; i++) memory_free(chunks->extents[i].refs);
    pthread_mutex_destroy(&chunks->mutex);
    memory_free(chunks);
}

static StorageChunks *get(const Storage *storage) {
    return (StorageChunks *)storage_get_annotation(storage);
}

/* The storage's, made if there is none; NULL: no memory. */
static StorageChunks *ensure(Storage *storage) {
    void *memory;
    StorageChunks *there = get(storage);
    if (there) return there;
    Error *error = memory_alloc(1, sizeof(StorageChunks), &memory);
    if (error) {
        error_free(error);
        return NULL;
    }
    StorageChunks *made = memory;
    *made = (StorageChunks){.base = {release}};
    pthread_mutex_init(&made->mutex, NULL);
    if (storage_annotate(storage, &made->base)) return made;
    release(&made->base);
    return get(storage);
}

/* The place for the extent that begins at the offset, or NULL if the storage has too many. */
static KnownExtent *find(StorageChunks *chunks, uint64_t offset, uint32_t chunk_size) {
    for (size_t i = 0; i < chunks->extent_count; i++) {
        KnownExtent *extent = &chunks->extents[i];
        if (extent->offset == offset && extent->chunk_size == chunk_size) return extent;
    }
    return chunks->extent_count < EXTENTS_MAX ? &chunks->extents[chunks->extent_count] : NULL;
}

/* If the extent has grown, its last chunk has other bytes and is not counted. */
static size_t count_leading(const KnownExtent *extent, uint64_t size) {
    const size_t count = chunk_count(size, extent->chunk_size);
    size_t known = 0;
    while (known < count && known < extent->count &&
           extent->refs[known].raw_size == chunk_raw_size(size, extent->chunk_size, known))
        known++;
    return known;
}

size_t storage_chunks_get(const Storage *storage, uint64_t offset, uint64_t size,
    uint32_t chunk_size, ChunkRef *out_refs) {
    StorageChunks *chunks = get(storage);
    size_t count = 0;
    if (!chunks) return 0;
    pthread_mutex_lock(&chunks->mutex);
    const KnownExtent *extent = find(chunks, offset, chunk_size);
    if (extent && extent->count > 0) {
        count = count_leading(extent, size);
        memcpy(out_refs, extent->refs, count * sizeof(ChunkRef));
    }
    pthread_mutex_unlock(&chunks->mutex);
    return count;
}

/* Of two extents that begin at the same place, the one with more chunks is kept. */
static Error *note(StorageChunks *chunks, uint64_t offset, uint64_t size, uint32_t chunk_size,
    const ChunkRef *refs) {
    const size_t count = chunk_count(size, chunk_size);
    KnownExtent *extent = find(chunks, offset, chunk_size);
    void *memory;
    if (!extent || extent->count > count) return NULL;
    if (extent->count > 0 && count_leading(extent, size) == count) return NULL;
    TRY(memory_alloc(count, sizeof(ChunkRef), &memory));
    memcpy(memory, refs, count * sizeof(ChunkRef));
    if (extent->count == 0) chunks->extent_count++;
    memory_free(extent->refs);
    *extent = (KnownExtent){offset, chunk_size, count, memory};
    return NULL;
}

void storage_chunks_note(
    Storage *storage, uint64_t offset, uint64_t size, uint32_t chunk_size, const ChunkRef *refs) {
    StorageChunks *chunks = size > 0 ? ensure(storage) : NULL;
    if (!chunks) return;
    pthread_mutex_lock(&chunks->mutex);
    error_free(note(chunks, offset, size, chunk_size, refs));
    pthread_mutex_unlock(&chunks->mutex);
}
