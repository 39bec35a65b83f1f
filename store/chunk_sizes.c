#include "store/chunk_sizes.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"

/* Ids count up, so the last PLACES ones have a place each: 1 MiB. */
enum { PLACES = 1 << 16 };

typedef struct Place {
    int64_t id; /* 0: empty */
    ChunkSize size;
} Place;

struct ChunkSizes {
    pthread_mutex_t mutex;
    Place places[PLACES];
};

Error *chunk_sizes_create(ChunkSizes **out_sizes) {
    TRY(memory_alloc(1, sizeof **out_sizes, (void **)out_sizes));
    (void)pthread_mutex_init(&(*out_sizes)->mutex, NULL);
    return NULL;
}

void chunk_sizes_release(ChunkSizes *sizes) {
    if (!sizes) return;
    (void)pthread_mutex_destroy(&sizes->mutex);
    memory_free(sizes);
}

static Place *place_of(ChunkSizes *sizes, int64_t id) {
    return &sizes->places[(uint64_t)id % PLACES];
}

bool chunk_sizes_find(ChunkSizes *sizes, int64_t id, ChunkSize *out_size) {
    (void)pthread_mutex_lock(&sizes->mutex);
    const Place *place = place_of(sizes, id);
    bool found = id > 0 && place->id == id;
    if (found) *out_size = place->size;
    (void)pthread_mutex_unlock(&sizes->mutex);
    return found;
}

void chunk_sizes_note(ChunkSizes *sizes, int64_t id, ChunkSize size) {
    (void)pthread_mutex_lock(&sizes->mutex);
    *place_of(sizes, id) = (Place){id, size};
    (void)pthread_mutex_unlock(&sizes->mutex);
}

void chunk_sizes_forget(ChunkSizes *sizes) {
    (void)pthread_mutex_lock(&sizes->mutex);
    memset(sizes->places, 0, sizeof sizes->places);
    (void)pthread_mutex_unlock(&sizes->mutex);
}
