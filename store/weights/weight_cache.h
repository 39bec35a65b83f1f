#pragma once
/* Prepared weights, kept between activations in home/cache/weights: a bounded folder of
 * weight_file.h, the least recently used going first.
 *
 * A cache: nothing in it is believed before its checksums were looked at, once in each process and
 * mapping; a file that is short, changed, replaced or foreign is removed, and its weights are made
 * anew. What is found stays mapped, so that a model that comes and goes is copied out of the
 * system's page cache, which gives way where memory is needed for something else.
 *
 * Two tenants with the same executable share its file: it is named by content alone, and only who
 * the catalog says has the executable comes to ask for it. That another tenant was here before
 * shows in how long an activation takes, and nowhere else; where tenants are isolated, the layout
 * of a key has the tenant in it, and nothing is shared. Files and folder are the owner's alone
 * (0600, 0700). An executable that leaves the store takes its files along (gc.h).
 *
 * Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#include "store/database/store.h"
#include "store/weights/weight_file.h"

typedef struct WeightCache WeightCache;

enum { WEIGHT_CACHE_FILES_MAX = 2048 };

/* home: makes cache/weights in it, and removes what is no file of the cache, or of a write that did
 * not end. bytes_max: of all files together; 0: a quarter of what the file system has free and the
 * cache holds. Errors: IO; EXHAUSTED. */
MUST_CHECK Error *weight_cache_open(const char *home, uint64_t bytes_max, WeightCache **out_cache);
/* Nothing that was found is held any more. */
void weight_cache_close(WeightCache *cache);
DEFINE_OWN(WeightCache, weight_cache_close);

/* Weights that were found: counted. */
typedef struct CachedWeights CachedWeights;
/* *out_weights NULL: they are not there. Never fails: what cannot be opened is not there. */
void weight_cache_find(WeightCache *cache, const WeightKey *key, CachedWeights **out_weights);
CachedWeights *cached_weights_retain(CachedWeights *weights);
void cached_weights_release(CachedWeights *weights);
DEFINE_OWN(CachedWeights, cached_weights_release);
/* key.size bytes, page-aligned, to be checked before they are believed. */
const uint8_t *cached_weights_data(const CachedWeights *weights);
/* Checks the pieces that these bytes touch unless they were checked before. Errors: CORRUPT. */
MUST_CHECK Error *cached_weights_check(CachedWeights *weights, uint64_t offset, uint64_t size);
/* Bytes could not be read since: what was made of them may be wrong. */
bool cached_weights_is_damaged(const CachedWeights *weights);

/* Stores weights, making room for them; what is in use does not go. *out_kept false: there is no
 * room for them. Errors: as weight_file_write. */
MUST_CHECK Error *weight_cache_keep(WeightCache *cache, const WeightKey *key, WeightReader reader,
    WorkerPool *pool, bool *out_kept);
/* They are not what they should be: never to be found again. */
void weight_cache_discard(WeightCache *cache, const WeightKey *key);
/* Lets go of files that others removed (gc). */
void weight_cache_forget_removed(WeightCache *cache);

typedef struct WeightCacheCounts {
    uint64_t hits, misses;
    uint64_t evictions; /* for want of room */
    uint64_t damaged;   /* files removed because they were not what was written */
    uint64_t bytes, bytes_max;
    uint32_t files;
} WeightCacheCounts;
WeightCacheCounts weight_cache_count(WeightCache *cache);
