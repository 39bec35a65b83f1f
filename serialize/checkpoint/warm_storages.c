#include "serialize/checkpoint/warm_storages.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "serialize/checkpoint/checkpoint_internal.h"
#include "serialize/chunk/warm_chunks.h"

typedef struct WarmEntry {
    Digest name;
    Storage *storage; /* NULL: taken */
} WarmEntry;

/* The storages of one checkpoint. */
typedef struct Holding {
    WarmEntry *entries; /* ascending by name once all are read */
    size_t count, capacity;
    WarmChunks chunks; /* of all entries */
} Holding;

struct WarmStorages {
    MemoryPool *pools[SLOT_COUNT]; /* NULL: addresses there are no pointers */
    Holding held;
    WarmCounts counts;
};

static void holding_deinit(Holding *holding) {
    for (size_t i = 0; i < holding->count; i++) storage_release(holding->entries[i].storage);
    memory_free(holding->entries);
    warm_chunks_deinit(&holding->chunks);
    *holding = (Holding){0};
}

Error *warm_storages_create(
    Device *const devices[SLOT_COUNT], uint64_t limit_bytes, WarmStorages **out) {
    OWN(WarmStorages, warm) = NULL;
    TRY(memory_alloc(1, sizeof *warm, (void **)&warm));
    for (uint8_t slot = 0; slot < SLOT_COUNT; slot++)
        if (devices[slot]->class_->host_memory)
            TRY(memory_pool_create(devices[slot], limit_bytes, &warm->pools[slot]));
    *out = TAKE(warm);
    return NULL;
}

void warm_storages_release(WarmStorages *warm) {
    if (!warm) return;
    holding_deinit(&warm->held);
    for (uint8_t slot = 0; slot < SLOT_COUNT; slot++) memory_pool_release(warm->pools[slot]);
    memory_free(warm);
}

/* Returns the idle blocks of the pools: released storages' memory is not needed until the next
 * reading. */
void warm_storages_clear(WarmStorages *warm) {
    holding_deinit(&warm->held);
    for (uint8_t slot = 0; slot < SLOT_COUNT; slot++)
        if (warm->pools[slot]) memory_pool_trim(warm->pools[slot]);
}

WarmCounts warm_storages_get_counts(const WarmStorages *warm) { return warm->counts; }

uint64_t warm_storages_bytes(const WarmStorages *warm) {
    uint64_t bytes = 0;
    for (uint8_t slot = 0; slot < SLOT_COUNT; slot++)
        if (warm->pools[slot]) bytes += memory_pool_used_bytes(warm->pools[slot]);
    return bytes;
}

/* ---- finding ---- */

static int compare(const void *a, const void *b) {
    const WarmEntry *left = a, *right = b;
    return memcmp(left->name.bytes, right->name.bytes, DIGEST_SIZE);
}

/* An entry of that name whose storage is still there, or NULL. Several storages may have equal
 * names. */
static WarmEntry *find(const Holding *holding, const Digest *name) {
    const WarmEntry key = {.name = *name};
    if (holding->count == 0) return NULL;
    WarmEntry *end = holding->entries + holding->count;
    WarmEntry *at = bsearch(&key, holding->entries, holding->count, sizeof key, compare);
    if (!at) return NULL;
    while (at > holding->entries && digest_equal(&at[-1].name, name)) at--;
    while (at < end && digest_equal(&at->name, name) && !at->storage) at++;
    return at < end && digest_equal(&at->name, name) ? at : NULL;
}

static uint64_t bulk_bytes(const StoredStorage *stored) {
    uint64_t bytes = 0; /* the sum cannot overflow: each extent is bounded by its storage */
    for (uint32_t i = 0; i < stored->extents.count; i++)
        if (!stored->extents.items[i].bytes) bytes += stored->extents.items[i].size;
    return bytes;
}

Error *warm_storages_take(
    WarmStorages *warm, const StoredStorage *stored, MemoryPool *pool, Storage **out) {
    Digest name;
    *out = NULL;
    if (!warm->pools[stored->slot] || bulk_bytes(stored) == 0) return NULL;
    TRY(checkpoint_storage_name(stored, &name));
    WarmEntry *entry = find(&warm->held, &name);
    if (!entry || !storage_move(entry->storage, pool)) return NULL;
    entry->storage->sealed = stored->sealed;
    warm->counts.kept += bulk_bytes(stored);
    *out = TAKE(entry->storage);
    return NULL;
}

/* ---- reading ---- */

