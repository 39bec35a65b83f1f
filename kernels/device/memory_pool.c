#include "kernels/device/memory_pool.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/allocator.h"
#include "base/refcount.h"

/* Block sizes: multiples of 64 up to 512, then eight steps to each power of two, so that a block is
 * at most an eighth larger than the request. */
enum {
    SMALL_STEP = 64,
    SMALL_MAX = 512,
    SMALL_COUNT = SMALL_MAX / SMALL_STEP,
    STEPS_LOG2 = 3,
    STEPS = 1 << STEPS_LOG2,
    SMALL_MAX_LOG2 = 9,
    SIZE_LOG2_MAX = 62,
    /* one for small blocks, then one for each power of two */
    GROUP_COUNT = 1 + SIZE_LOG2_MAX - SMALL_MAX_LOG2,
    CLASS_COUNT = GROUP_COUNT * STEPS,
};

/* Limits on the idle blocks that a pool keeps beyond its peak of blocks in use. Host memory may
 * keep up to the larger limit: networks whose images grow need blocks of ever new sizes, and the
 * first writes to a fresh block fault page by page. A device's memory has no such faults and is
 * shared by executions. */
static const uint64_t IDLE_BYTES_MIN = (uint64_t)16 << 20, IDLE_BYTES_MAX = (uint64_t)64 << 20;

/* In host memory, when no idle block of the right class exists, the smallest larger one is lent:
 * its bytes may still be in the caches, and the first writes to a fresh block fault page by page.
 * densenet121, whose images grow layer by layer, takes 24.8 ms and 88 MB with lending, 28.3 ms and
 * 125 MB without; squeezenet 2.49 ms and 27 MB, 2.68 ms and 33 MB. */
enum {
    LENT_MAX = 16,   /* lent blocks at a time */
    LENT_TIMES = 16, /* upper bound on the class of a lent block over the class asked for */
};
static const uint64_t LENT_BYTES_MIN = (uint64_t)64 << 10, SPARE_BYTES_MAX = (uint64_t)16 << 20;

_Static_assert((int)SMALL_COUNT == (int)STEPS, "small blocks are a group like the others");

typedef struct FreeList {
    uint64_t *addresses;
    size_t count;
    size_t capacity;
} FreeList;

/* A block in use that is larger than its size needs. */
typedef struct LentBlock {
    uint64_t address;
    uint32_t index; /* the class by its real size */
} LentBlock;

struct MemoryPool {
    Refcount refcount;
    Device *device;
    DeviceStream *stream; /* owned; NULL: the device has no queues */
    uint64_t limit_bytes;
    uint64_t device_bytes; /* the device's whole memory */
    pthread_mutex_t mutex; /* guards the members below */
    uint64_t grant_bytes;
    uint64_t block_count; /* blocks in use; together they hold one reference */
    uint64_t used_bytes;
    uint64_t idle_bytes;
    uint64_t peak_bytes;
    uint64_t device_blocks; /* from the device, ever */
    bool naive;             /* keeps no idle block */
    /* bytes of lent blocks beyond the classes of their sizes; not counted as used */
    uint64_t spare_bytes;
    uint32_t lent_count;
    LentBlock lent[LENT_MAX];
    /* STEPS lists each; NULL while no list of the group has had a block */
    FreeList *groups[GROUP_COUNT];
    /* retained, or NULL; its mutex is locked while this pool's mutex is held */
    MemoryPool *reserve;
};

/* Counts one more block in use. */
static void count_block(MemoryPool *pool, uint64_t bytes) {
    if (pool->block_count++ == 0) (void)memory_pool_retain(pool);
    pool->used_bytes += bytes;
    if (pool->used_bytes > pool->peak_bytes) pool->peak_bytes = pool->used_bytes;
}

/* One block less is in use. True: the last block was freed, and the caller must release the pool
 * after unlocking it. */
static bool uncount_block(MemoryPool *pool, uint64_t bytes) {
    pool->used_bytes -= bytes;
    return --pool->block_count == 0;
}

/* Limit on idle bytes when blocks in use and idle blocks may hold `most` bytes together. */
static uint64_t idle_room(const MemoryPool *pool, uint64_t used_bytes, uint64_t most) {
    const uint64_t taken = used_bytes + pool->spare_bytes;
    return most > taken ? most - taken : 0;
}

