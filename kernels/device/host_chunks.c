#include "kernels/device/host_chunks.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/allocator.h"
#include "kernels/device/device_class.h"

enum {
    CHUNK_BYTES = 16 << 20, /* the system gives memory only to the pages that are written */
    PAGE_BYTES = 4 << 10,
    /* an emptied chunk that used at most so much is cleared and cut again, not mapped anew */
    CLEARED_BYTES_MAX = 1 << 20,
    /* Chunks that are cut at the same time. Each thread uses one of them: if blocks of two threads
     * were adjacent, the processor's prefetching would take lines of one thread for the other. */
    CUTS = 8,
};

typedef struct Chunk Chunk;

/* Stands in front of each block. The chunk's list of given-back blocks is linked through the
 * heads. */
typedef struct BlockHead {
    Chunk *chunk;
    struct BlockHead *next;
    uint64_t bytes; /* size with the head */
    uint8_t padding[DEVICE_ALIGNMENT - 2 * sizeof(void *) - sizeof(uint64_t)];
} BlockHead;
_Static_assert(sizeof(BlockHead) == DEVICE_ALIGNMENT, "blocks stay aligned");

/* Stands at the start of the chunk's memory. */
struct Chunk {
    Chunk *previous, *next;
    uint64_t used_bytes, live_count, idle_bytes;
    BlockHead *idle; /* given back, but their pages are still present */
    uint64_t cut;    /* index into `current`, also after the chunk has left it */
    uint8_t padding[2 * DEVICE_ALIGNMENT - 3 * sizeof(void *) - 4 * sizeof(uint64_t)];
};
_Static_assert(sizeof(Chunk) % DEVICE_ALIGNMENT == 0, "blocks are aligned");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static Chunk *chunks;                                     /* a list of all chunks */
/* chunks that new blocks are cut from, or NULL */
static Chunk *current[CUTS];
static uint64_t idle_bytes, chunk_count;

/* The cut of the calling thread. */
static uint64_t own_cut(void) {
    static atomic_uint threads;
    static _Thread_local uint32_t number; /* beginning with 1 */
    if (number == 0) number = atomic_fetch_add(&threads, 1) % CUTS + 1;
    return number - 1;
}

static Error *add_chunk(uint64_t cut) {
    void *mapped;
    TRY(memory_map(CHUNK_BYTES, &mapped));
    Chunk *chunk = mapped;
    chunk->used_bytes = sizeof *chunk;
    chunk->cut = cut;
    chunk->next = chunks;
    if (chunks) chunks->previous = chunk;
    chunks = current[cut] = chunk;
    chunk_count++;
    return NULL;
}

/* Unmaps an empty chunk. */
static void remove_chunk(Chunk *chunk) {
    if (chunk->previous)
        chunk->previous->next = chunk->next;
    else
        chunks = chunk->next;
    if (chunk->next) chunk->next->previous = chunk->previous;
    if (chunk == current[chunk->cut]) current[chunk->cut] = NULL;
    idle_bytes -= chunk->idle_bytes;
    chunk_count--;
    memory_unmap(chunk, CHUNK_BYTES);
}

/* The current chunk is kept if little of it was used: a single block may be allocated and freed
 * again and again. */
static void leave_empty(Chunk *chunk) {
    if (chunk != current[chunk->cut] || chunk->used_bytes > CLEARED_BYTES_MAX) {
        remove_chunk(chunk);
        return;
    }
    memset(chunk + 1, 0, chunk->used_bytes - sizeof *chunk);
    idle_bytes -= chunk->idle_bytes;
    chunk->idle = NULL;
    chunk->idle_bytes = 0;
    chunk->used_bytes = sizeof *chunk;
}

static uint64_t bytes_of(uint64_t size) {
    return sizeof(BlockHead) + (size + DEVICE_ALIGNMENT - 1) / DEVICE_ALIGNMENT * DEVICE_ALIGNMENT;
}

static Error *alloc_locked(uint64_t size, void **out_block) {
    const uint64_t bytes = bytes_of(size), cut = own_cut();
    Chunk *chunk = current[cut];
    if (chunk && chunk->used_bytes + bytes > CHUNK_BYTES) chunk = NULL;
    if (!chunk) TRY(add_chunk(cut));
    chunk = current[cut];
    BlockHead *head = (BlockHead *)(void *)((char *)chunk + chunk->used_bytes);
    *head = (BlockHead){.chunk = chunk, .bytes = bytes};
    chunk->used_bytes += bytes;
    chunk->live_count++;
    *out_block = head + 1;
    return NULL;
}

Error *host_chunks_alloc(uint64_t size, void **out_block) {
    assert(size >= HOST_CHUNKS_BLOCK_MIN && size <= HOST_CHUNKS_BLOCK_MAX);
    (void)pthread_mutex_lock(&mutex);
    Error *error = alloc_locked(size, out_block);
    (void)pthread_mutex_unlock(&mutex);
    return error;
}

/* Returns the whole pages of given-back blocks to the system. These blocks are never allocated
 * again, so their heads may be lost. */
static void give_back_pages(Chunk *chunk) {
    BlockHead *next;
    for (BlockHead *block = chunk->idle; block; block = next) {
        const uintptr_t begin = ((uintptr_t)block + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
        const uintptr_t end = ((uintptr_t)block + block->bytes) & ~(uintptr_t)(PAGE_BYTES - 1);
        next = block->next;
        if (end > begin) (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    idle_bytes -= chunk->idle_bytes;
    chunk->idle = NULL;
    chunk->idle_bytes = 0;
}

void host_chunks_free(void *block, uint64_t size) {
    BlockHead *head = (BlockHead *)block - 1;
    (void)pthread_mutex_lock(&mutex);
    Chunk *chunk = head->chunk;
    assert(head->bytes == bytes_of(size));
    (void)size;
    head->next = chunk->idle;
    chunk->idle = head;
    chunk->idle_bytes += head->bytes;
    idle_bytes += head->bytes;
    if (--chunk->live_count == 0) leave_empty(chunk);
    if (idle_bytes > HOST_CHUNKS_IDLE_MAX)
        for (Chunk *each = chunks; each; each = each->next) give_back_pages(each);
    (void)pthread_mutex_unlock(&mutex);
}

HostChunksUse host_chunks_use(void) {
    (void)pthread_mutex_lock(&mutex);
    const HostChunksUse use = {idle_bytes, chunk_count};
    (void)pthread_mutex_unlock(&mutex);
    return use;
}
