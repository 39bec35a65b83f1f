#include "store/weights/weight_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/refcount.h"
#include "store/home/home.h"
#include "store/weights/weight_folder.h"

static const char TEMPORARY[] = "new-";
enum { FREE_SHARE = 4, NAME_SIZE = 32 };
#define MARK_STEP_NS ((int64_t)60 * 1000000000)

struct CachedWeights {
    Refcount refcount;
    WeightFile file;
    dev_t device;
    ino_t inode; /* inode and changed: of the mapped file, to notice its replacement */
    struct timespec changed;
    atomic_uchar checked[]; /* a piece each */
};

typedef struct Entry {
    WeightKey key;  /* size 0 until the file is looked for */
    uint64_t bytes; /* of the file */
    int64_t used;   /* greater: more recently */
    int64_t marked; /* the same time as in the file */
    CachedWeights *weights;
} Entry;

struct WeightCache {
    char *path;
    int folder;
    uint64_t bytes_max;
    pthread_mutex_t mutex; /* guards the members below */
    Entry *entries;
    size_t count, capacity;
    uint64_t bytes;
    int64_t turn;
    uint64_t temporary_count;
    WeightCacheCounts counts;
};

/* ---- weights that are in use ---- */

CachedWeights *cached_weights_retain(CachedWeights *weights) {
    refcount_retain(&weights->refcount);
    return weights;
}

void cached_weights_release(CachedWeights *weights) {
    if (!weights || !refcount_release(&weights->refcount)) return;
    weight_file_close(&weights->file);
    memory_free(weights);
}

const uint8_t *cached_weights_data(const CachedWeights *weights) { return weights->file.data; }

Error *cached_weights_check(CachedWeights *weights, uint64_t offset, uint64_t size) {
    if (size == 0) return NULL;
    size_t first = (size_t)(offset / WEIGHT_PIECE_SIZE);
    size_t last = (size_t)((offset + size - 1) / WEIGHT_PIECE_SIZE);
    for (size_t i = first; i <= last && i < weight_file_piece_count(&weights->file); i++) {
        if (atomic_load_explicit(&weights->checked[i], memory_order_relaxed)) continue;
        TRY(weight_file_check_piece(&weights->file, i));
        atomic_store_explicit(&weights->checked[i], 1, memory_order_relaxed);
    }
    return NULL;
}

bool cached_weights_is_damaged(const CachedWeights *weights) {
    return mapped_file_is_damaged(weights->file.mapped);
}

/* ---- the table; all under the mutex ---- */

static Entry *find_entry(WeightCache *cache, const WeightKey *key) {
    for (size_t i = 0; i < cache->count; i++)
        if (digest_equal(&cache->entries[i].key.executable, &key->executable) &&
            digest_equal(&cache->entries[i].key.layout, &key->layout))
            return &cache->entries[i];
    return NULL;
}

static void drop_entry(WeightCache *cache, Entry *entry) {
    cached_weights_release(entry->weights);
    cache->bytes -= entry->bytes;
    *entry = cache->entries[--cache->count];
}

static void remove_entry(WeightCache *cache, Entry *entry) {
    char name[WEIGHT_NAME_SIZE];
    weight_file_name(&entry->key, name);
    (void)unlinkat(cache->folder, name, 0); /* the file may be gone already */
    drop_entry(cache, entry);
}

static Error *add_entry(WeightCache *cache, const WeightKey *key, uint64_t bytes, int64_t used) {
    void *array = cache->entries;
    TRY(memory_grow(&array, cache->count, &cache->capacity, sizeof *cache->entries));
    cache->entries = array;
    cache->entries[cache->count++] =
        (Entry){.key = *key, .bytes = bytes, .used = used, .marked = used};
    cache->bytes += bytes;
    return NULL;
}

static bool is_in_use(const Entry *entry) {
    return entry->weights && !refcount_is_sole(&entry->weights->refcount);
}

static Entry *find_oldest(WeightCache *cache) {
    Entry *oldest = NULL;
    for (Entry *entry = cache->entries; entry < cache->entries + cache->count; entry++)
        if (!is_in_use(entry) && (!oldest || entry->used < oldest->used)) oldest = entry;
    return oldest;
}

/* False: the entries in use leave no room. */
static bool make_room(WeightCache *cache, uint64_t bytes) {
    Entry *oldest;
    if (bytes > cache->bytes_max) return false;
    while (cache->bytes > cache->bytes_max - bytes || cache->count >= WEIGHT_CACHE_FILES_MAX) {
        if (!(oldest = find_oldest(cache))) return false;
        remove_entry(cache, oldest);
        cache->counts.evictions++;
    }
    return true;
}

/* ---- opening ---- */

static Error *fail_io(const WeightCache *cache, const char *what) {
    FAIL(IO, "%s %s: %s", what, cache->path, strerror(errno));
}

/* The access time of a file holds the time of its last use; its modification time tells
 * whether it was replaced. */
static int64_t time_of(const struct stat *status) {
    return (int64_t)clock_timespec_ns(status->st_atim);
}