Error *warm_storages_read_bulks(WarmStorages *warm, const Container *container,
    const BulkRead *reads, size_t count, WorkerPool *pool, ChunkVerify verify) {
    void *memory;
    TRY(memory_alloc(count, sizeof(ChunkRun), &memory));
    ChunkRun *runs = memory;
    Error *error = NULL;
    for (size_t i = 0; i < count && !error; i++) {
        ContainerBulk bulk = {0};
        error = container_get_bulk(container, reads[i].index, &bulk);
        runs[i] = (ChunkRun){bulk.refs, bulk.chunk_count, reads[i].out_data};
    }
    if (!error)
        error = warm_chunks_read(&warm->held.chunks, pool, runs, count, verify,
            container_get_source(container), &warm->counts.copied, &warm->counts.decoded);
    memory_free(memory);
    return error_wrap(error, "bulk data");
}

/* The reading of one checkpoint into the set. */
typedef struct Reading {
    WarmStorages *warm;
    const Container *container;
    Holding next;
    BulkRead *reads;
    size_t read_count, read_capacity;
} Reading;

static Error *add_entry(Reading *self, const Digest *name, Storage *owned_storage) {
    OWN(Storage, storage) = owned_storage;
    void *entries = self->next.entries;
    TRY(memory_grow(&entries, self->next.count, &self->next.capacity, sizeof(WarmEntry)));
    self->next.entries = entries;
    self->next.entries[self->next.count++] = (WarmEntry){*name, TAKE(storage)};
    return NULL;
}

static void *address_of(const Storage *storage, const StoredExtent *extent) {
    return (void *)(uintptr_t)(storage->address + extent->offset);
}

static Error *plan_reads(Reading *self, const StoredStorage *stored, const Storage *storage) {
    for (uint32_t i = 0; i < stored->extents.count; i++) {
        const StoredExtent *extent = &stored->extents.items[i];
        void *to = address_of(storage, extent), *reads = self->reads;
        if (extent->bytes) {
            memcpy(to, extent->bytes, (size_t)extent->size);
            continue;
        }
        TRY(memory_grow(&reads, self->read_count, &self->read_capacity, sizeof(BulkRead)));
        self->reads = reads;
        self->reads[self->read_count++] = (BulkRead){extent->bulk_index, to};
    }
    return NULL;
}

static Error *note_chunks(Reading *self, const StoredStorage *stored, const Storage *storage) {
    for (uint32_t i = 0; i < stored->extents.count; i++) {
        const StoredExtent *extent = &stored->extents.items[i];
        if (!extent->bytes)
            TRY(warm_chunks_add(&self->next.chunks, extent->bulk.refs, extent->bulk.chunk_count,
                address_of(storage, extent)));
    }
    return NULL;
}

/* *out NULL: the pool has no room for the storage. */
static Error *make_storage(Reading *self, const StoredStorage *stored, Storage **out) {
    MemoryAnswer answer;
    OWN(Storage, storage) = NULL;
    Error *error =
        checkpoint_storage_make(stored, self->warm->pools[stored->slot], &answer, &storage);
    if (error_code(error) == ERROR_EXHAUSTED) {
        error_free(error); /* checkpoint_read reads this storage later, or refuses it */
        return NULL;
    }
    TRY(error);
    if (answer.kind != MEMORY_GRANTED) return NULL;
    TRY(plan_reads(self, stored, storage));
    *out = TAKE(storage);
    return NULL;
}

static Error *visit(void *context, ByteReader at) {
    Reading *self = context;
    StoredStorage OWN_STORED_STORAGE(stored) = {0};
    Storage *storage = NULL;
    Digest name;
    TRY(checkpoint_storage_read(&at, self->container, &stored));
    MemoryPool *pool = self->warm->pools[stored.slot];
    if (!pool || bulk_bytes(&stored) == 0) return NULL;
    TRY(warm_storages_take(self->warm, &stored, pool, &storage));
    if (!storage) TRY(make_storage(self, &stored, &storage));
    if (!storage) return NULL;
    Error *error = checkpoint_storage_name(&stored, &name);
    if (!error) error = note_chunks(self, &stored, storage);
    if (error) {
        storage_release(storage);
        return error;
    }
    return add_entry(self, &name, storage);
}

static Error *read_all(Reading *self, WorkerPool *pool, ChunkVerify verify) {
    if (!container_has_section(self->container, SECTION_OBJECTS)) return NULL;
    TRY(checkpoint_walk_storages(self->container, visit, self));
    TRY(warm_storages_read_bulks(
        self->warm, self->container, self->reads, self->read_count, pool, verify));
    if (self->next.count > 0)
        qsort(self->next.entries, self->next.count, sizeof(WarmEntry), compare);
    return NULL;
}

Error *warm_storages_read(
    WarmStorages *warm, const Container *container, WorkerPool *pool, ChunkVerify verify) {
    Reading self = {.warm = warm, .container = container};
    Error *error = read_all(&self, pool, verify);
    memory_free(self.reads);
    warm_storages_clear(warm); /* storages that the new checkpoint shares were taken out before */
    if (error) {
        holding_deinit(&self.next); /* only some of the storages were read */
        return error_wrap(error, "checkpoint");
    }
    warm->held = self.next;
    return NULL;
}