/* Class index and block size; false when size is beyond all classes. */
static bool size_class(uint64_t size, uint32_t *out_class, uint64_t *out_bytes) {
    if (size <= SMALL_MAX) {
        uint32_t index = (uint32_t)((size + SMALL_STEP - 1) / SMALL_STEP);
        *out_class = index - 1;
        *out_bytes = (uint64_t)index * SMALL_STEP;
        return true;
    }
    if (size > (uint64_t)1 << SIZE_LOG2_MAX) return false;
    uint32_t log2 = 63u - (uint32_t)__builtin_clzll(size - 1); /* 2^log2 < size <= 2^(log2+1) */
    uint64_t step = (uint64_t)1 << (log2 - STEPS_LOG2);
    uint64_t steps = (size - ((uint64_t)1 << log2) + step - 1) / step;
    *out_class = SMALL_COUNT + (log2 - SMALL_MAX_LOG2) * STEPS + (uint32_t)steps - 1;
    *out_bytes = ((uint64_t)1 << log2) + steps * step;
    return true;
}

/* The list of a class, or NULL if its group never had a block. */
static FreeList *list_of(const MemoryPool *pool, uint32_t index) {
    FreeList *group = pool->groups[index / STEPS];
    return group ? &group[index % STEPS] : NULL;
}

static bool has_idle(const MemoryPool *pool, uint32_t index) {
    const FreeList *list = list_of(pool, index);
    return list && list->count > 0;
}

static uint64_t class_bytes(uint32_t index) {
    if (index < SMALL_COUNT) return (uint64_t)(index + 1) * SMALL_STEP;
    uint32_t log2 = SMALL_MAX_LOG2 + (index - SMALL_COUNT) / STEPS;
    uint64_t steps = (index - SMALL_COUNT) % STEPS + 1;
    return ((uint64_t)1 << log2) + (steps << (log2 - STEPS_LOG2));
}

/* The first class from `index` on whose list ever had a block, or CLASS_COUNT. */
static uint32_t next_kept(const MemoryPool *pool, uint32_t index) {
    for (; index < CLASS_COUNT; index++) {
        const FreeList *list = list_of(pool, index);
        if (list && list->capacity > 0) return index;
        if (!list) index |= STEPS - 1;
    }
    return CLASS_COUNT;
}

Error *memory_pool_create(Device *device, uint64_t limit_bytes, MemoryPool **out) {
    uint64_t total;
    TRY(device_total_bytes(device, &total));
    void *block;
    TRY(memory_alloc(1, sizeof(MemoryPool), &block));
    MemoryPool *pool = block;
    Error *error = device_stream_create(device, &pool->stream);
    if (error) {
        memory_free(pool);
        return error;
    }
    refcount_init(&pool->refcount);
    pool->device = device;
    pool->limit_bytes = limit_bytes && limit_bytes < total ? limit_bytes : total;
    pool->device_bytes = total;
    pool->grant_bytes = UINT64_MAX;
    (void)pthread_mutex_init(&pool->mutex, NULL);
    *out = pool;
    return NULL;
}

/* Limit on the bytes of blocks in use and idle blocks together. */
static uint64_t kept_bytes(const MemoryPool *pool) {
    const uint64_t peak = pool->peak_bytes;
    const uint64_t most = peak < IDLE_BYTES_MAX / 4 ? 4 * peak : IDLE_BYTES_MAX;
    if (!pool->device->class_->host_memory || most < IDLE_BYTES_MIN) return peak + IDLE_BYTES_MIN;
    return peak + most;
}

MemoryPool *memory_pool_retain(MemoryPool *pool) {
    refcount_retain(&pool->refcount);
    return pool;
}

/* Frees idle blocks, the largest first, until at most idle_max bytes are idle. */
static void trim(MemoryPool *pool, uint64_t idle_max) {
    for (uint32_t i = CLASS_COUNT; i-- > 0 && pool->idle_bytes > idle_max;) {
        FreeList *list = list_of(pool, i);
        uint64_t bytes = class_bytes(i);
        while (list && list->count > 0 && pool->idle_bytes > idle_max) {
            pool->device->class_->free(
                pool->device, pool->stream, list->addresses[--list->count], bytes);
            pool->idle_bytes -= bytes;
        }
    }
}

void memory_pool_set_reserve(MemoryPool *pool, MemoryPool *reserve) {
    assert(reserve->device == pool->device && !reserve->reserve && !pool->reserve && !pool->naive);
    pool->reserve = memory_pool_retain(reserve);
}

void memory_pool_set_naive(MemoryPool *pool) {
    assert(pool->block_count == 0 && !pool->reserve);
    pool->naive = true;
}

