#include "store/database/recent_chunks.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/allocator.h"

/* 3 MiB when full. Enough for the chunks of 4 GiB, or for the last 65,536 small chunks of a long
 * decode loop. A group of buckets is allocated with the first chunk that it caches: clearing 3 MiB
 * took most of the time in which an empty store was opened. */
enum { BUCKETS = 1 << 14, PLACES = 4, GROUP_BUCKETS = 16, GROUPS = BUCKETS / GROUP_BUCKETS };

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
    Bucket *groups[GROUPS]; /* GROUP_BUCKETS each, or NULL */
};

Error *recent_chunks_create(RecentChunks **out_chunks) {
    TRY(memory_alloc(1, sizeof **out_chunks, (void **)out_chunks));
    (void)pthread_mutex_init(&(*out_chunks)->mutex, NULL);
    return NULL;
}

void recent_chunks_release(RecentChunks *chunks) {
    if (!chunks) return;
    (void)pthread_mutex_destroy(&chunks->mutex);
    for (int i = 0; i < GROUPS; i++) memory_free(chunks->groups[i]);
    memory_free(chunks);
}

/* The bucket of a hash; NULL if its group is not allocated. With `makes`, NULL only without memory.
 * Called under the mutex. */
static Bucket *bucket_of(RecentChunks *chunks, const Digest *hash, bool makes) {
    uint64_t low;
    memcpy(&low, hash->bytes, sizeof low);
    const size_t bucket = low % BUCKETS;
    Bucket **group = &chunks->groups[bucket / GROUP_BUCKETS];
    if (!*group && makes) error_free(memory_alloc(GROUP_BUCKETS, sizeof **group, (void **)group));
    return *group ? &(*group)[bucket % GROUP_BUCKETS] : NULL;
}

/* Returns PLACES if there is no bucket or the bucket lacks the chunk. */
static int find(const Bucket *bucket, TenantId tenant, const Digest *hash) {
    if (!bucket) return PLACES;
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
    (void)pthread_mutex_lock(&chunks->mutex);
    const Bucket *bucket = bucket_of(chunks, hash, false);
    int at = find(bucket, tenant, hash);
    if (at < PLACES) *out_size = bucket->places[at].size;
    (void)pthread_mutex_unlock(&chunks->mutex);
    return at < PLACES;
}

void recent_chunks_note(RecentChunks *chunks, TenantId tenant, const Digest *hash, ChunkSize size) {
    assert(size.stored > 0);
    (void)pthread_mutex_lock(&chunks->mutex);
    Bucket *bucket = bucket_of(chunks, hash, true);
    int at = find(bucket, tenant, hash);
    if (at == PLACES) at--; /* replaces the oldest place */
    if (bucket) {
        memmove(&bucket->places[1], &bucket->places[0], (size_t)at * sizeof(Place));
        bucket->places[0] = (Place){tenant, *hash, size};
    }
    (void)pthread_mutex_unlock(&chunks->mutex);
}

void recent_chunks_forget(RecentChunks *chunks, TenantId tenant, const Digest *hash) {
    (void)pthread_mutex_lock(&chunks->mutex);
    Bucket *bucket = bucket_of(chunks, hash, false);
    int at = find(bucket, tenant, hash);
    if (at < PLACES) bucket->places[at].size.stored = 0;
    (void)pthread_mutex_unlock(&chunks->mutex);
}