static Error *take_file(void *context, const char *name) {
    WeightCache *cache = context;
    WeightKey key;
    struct stat status;
    if (fstatat(cache->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return NULL;
    bool ours = S_ISREG(status.st_mode) && weight_file_parse_name(name, &key);
    if (!ours) { /* unlinkat leaves a folder alone, which the cache never makes */
        (void)unlinkat(cache->folder, name, 0);
        return NULL;
    }
    if (time_of(&status) > cache->turn) cache->turn = time_of(&status);
    return add_entry(cache, &key, (uint64_t)status.st_size, time_of(&status));
}

static Error *default_size(const WeightCache *cache, uint64_t *out_bytes) {
    struct statvfs system;
    if (fstatvfs(cache->folder, &system) != 0) return fail_io(cache, "look at");
    *out_bytes = ((uint64_t)system.f_bavail * system.f_frsize + cache->bytes) / FREE_SHARE;
    return NULL;
}

static Error *open_folder(WeightCache *cache) {
    TRY(weight_folder_open(cache->path, &cache->folder));
    if (fchmod(cache->folder, 0700) != 0) return fail_io(cache, "protect");
    TRY_WRAP(weight_folder_list(cache->folder, take_file, cache), "%s", cache->path);
    if (cache->bytes_max == 0) TRY(default_size(cache, &cache->bytes_max));
    (void)make_room(cache, 0);
    return NULL;
}

Error *weight_cache_open(const char *home, uint64_t bytes_max, WeightCache **out_cache) {
    void *memory;
    TRY(memory_alloc(1, sizeof(WeightCache), &memory));
    OWN(WeightCache, cache) = memory;
    cache->folder = -1;
    cache->bytes_max = bytes_max;
    (void)pthread_mutex_init(&cache->mutex, NULL);
    TRY(home_path(home, WEIGHT_FOLDER, &cache->path));
    TRY(home_create(cache->path));
    TRY(open_folder(cache));
    *out_cache = TAKE(cache);
    return NULL;
}

void weight_cache_close(WeightCache *cache) {
    if (!cache) return;
    while (cache->count > 0) drop_entry(cache, &cache->entries[cache->count - 1]);
    memory_free(cache->entries);
    memory_free(cache->path);
    if (cache->folder >= 0) (void)close(cache->folder);
    (void)pthread_mutex_destroy(&cache->mutex);
    memory_free(cache);
}

/* ---- finding ---- */

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* True when the file of that name is still the mapped one. */
static bool is_unchanged(const WeightCache *cache, const char *name, const CachedWeights *weights) {
    struct stat status;
    if (cached_weights_is_damaged(weights)) return false;
    if (fstatat(cache->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    return status.st_dev == weights->device && status.st_ino == weights->inode &&
           (uint64_t)status.st_size == mapped_file_size(weights->file.mapped) &&
           is_same_time(status.st_mtim, weights->changed);
}

static Error *map_weights(int descriptor, const WeightKey *key, CachedWeights **out_weights) {
    WeightFile file;
    struct stat status;
    void *memory;
    if (fstat(descriptor, &status) != 0) FAIL(IO, "look at weights: %s", strerror(errno));
    if ((uint64_t)status.st_size != weight_file_size(key))
        FAIL(CORRUPT, "prepared weights of another size");
    TRY(weight_file_open(descriptor, key, &file));
    Error *error = memory_alloc(1, sizeof(CachedWeights) + weight_file_piece_count(&file), &memory);
    if (error) {
        weight_file_close(&file);
        return error;
    }
    CachedWeights *weights = memory;
    refcount_init(&weights->refcount);
    weights->file = file;
    weights->device = status.st_dev;
    weights->inode = status.st_ino;
    weights->changed = status.st_mtim;
    *out_weights = weights;
    return NULL;
}

static Error *open_weights(WeightCache *cache, const char *name, Entry *entry) {
    int descriptor = openat(cache->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) FAIL(CORRUPT, "prepared weights cannot be opened");
    Error *error = map_weights(descriptor, &entry->key, &entry->weights);
    (void)close(descriptor);
    return error;
}

/* Also notes the use in the file, for the next process. Skipped when the last note is recent, since
 * a note costs a third of a millisecond. The system's clock for files moves in steps of
 * milliseconds. */
static void mark_used(WeightCache *cache, const char *name, Entry *entry) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ns = (int64_t)clock_timespec_ns(now);
    entry->used = cache->turn = now_ns > cache->turn ? now_ns : cache->turn + 1;
    if (entry->used >= entry->marked && entry->used - entry->marked < MARK_STEP_NS) return;
    entry->marked = entry->used;
    const struct timespec times[2] = {
        clock_timespec((uint64_t)entry->used), {.tv_nsec = UTIME_OMIT}};
    (void)utimensat(cache->folder, name, times, AT_SYMLINK_NOFOLLOW);
}

/* Under the mutex. */
static CachedWeights *find_locked(WeightCache *cache, const WeightKey *key) {
    char name[WEIGHT_NAME_SIZE];
    Entry *entry = find_entry(cache, key);
    if (!entry) return NULL;
    weight_file_name(key, name);
    if (entry->weights && !is_unchanged(cache, name, entry->weights)) {
        cached_weights_release(entry->weights);
        entry->weights = NULL;
    }
    entry->key.size = key->size;
    Error *error = NULL;
    if (!entry->weights) error = open_weights(cache, name, entry);
    ErrorCode code = error_code(error);
    error_free(error); /* the caller packs the weights again */
    if (code == ERROR_CORRUPT || code == ERROR_UNSUPPORTED) {
        cache->counts.damaged++;
        remove_entry(cache, entry);
        return NULL;
    }
    if (code != ERROR_NONE) return NULL;
    mark_used(cache, name, entry);
    return cached_weights_retain(entry->weights);
}

void weight_cache_find(WeightCache *cache, const WeightKey *key, CachedWeights **out_weights) {
    (void)pthread_mutex_lock(&cache->mutex);
    *out_weights = find_locked(cache, key);
    if (*out_weights)
        cache->counts.hits++;
    else
        cache->counts.misses++;
    (void)pthread_mutex_unlock(&cache->mutex);
}

void weight_cache_discard(WeightCache *cache, const WeightKey *key) {
    (void)pthread_mutex_lock(&cache->mutex);
    Entry *entry = find_entry(cache, key);
    if (entry) {
        remove_entry(cache, entry);
        cache->counts.damaged++;
    }
    (void)pthread_mutex_unlock(&cache->mutex);
}

void weight_cache_forget_removed(WeightCache *cache) {
    (void)pthread_mutex_lock(&cache->mutex);
    for (size_t i = cache->count; i-- > 0;) {
        char name[WEIGHT_NAME_SIZE];
        weight_file_name(&cache->entries[i].key, name);
        if (faccessat(cache->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            drop_entry(cache, &cache->entries[i]);
    }
    (void)pthread_mutex_unlock(&cache->mutex);
}

WeightCacheCounts weight_cache_count(WeightCache *cache) {
    (void)pthread_mutex_lock(&cache->mutex);
    WeightCacheCounts counts = cache->counts;
    counts.bytes = cache->bytes;
    counts.bytes_max = cache->bytes_max;
    counts.files = (uint32_t)cache->count;
    (void)pthread_mutex_unlock(&cache->mutex);
    return counts;
}

/* ---- keeping ---- */

/* Makes room before the write, so that the cache never exceeds its limit by more than one file. */
static bool begin_keeping(
    WeightCache *cache, const WeightKey *key, char out_name[NAME_SIZE], bool *out_kept) {
    (void)pthread_mutex_lock(&cache->mutex);
    *out_kept = find_entry(cache, key);
    bool wanted = !*out_kept && make_room(cache, weight_file_size(key));
    (void)snprintf(
        out_name, NAME_SIZE, "%s%llu", TEMPORARY, (unsigned long long)cache->temporary_count++);
    (void)pthread_mutex_unlock(&cache->mutex);
    return wanted;
}

static Error *write_temporary(WeightCache *cache, const char *temporary, const WeightKey *key,
    WeightReader reader, WorkerPool *pool) {
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int descriptor = openat(cache->folder, temporary, flags, 0600);
    if (descriptor < 0) return fail_io(cache, "write to");
    Error *error = weight_file_write(descriptor, key, reader, pool);
    if (close(descriptor) != 0 && !error) error = fail_io(cache, "write to");
    return error;
}

/* Called under the mutex. Two callers may have made the same weights; the first file stays. */
static Error *install(WeightCache *cache, const char *temporary, const WeightKey *key) {
    char name[WEIGHT_NAME_SIZE];
    uint64_t bytes = weight_file_size(key);
    weight_file_name(key, name);
    if (find_entry(cache, key) || !make_room(cache, bytes)) {
        (void)unlinkat(cache->folder, temporary, 0);
        return NULL;
    }
    if (renameat(cache->folder, temporary, cache->folder, name) != 0)
        return fail_io(cache, "rename in");
    TRY(add_entry(cache, key, bytes, 0));
    mark_used(cache, name, &cache->entries[cache->count - 1]);
    return NULL;
}

static Error *wrap_keeping(const WeightCache *cache, const WeightKey *key, Error *error) {
    char name[WEIGHT_NAME_SIZE];
    weight_file_name(key, name);
    return error_wrap(error, "prepared weights cannot be kept in %s/%s", cache->path, name);
}

Error *weight_cache_keep(WeightCache *cache, const WeightKey *key, WeightReader reader,
    WorkerPool *pool, bool *out_kept) {
    char temporary[NAME_SIZE];
    if (!begin_keeping(cache, key, temporary, out_kept)) return NULL;
    Error *error = write_temporary(cache, temporary, key, reader, pool);
    (void)pthread_mutex_lock(&cache->mutex);
    if (!error) error = install(cache, temporary, key);
    *out_kept = !error && find_entry(cache, key);
    (void)pthread_mutex_unlock(&cache->mutex);
    if (error) (void)unlinkat(cache->folder, temporary, 0);
    return wrap_keeping(cache, key, error);
}