/* Makes room for one more block of a class. */
static Error *grow_list(MemoryPool *pool, uint32_t index, FreeList **out) {
    void *group = pool->groups[index / STEPS];
    if (!group) TRY(memory_alloc(STEPS, sizeof(FreeList), &group));
    pool->groups[index / STEPS] = group;
    FreeList *list = list_of(pool, index);
    void *array = list->addresses;
    TRY(memory_grow(&array, list->count, &list->capacity, sizeof list->addresses[0]));
    list->addresses = array;
    *out = list;
    return NULL;
}

/* Keeps an idle block in its list, or frees it if there is no memory for the list. */
static void keep(MemoryPool *pool, uint32_t index, uint64_t address) {
    FreeList *list;
    Error *error = grow_list(pool, index, &list);
    if (error) {
        error_free(error); /* without a place in the list, the block is freed */
        pool->device->class_->free(pool->device, pool->stream, address, class_bytes(index));
        return;
    }
    list->addresses[list->count++] = address;
    pool->idle_bytes += class_bytes(index);
}

/* Takes half of the reserve's blocks of every class, rounded up, so that other pools find some,
 * too. Takes them all at once, since each visit locks the reserve. Takes at least one block of
 * class `wanted`, if the pool has none; otherwise no more than idle_max bytes are idle
 * afterwards. */
static void take_from_reserve(MemoryPool *pool, uint32_t wanted, uint64_t idle_max) {
    MemoryPool *reserve = pool->reserve;
    (void)pthread_mutex_lock(&reserve->mutex);
    for (uint32_t i = 0; (i = next_kept(reserve, i)) < CLASS_COUNT; i++) {
        FreeList *list = list_of(reserve, i);
        const uint64_t bytes = class_bytes(i);
        for (size_t count = (list->count + 1) / 2; count > 0; count--) {
            const bool needed = i == wanted && !has_idle(pool, i);
            if (!needed && pool->idle_bytes + bytes > idle_max) break;
            reserve->idle_bytes -= bytes;
            keep(pool, i, list->addresses[--list->count]);
        }
    }
    (void)pthread_mutex_unlock(&reserve->mutex);
}

/* Moves all idle blocks to the reserve. The reserve keeps as much as the largest of its pools
 * needed at once. */
static void leave_to_reserve(MemoryPool *pool) {
    MemoryPool *reserve = pool->reserve;
    (void)pthread_mutex_lock(&reserve->mutex);
    if (reserve->peak_bytes < pool->peak_bytes) reserve->peak_bytes = pool->peak_bytes;
    for (uint32_t i = 0; (i = next_kept(pool, i)) < CLASS_COUNT; i++) {
        FreeList *list = list_of(pool, i);
        while (list->count > 0) keep(reserve, i, list->addresses[--list->count]);
    }
    pool->idle_bytes = 0;
    trim(reserve, kept_bytes(reserve));
    (void)pthread_mutex_unlock(&reserve->mutex);
}

void memory_pool_release(MemoryPool *pool) {
    if (!pool || !refcount_release(&pool->refcount)) return;
    assert(pool->used_bytes == 0);
    /* The queued work of this pool must not write to blocks that others use next. A failure is
     * ignored: the memory of a lost device has no other user. */
    error_free(device_stream_synchronize(pool->device, pool->stream));
    if (pool->reserve) leave_to_reserve(pool);
    memory_pool_release(pool->reserve);
    trim(pool, 0);
    for (uint32_t i = 0; (i = next_kept(pool, i)) < CLASS_COUNT; i++)
        memory_free(list_of(pool, i)->addresses);
    for (uint32_t i = 0; i < GROUP_COUNT; i++) memory_free(pool->groups[i]);
    device_stream_destroy(pool->device, pool->stream);
    (void)pthread_mutex_destroy(&pool->mutex);
    memory_free(pool);
}

void memory_pool_set_grant(MemoryPool *pool, uint64_t grant_bytes) {
    (void)pthread_mutex_lock(&pool->mutex);
    pool->grant_bytes = grant_bytes;
    trim(pool, idle_room(pool, pool->used_bytes, grant_bytes));
    (void)pthread_mutex_unlock(&pool->mutex);
}

Device *memory_pool_get_device(const MemoryPool *pool) { return pool->device; }
DeviceStream *memory_pool_get_stream(const MemoryPool *pool) { return pool->stream; }

static uint64_t take_idle(MemoryPool *pool, uint32_t index) {
    FreeList *list = list_of(pool, index);
    pool->idle_bytes -= class_bytes(index);
    return list->addresses[--list->count];
}

