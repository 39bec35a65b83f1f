#pragma once
/* Prepared weights, kept between activations in home/cache/weights: a bounded folder of weight
 * files (weight_file.h); the least recently used file is removed first. Callers:
 * scheduler/executor, which loads models, housekeeping and, without a daemon, tools/client.
 *
 * The cache trusts no file before its checksums were checked, once in each process and mapping. A
 * file that is short, changed, replaced or foreign is removed, and its weights are prepared anew.
 * Found weights stay mapped, so that a model that returns is copied from the system's page cache,
 * which gives way when memory is needed elsewhere.
 *
 * Two tenants with the same executable share its file: the file's name depends on content only, and
 * only a tenant whose executable is in the catalog asks for it. The time of an activation is the
 * only trace that another tenant used the executable. Where tenants are isolated, the layout of a
 * key contains the tenant, and nothing is shared. Files and folder belong to the owner alone (0600,
 * 0700). An executable that leaves the store takes its files along (gc.h).
 *
 * Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#include "store/database/store.h"
#include "store/weights/weight_file.h"

typedef struct WeightCache WeightCache;

enum { WEIGHT_CACHE_FILES_MAX = 2048 };

/* Opens the cache: makes home/cache/weights, and removes foreign files and those of unfinished
 * writes.
 * bytes_max: of all files together; 0: a quarter of the free space of the file system and the
 *            cache.
 * Errors: IO; EXHAUSTED. */
MUST_CHECK Error *weight_cache_open(const char *home, uint64_t bytes_max, WeightCache **out_cache);
/* Closes the cache. All found weights must have been released. */
void weight_cache_close(WeightCache *cache);
DEFINE_OWN(WeightCache, weight_cache_close);

/* Weights that were found; reference-counted. */
typedef struct CachedWeights CachedWeights;
/* Finds weights. *out_weights NULL: not found. Never fails: a file that cannot be opened is not
 * found. */
void weight_cache_find(WeightCache *cache, const WeightKey *key, CachedWeights **out_weights);
CachedWeights *cached_weights_retain(CachedWeights *weights);
void cached_weights_release(CachedWeights *weights);
DEFINE_OWN(CachedWeights, cached_weights_release);
/* The data: key.size bytes, page-aligned. Callers check them before use. */
const uint8_t *cached_weights_data(const CachedWeights *weights);
/* Checks the pieces that contain these bytes, unless they were checked before. Errors: CORRUPT. */
MUST_CHECK Error *cached_weights_check(CachedWeights *weights, uint64_t offset, uint64_t size);
/* Returns whether bytes have become unreadable. Results made from the data may then be wrong. */
bool cached_weights_is_damaged(const CachedWeights *weights);

/* Stores weights and removes others to make room, but none in use. *out_kept false: there is no
 * room.
 * Errors: as weight_file_write. */
MUST_CHECK Error *weight_cache_keep(WeightCache *cache, const WeightKey *key, WeightReader reader,
    WorkerPool *pool, bool *out_kept);
/* Discards weights that turned out to be wrong; they are never found again. */
void weight_cache_discard(WeightCache *cache, const WeightKey *key);
/* Releases files that gc removed. */
void weight_cache_forget_removed(WeightCache *cache);

typedef struct WeightCacheCounts {
    uint64_t hits, misses;
    uint64_t evictions; /* files removed to make room */
    uint64_t damaged;   /* files removed because their content had changed */
    uint64_t bytes, bytes_max;
    uint32_t files;
} WeightCacheCounts;
WeightCacheCounts weight_cache_count(WeightCache *cache);
