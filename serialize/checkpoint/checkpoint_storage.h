#pragma once
/* A storage as a checkpoint describes it. */
#include "kernels/tensor/storage.h"
#include "serialize/container/container.h"

/* Tensors up to this size stand in their section, not in chunks. */
enum { CHECKPOINT_INLINE_SIZE = 4096 };

/* What kind of storage; the values are stored. */
enum {
    CHECKPOINT_STORAGE_VALUE = 0,
    CHECKPOINT_STORAGE_OPAQUE = 1,
    CHECKPOINT_STORAGE_APPEND = 2, /* its room and what is filled of it follow from its size */
};

/* Bytes of a storage that came with the checkpoint. */
typedef struct StoredExtent {
    uint64_t offset, size;
    const uint8_t *bytes; /* borrowed from the section; NULL: they are bulk data */
    ContainerBulk bulk;
    uint32_t bulk_index;
} StoredExtent;

typedef struct StoredExtents {
    StoredExtent *items; /* sorted, disjoint; memory_free */
    uint32_t count;
} StoredExtents;

typedef struct StoredStorage {
    uint8_t slot, kind; /* CHECKPOINT_STORAGE_… */
    bool sealed;
    uint64_t size; /* as it was written; one that grows has room behind it */
    StoredExtents extents;
} StoredStorage;

/* Everything is checked but whether there is memory, and what the chunks hold.
 * Errors: CORRUPT. */
MUST_CHECK Error *checkpoint_storage_read(
    ByteReader *reader, const Container *container, StoredStorage *out);
void checkpoint_storage_deinit(StoredStorage *stored);
#define OWN_STORED_STORAGE(name) __attribute__((cleanup(checkpoint_storage_deinit))) name

/* Two storages of one name have the same size and kind, and hold the same bytes wherever any are
 * written. */
MUST_CHECK Error *checkpoint_storage_name(const StoredStorage *stored, Digest *out_name);
/* An empty one, unsealed, with the names of its chunks noted. Errors and answer as storage_create.
 */
MUST_CHECK Error *checkpoint_storage_make(
    const StoredStorage *stored, MemoryPool *pool, MemoryAnswer *out_answer, Storage **out);