/* The class of the smallest idle block that may be lent for a block of class `index`, or
 * CLASS_COUNT. */
static uint32_t find_larger(const MemoryPool *pool, uint32_t index) {
    const uint64_t most = LENT_TIMES * class_bytes(index);
    for (index++; index < CLASS_COUNT && class_bytes(index) <= most; index++)
        if (has_idle(pool, index)) return index;
    return CLASS_COUNT;
}

/* Notes that a block of class `own` is lent for class `index`. False: the list is full. */
static bool add_lent(MemoryPool *pool, uint64_t address, uint32_t index, uint32_t own) {
    if (pool->lent_count == LENT_MAX) return false;
    pool->lent[pool->lent_count++] = (LentBlock){address, own};
    pool->spare_bytes += class_bytes(own) - class_bytes(index);
    return true;
}

/* False: there is no idle block that could be lent for class `index`. */
static bool lend(MemoryPool *pool, uint32_t index, uint64_t *out) {
    const uint64_t bytes = class_bytes(index);
    if (!pool->device->class_->host_memory || bytes < LENT_BYTES_MIN ||
        pool->lent_count == LENT_MAX)
        return false;
    const uint32_t larger = find_larger(pool, index);
    if (larger == CLASS_COUNT) return false;
    const uint64_t spare = pool->spare_bytes + class_bytes(larger) - bytes;
    if (spare > SPARE_BYTES_MAX) return false;
    if (class_bytes(larger) > idle_room(pool, pool->used_bytes, pool->grant_bytes)) return false;
    *out = take_idle(pool, larger);
    return add_lent(pool, *out, index, larger);
}

/* Takes an idle block of the class, or a larger one. False: there is none. */
static bool reuse(MemoryPool *pool, uint32_t index, uint64_t *out) {
    if (!has_idle(pool, index)) return lend(pool, index, out);
    *out = take_idle(pool, index);
    return true;
}

static uint32_t find_lent(const MemoryPool *pool, uint64_t address) {
    uint32_t i = 0;
    while (i < pool->lent_count && pool->lent[i].address != address) i++;
    return i;
}

/* Ends the loan of a block. Returns the class by the block's real size: `index` if the block was
 * not lent. */
static uint32_t unlend(MemoryPool *pool, uint32_t index, uint64_t address) {
    const uint32_t at = find_lent(pool, address);
    if (at == pool->lent_count) return index;
    const uint32_t own = pool->lent[at].index;
    pool->lent[at] = pool->lent[--pool->lent_count];
    pool->spare_bytes -= class_bytes(own) - class_bytes(index);
    return own;
}

/* Takes a block from the reserve or a new one. On a full device, frees idle blocks first. */
static Error *device_alloc(MemoryPool *pool, uint32_t index, MemoryAnswer *answer, uint64_t *out) {
    const uint64_t bytes = class_bytes(index);
    uint64_t most = pool->limit_bytes < pool->grant_bytes ? pool->limit_bytes : pool->grant_bytes;
    uint64_t kept = kept_bytes(pool);
    if (kept > most) kept = most;
    uint64_t after = pool->used_bytes + bytes; /* <= most */
    const uint64_t idle_max = idle_room(pool, after, kept);
    trim(pool, idle_max);
    if (pool->reserve) take_from_reserve(pool, index, idle_max);
    if (reuse(pool, index, out)) return NULL;
    const DeviceClass *class_ = pool->device->class_;
    Error *error = class_->alloc(pool->device, pool->stream, bytes, out);
    if (error_code(error) == ERROR_EXHAUSTED && (pool->idle_bytes > 0 || pool->reserve)) {
        error_free(error); /* tries again without idle blocks */
        trim(pool, 0);
        if (pool->reserve) memory_pool_trim(pool->reserve);
        error = class_->alloc(pool->device, pool->stream, bytes, out);
    }
    if (!error) pool->device_blocks++;
    if (error_code(error) != ERROR_EXHAUSTED || after > pool->device_bytes) return error;
    /* other pools hold the memory now: MEMORY_NEEDED is an answer, not a failure */
    error_free(error);
    answer->kind = MEMORY_NEEDED;
    return NULL;
}

