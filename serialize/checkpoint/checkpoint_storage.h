#pragma once
/* A storage as a checkpoint describes it, for checkpoint_objects.c and warm_storages.c. Threads:
 * one at a time per storage. */
#include "kernels/tensor/storage.h"
#include "serialize/container/container.h"

/* Tensors up to this size are in their section, not in chunks. */
enum {
    CHECKPOINT_INLINE_SIZE = 4096,
    /* Stored instead of OBJECT_OPAQUE where the object's state holds values. */
    CHECKPOINT_OPAQUE_WITH_VALUES = 128,
};

/* Kinds of storage; the values are stored. */
enum {
    CHECKPOINT_STORAGE_VALUE = 0,
    CHECKPOINT_STORAGE_OPAQUE = 1,
    CHECKPOINT_STORAGE_APPEND = 2, /* its capacity and its filled part follow from its size */
};

/* Bytes of a storage that are in the checkpoint. */
typedef struct StoredExtent {
    uint64_t offset, size;
    const uint8_t *bytes; /* in the section's memory; NULL: the bytes are bulk data */
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
    uint64_t size; /* as it was written; a growing storage has capacity behind it */
    StoredExtents extents;
} StoredStorage;

/* Reads a description and checks all of it except whether memory suffices and what the chunks
 * contain.
 * Errors: CORRUPT. */
MUST_CHECK Error *checkpoint_storage_read(
    ByteReader *reader, const Container *container, StoredStorage *out);
void checkpoint_storage_deinit(StoredStorage *stored);
#define OWN_STORED_STORAGE(name) __attribute__((cleanup(checkpoint_storage_deinit))) name

/* Computes a name. Two storages of one name have the same size and kind, and the same bytes where
 * any are written. */
MUST_CHECK Error *checkpoint_storage_name(const StoredStorage *stored, Digest *out_name);
/* Makes an empty, unsealed storage and notes the names of its chunks. Errors and answer as
 * storage_create. */
MUST_CHECK Error *checkpoint_storage_make(
    const StoredStorage *stored, MemoryPool *pool, MemoryAnswer *out_answer, Storage **out);
