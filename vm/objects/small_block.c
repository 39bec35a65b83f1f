#include "vm/objects/small_block.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/allocator.h"
#include "base/sanitizers.h"

enum {
    CLASSES = SMALL_BLOCK_BYTES_MAX / SMALL_BLOCK_STEP,
    KEPT_MAX =
        BUILT_WITH_ADDRESS_SANITIZER || BUILT_WITH_THREAD_SANITIZER ? 0 : SMALL_BLOCK_KEPT_MAX,
};

typedef struct FreeBlock {
    struct FreeBlock *next;
} FreeBlock;

typedef struct FreeList {
    FreeBlock *first;
    size_t count;
} FreeList;

typedef struct FreeLists {
    FreeList lists[CLASSES];
    bool ends; /* the thread gives the blocks back when it ends */
} FreeLists;

static _Thread_local FreeLists kept;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

static void give_back(void *argument) {
    FreeLists *lists = argument;
    for (size_t i = 0; i < CLASSES; i++) {
        while (lists->lists[i].first) {
            FreeBlock *block = lists->lists[i].first;
            lists->lists[i].first = block->next;
            memory_free(block);
        }
        lists->lists[i].count = 0;
    }
    lists->ends = false; /* objects that die later register again */
}

static void make_key(void) { has_key = pthread_key_create(&key, give_back) == 0; }

/* A library that is unloaded leaves no pointer to its code behind. */
__attribute__((destructor)) static void delete_key(void) {
    if (has_key) (void)pthread_key_delete(key);
    has_key = false;
}

/* Whether the thread keeps blocks: it has to have a way to give them back. */
static bool may_keep(FreeLists *lists) {
    if (lists->ends) return true;
    (void)pthread_once(&key_once, make_key);
    lists->ends = has_key && pthread_setspecific(key, lists) == 0;
    return lists->ends;
}

static inline size_t class_of(size_t size) { return (size - 1) / SMALL_BLOCK_STEP; }

Error *small_block_take(size_t size, void **out) {
    if (size > SMALL_BLOCK_BYTES_MAX) return memory_alloc(1, size, out);
    FreeList *list = &kept.lists[class_of(size)];
    FreeBlock *block = list->first;
    if (!block) return memory_alloc(class_of(size) + 1, SMALL_BLOCK_STEP, out);
    list->first = block->next;
    list->count--;
    *out = block;
    return NULL;
}

void small_block_free(void *block, size_t size) {
    FreeLists *lists = &kept;
    FreeList *list = &lists->lists[size > SMALL_BLOCK_BYTES_MAX ? 0 : class_of(size)];
    if (!block) return;
    if (size > SMALL_BLOCK_BYTES_MAX || list->count >= KEPT_MAX || !may_keep(lists)) {
        memory_free(block);
        return;
    }
    FreeBlock *kept_block = block;
    kept_block->next = list->first;
    list->first = kept_block;
    list->count++;
}

size_t small_block_kept(size_t size) {
    return size > SMALL_BLOCK_BYTES_MAX ? 0 : kept.lists[class_of(size)].count;
}