static Error *alloc_locked(
    MemoryPool *pool, uint64_t size, MemoryAnswer *out_answer, uint64_t *out_address) {
    uint32_t index;
    uint64_t bytes;
    MemoryAnswer answer = {MEMORY_GRANTED, size};
    if (!size_class(size, &index, &bytes) || bytes > pool->limit_bytes ||
        pool->used_bytes > pool->limit_bytes - bytes)
        FAIL(EXHAUSTED,
            "%" PRIu64 " bytes on %s beside %" PRIu64 " in use are beyond the limit of %" PRIu64,
            size, pool->device->name, pool->used_bytes, pool->limit_bytes);
    uint64_t address = 0;
    if (bytes > pool->grant_bytes || pool->used_bytes > pool->grant_bytes - bytes) {
        answer.kind = MEMORY_NEEDED;
    } else if (!reuse(pool, index, &address)) {
        TRY(device_alloc(pool, index, &answer, &address));
    }
    if (answer.kind == MEMORY_GRANTED) {
        count_block(pool, bytes);
        *out_address = address;
    }
    *out_answer = answer;
    return NULL;
}

Error *memory_pool_alloc(
    MemoryPool *pool, uint64_t size, MemoryAnswer *out_answer, uint64_t *out_address) {
    assert(size > 0);
    (void)pthread_mutex_lock(&pool->mutex);
    Error *error = alloc_locked(pool, size, out_answer, out_address);
    (void)pthread_mutex_unlock(&pool->mutex);
    return error;
}

void memory_pool_free(MemoryPool *pool, uint64_t address, uint64_t size) {
    uint32_t index;
    uint64_t bytes;
    bool known = size_class(size, &index, &bytes);
    assert(known);
    if (!known) return;
    (void)pthread_mutex_lock(&pool->mutex);
    const bool last = uncount_block(pool, bytes);
    index = unlend(pool, index, address);
    bytes = class_bytes(index);
    if (pool->naive ||
        bytes > idle_room(pool, pool->used_bytes + pool->idle_bytes, pool->grant_bytes))
        pool->device->class_->free(pool->device, pool->stream, address, bytes);
    else
        keep(pool, index, address);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (last) memory_pool_release(pool);
}

/* larger: the block's own class. */
static bool take_over(MemoryPool *pool, uint64_t address, uint32_t index, uint32_t larger) {
    const uint64_t bytes = class_bytes(index);
    uint64_t most = pool->limit_bytes < pool->grant_bytes ? pool->limit_bytes : pool->grant_bytes;
    if (bytes > most || pool->used_bytes > most - bytes) return false;
    if (larger != index && !add_lent(pool, address, index, larger)) return false;
    count_block(pool, bytes);
    trim(pool, idle_room(pool, pool->used_bytes, most));
    return true;
}

bool memory_pool_move(MemoryPool *from, MemoryPool *to, uint64_t address, uint64_t size) {
    uint32_t index;
    uint64_t bytes;
    bool known = size_class(size, &index, &bytes);
    assert(known && from->device == to->device);
    if (!known) return false;
    (void)pthread_mutex_lock(&from->mutex);
    const uint32_t at = find_lent(from, address);
    const uint32_t larger = at < from->lent_count ? from->lent[at].index : index;
    (void)pthread_mutex_unlock(&from->mutex);
    (void)pthread_mutex_lock(&to->mutex);
    bool taken = take_over(to, address, index, larger);
    (void)pthread_mutex_unlock(&to->mutex);
    if (!taken) return false;
    (void)pthread_mutex_lock(&from->mutex);
    const bool last = uncount_block(from, bytes);
    (void)unlend(from, index, address);
    (void)pthread_mutex_unlock(&from->mutex);
    if (last) memory_pool_release(from);
    return true;
}

void memory_pool_trim(MemoryPool *pool) {
    (void)pthread_mutex_lock(&pool->mutex);
    trim(pool, 0);
    (void)pthread_mutex_unlock(&pool->mutex);
}

static uint64_t read_locked(const MemoryPool *pool, const uint64_t *member) {
    MemoryPool *locked = (MemoryPool *)pool;
    (void)pthread_mutex_lock(&locked->mutex);
    const uint64_t number = *member;
    (void)pthread_mutex_unlock(&locked->mutex);
    return number;
}

uint64_t memory_pool_used_bytes(const MemoryPool *pool) {
    return read_locked(pool, &pool->used_bytes);
}

uint64_t memory_pool_peak_bytes(const MemoryPool *pool) {
    return read_locked(pool, &pool->peak_bytes);
}

uint64_t memory_pool_idle_bytes(const MemoryPool *pool) {
    return read_locked(pool, &pool->idle_bytes);
}

uint64_t memory_pool_device_blocks(const MemoryPool *pool) {
    return read_locked(pool, &pool->device_blocks);
}
