#include "store/database/recent_chunks.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/allocator.h"

/* 3 MiB, whose pages are touched as needed. Enough for the chunks of 4 GiB, or for the last 65,536
 * small chunks of a long decode loop. */
enum { BUCKETS = 1 << 14, PLACES = 4 };

typedef struct Place {
    TenantId tenant;
    Digest hash;
    ChunkSize size; /* stored: 0 in a free place */
} Place;

typedef struct Bucket {
    Place places[PLACES]; /* the most recent place first */
} Bucket;

struct RecentChunks {
    pthread_mutex_t mutex;
    Bucket buckets[BUCKETS];
};

Error *recent_chunks_create(RecentChunks **out_chunks) {
    TRY(memory_alloc(1, sizeof **out_chunks, (void **)out_chunks));
    (void)pthread_mutex_init(&(*out_chunks)->mutex, NULL);
    return NULL;
}

void recent_chunks_release(RecentChunks *chunks) {
    if (!chunks) return;
    (void)pthread_mutex_destroy(&chunks->mutex);
    memory_free(chunks);
}

static Bucket *bucket_of(RecentChunks *chunks, const Digest *hash) {
    uint64_t low;
    memcpy(&low, hash->bytes, sizeof low);
    return &chunks->buckets[low % BUCKETS];
}

/* Returns PLACES if the bucket lacks the chunk. */
static int find(const Bucket *bucket, TenantId tenant, const Digest *hash) {
    int at = 0;
    while (at < PLACES) {
        const Place *place = &bucket->places[at];
        if (place->size.stored && place->tenant == tenant && digest_equal(&place->hash, hash))
            break;
        at++;
    }
    return at;
}

bool recent_chunks_find(
    RecentChunks *chunks, TenantId tenant, const Digest *hash, ChunkSize *out_size) {
    const Bucket *bucket = bucket_of(chunks, hash);
    (void)pthread_mutex_lock(&chunks->mutex);
    int at = find(bucket, tenant, hash);
    if (at < PLACES) *out_size = bucket->places[at].size;
    (void)pthread_mutex_unlock(&chunks->mutex);
    return at < PLACES;
}

void recent_chunks_note(RecentChunks *chunks, TenantId tenant, const Digest *hash, ChunkSize size) {
    Bucket *bucket = bucket_of(chunks, hash);
    assert(size.stored > 0);
    (void)pthread_mutex_lock(&chunks->mutex);
    int at = find(bucket, tenant, hash);
    if (at == PLACES) at--; /* replaces the oldest place */
    memmove(&bucket->places[1], &bucket->places[0], (size_t)at * sizeof(Place));
    bucket->places[0] = (Place){tenant, *hash, size};
    (void)pthread_mutex_unlock(&chunks->mutex);
}

void recent_chunks_forget(RecentChunks *chunks, TenantId tenant, const Digest *hash) {
    Bucket *bucket = bucket_of(chunks, hash);
    (void)pthread_mutex_lock(&chunks->mutex);
    int at = find(bucket, tenant, hash);
    if (at < PLACES) bucket->places[at].size.stored = 0;
    (void)pthread_mutex_unlock(&chunks->mutex);
}
