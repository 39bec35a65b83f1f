#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/fake_cuda/fake_cuda.h"

enum { BLOCKS_MAX = 1 << 16, PINNED_MAX = 256, ALIGNMENT = 512 };
enum { GROWTH_BYTES = 1 << 20, KEPT_BYTES = 64 << 20 };
static const uint64_t ARENA_BYTES = (uint64_t)8 << 30;

typedef struct FakeBlock {
    uint64_t address, size; /* as asked for */
    const struct CUctx_st *context;
} FakeBlock;

/* The arena's protection key (pkeys(7)): a thread opens it for itself by a register. Without keys
 * (-1) each launch changes the protection of the arena's pages, and opens them for all threads. */
static int key = -1;
static uint8_t *arena;
static uint64_t used_end; /* of the arena: no block ends behind it */
static int open_count;
static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards open_count, used_end */
static FakeBlock blocks[BLOCKS_MAX];                           /* by address */
static size_t block_count;
static FakeBlock pinned[PINNED_MAX];

static uint64_t room(uint64_t size) { /* a gap behind every block */
    return (size + 2 * ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

static bool map_arena(void) {
    if (arena) return true; /* written once: streams read it while others allocate */
    void *mapped =
        mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return false;
    key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    arena = mapped;
    return true;
}

static uint64_t used_with(uint64_t end) {
    return (end + GROWTH_BYTES - 1) & ~(uint64_t)(GROWTH_BYTES - 1);
}

static void grow_used(uint64_t end) {
    (void)pthread_mutex_lock(&open_mutex);
    if (end > used_end) {
        used_end = used_with(end);
        if (key >= 0)
            (void)pkey_mprotect(arena, used_end, PROT_READ | PROT_WRITE, key);
        else if (open_count)
            (void)mprotect(arena, used_end, PROT_READ | PROT_WRITE);
    }
    (void)pthread_mutex_unlock(&open_mutex);
}

/* Gives pages behind the last block back. */
static void shrink_used(void) {
    const FakeBlock *last = block_count ? &blocks[block_count - 1] : NULL;
    const uint64_t end =
        used_with(last ? last->address + last->size - (uint64_t)(uintptr_t)arena : 0);
    (void)pthread_mutex_lock(&open_mutex);
    if (end + (key >= 0 ? KEPT_BYTES : 0) < used_end) {
        (void)madvise(arena + end, used_end - end, MADV_DONTNEED);
        (void)mprotect(arena + end, used_end - end, PROT_NONE);
        used_end = end;
    }
    (void)pthread_mutex_unlock(&open_mutex);
}

uint64_t fake_memory_alloc(struct CUctx_st *context, uint64_t size) {
    if (size > context->memory_bytes - context->used_bytes || block_count == BLOCKS_MAX) return 0;
    if (!map_arena()) return 0;
    uint64_t at = (uint64_t)(uintptr_t)arena;
    size_t index = 0;
    while (index < block_count && blocks[index].address < at + room(size)) {
        at = blocks[index].address + room(blocks[index].size);
        index++;
    }
    if (at + room(size) > (uint64_t)(uintptr_t)arena + ARENA_BYTES) return 0;
    memmove(&blocks[index + 1], &blocks[index], (block_count - index) * sizeof blocks[0]);
    blocks[index] = (FakeBlock){at, size, context};
    block_count++;
    context->used_bytes += size;
    grow_used(at + size - (uint64_t)(uintptr_t)arena);
    return at;
}

bool fake_memory_free(struct CUctx_st *context, uint64_t address) {
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].address != address || blocks[i].context != context) continue;
        context->used_bytes -= blocks[i].size;
        block_count--;
        memmove(&blocks[i], &blocks[i + 1], (block_count - i) * sizeof blocks[0]);
        shrink_used();
        return true;
    }
    return false;
}

bool fake_memory_holds(const struct CUctx_st *context, uint64_t address, uint64_t size) {
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].context == context && address >= blocks[i].address &&
            address - blocks[i].address <= blocks[i].size &&
            size <= blocks[i].size - (address - blocks[i].address))
            return true;
    return false;
}

void fake_memory_open(void) {
    if (key >= 0) {
        (void)pkey_set(key, 0);
        return;
    }
    (void)pthread_mutex_lock(&open_mutex);
    if (open_count++ == 0 && used_end) (void)mprotect(arena, used_end, PROT_READ | PROT_WRITE);
    (void)pthread_mutex_unlock(&open_mutex);
}

void fake_memory_close(void) {
    if (key >= 0) {
        (void)pkey_set(key, PKEY_DISABLE_ACCESS);
        return;
    }
    (void)pthread_mutex_lock(&open_mutex);
    if (--open_count == 0 && used_end) (void)mprotect(arena, used_end, PROT_NONE);
    (void)pthread_mutex_unlock(&open_mutex);
}

void *fake_memory_pin(uint64_t size) {
    for (size_t i = 0; i < PINNED_MAX; i++) {
        if (pinned[i].address) continue;
        void *block = malloc(size);
        if (block) pinned[i] = (FakeBlock){(uint64_t)(uintptr_t)block, size, NULL};
        return block;
    }
    return NULL;
}

bool fake_memory_unpin(void *block) {
    for (size_t i = 0; i < PINNED_MAX; i++) {
        if (!block || pinned[i].address != (uint64_t)(uintptr_t)block) continue;
        pinned[i].address = 0;
        free(block);
        return true;
    }
    return false;
}

bool fake_memory_is_pinned(const void *block, uint64_t size) {
    const uint64_t address = (uint64_t)(uintptr_t)block;
    for (size_t i = 0; i < PINNED_MAX; i++)
        if (pinned[i].address && address >= pinned[i].address &&
            address - pinned[i].address + size <= pinned[i].size)
            return true;
    return false;
}
