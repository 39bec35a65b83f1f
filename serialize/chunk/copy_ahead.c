#include "serialize/chunk/copy_ahead.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/allocator.h"
#include "base/thread.h"

enum { TOGETHER_MAX = 4, CACHE_LINE_BYTES = 64 };

/* Pieces are numbered through all ranges; piece p lies in buffer p % COPY_AHEAD_PIECES.
 *
 *      done with ........ copied ........ all        a ring between the two
 *
 * Chunks begin in order. The lowest unfinished chunk waits only for the copying thread, and the
 * copying thread waits only for lower chunks: the waits below end. */
typedef struct Range {
    CopyAhead *copies;
    DeviceRange range;
    size_t first; /* piece */
} Range;

struct CopyAhead {
    Device *device;
    DeviceStream *stream;
    Range *ranges;
    size_t range_count, asked; /* ranges that were asked for */
    uint8_t *buffers;
    size_t piece_bytes, buffer_bytes; /* of one buffer, of all */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t moved;
    /* by buffer: chunks that are copied or being copied, and still in use */
    uint32_t pending[COPY_AHEAD_PIECES];
    size_t copied; /* pieces */
    bool thread_runs, ending;
    Error *error;
};

static uint32_t chunks_in_piece(const Range *range, size_t piece) {
    uint64_t left = range->range.size - (uint64_t)(piece - range->first) * CHUNK_SIZE;
    return (uint32_t)chunk_count(left < CHUNK_SIZE ? left : CHUNK_SIZE, range->range.chunk_size);
}

/* Waits for the buffers of some pieces. */
static bool may_copy(CopyAhead *copies, const Range *range, size_t piece, size_t count) {
    (void)pthread_mutex_lock(&copies->mutex);
    for (size_t i = piece; i < piece + count; i++) {
        while (!copies->ending && copies->pending[i % COPY_AHEAD_PIECES] > 0)
            (void)pthread_cond_wait(&copies->moved, &copies->mutex);
        copies->pending[i % COPY_AHEAD_PIECES] = chunks_in_piece(range, i);
    }
    bool go_on = !copies->ending;
    (void)pthread_mutex_unlock(&copies->mutex);
    return go_on;
}

static uint8_t *buffer_of(const CopyAhead *copies, size_t piece) {
    return copies->buffers + piece % COPY_AHEAD_PIECES * copies->piece_bytes;
}

/* The pieces of one copy: some megabytes, so that the link is not idle between copies. Their
 * buffers are adjacent. */
static size_t count_together(size_t piece, uint64_t left) {
    size_t count = COPY_AHEAD_PIECES - piece % COPY_AHEAD_PIECES,
           wanted = chunk_count(left, CHUNK_SIZE);
    if (count > TOGETHER_MAX) count = TOGETHER_MAX;
    return count < wanted ? count : wanted;
}

static bool copy_pieces(
    CopyAhead *copies, const Range *range, uint64_t offset, uint64_t size, size_t piece) {
    Device *device = copies->device;
    const uint64_t address = range->range.address + offset;
    const size_t count = chunk_count(size, CHUNK_SIZE);
    if (!may_copy(copies, range, piece, count)) return false;
    Error *error = device->class_->copy_to_host(
        device, copies->stream, buffer_of(copies, piece), address, size);
    bool worked = !error;
    (void)pthread_mutex_lock(&copies->mutex);
    copies->copied = piece + count;
    copies->error = error;
    (void)pthread_cond_broadcast(&copies->moved);
    (void)pthread_mutex_unlock(&copies->mutex);
    return worked;
}

/* False: copying stops. */
static bool copy_range(CopyAhead *copies, const Range *range) {
    size_t piece = range->first;
    for (uint64_t offset = 0, size; offset < range->range.size; offset += size) {
        uint64_t left = range->range.size - offset;
        size_t count = count_together(piece, left);
        size = (uint64_t)count * CHUNK_SIZE < left ? (uint64_t)count * CHUNK_SIZE : left;
        if (!copy_pieces(copies, range, offset, size, piece)) return false;
        piece += count;
    }
    return true;
}

static void *copy_all(void *context) {
    CopyAhead *copies = context;
    for (size_t i = 0; i < copies->range_count; i++)
        if (!copy_range(copies, &copies->ranges[i])) break;
    return NULL;
}

static Error *get(void *self, size_t index, const void **out_data) {
    const Range *range = self;
    CopyAhead *copies = range->copies;
    const size_t per_piece = CHUNK_SIZE / range->range.chunk_size;
    const size_t piece = range->first + index / per_piece;
    (void)pthread_mutex_lock(&copies->mutex);
    while (copies->copied <= piece && !copies->error)
        (void)pthread_cond_wait(&copies->moved, &copies->mutex);
    Error *error = error_copy(copies->error);
    (void)pthread_mutex_unlock(&copies->mutex);
    TRY(error);
    *out_data = buffer_of(copies, piece) + index % per_piece * range->range.chunk_size;
    return NULL;
}

static void done(void *self, size_t index) {
    const Range *range = self;
    CopyAhead *copies = range->copies;
    (void)pthread_mutex_lock(&copies->mutex);
    const size_t piece = range->first + index / (CHUNK_SIZE / range->range.chunk_size);
    if (--copies->pending[piece % COPY_AHEAD_PIECES] == 0)
        (void)pthread_cond_broadcast(&copies->moved);
    (void)pthread_mutex_unlock(&copies->mutex);
}

/* The size of a buffer: that of the largest piece. The system clears what is touched, and the state
 * of a small run is many tensors of some bytes. */
static size_t largest_piece(const DeviceRange *ranges, size_t count) {
    uint64_t largest = CACHE_LINE_BYTES;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].size > largest) largest = ranges[i].size;
    if (largest >= CHUNK_SIZE) return CHUNK_SIZE;
    return ((size_t)largest + CACHE_LINE_BYTES - 1) & ~(size_t)(CACHE_LINE_BYTES - 1);
}

static Error *start(CopyAhead *copies, const DeviceRange *ranges, size_t count) {
    void *memory;
    size_t pieces = 0;
    TRY(memory_alloc(count, sizeof(Range), &memory));
    copies->ranges = memory;
    for (size_t i = 0; i < count; i++) {
        assert(ranges[i].chunk_size > 0 && CHUNK_SIZE % ranges[i].chunk_size == 0);
        copies->ranges[i] = (Range){copies, ranges[i], pieces};
        pieces += chunk_count(ranges[i].size, CHUNK_SIZE);
    }
    copies->range_count = count;
    size_t buffers = pieces < COPY_AHEAD_PIECES ? pieces : COPY_AHEAD_PIECES;
    copies->piece_bytes = largest_piece(ranges, count);
    copies->buffer_bytes = buffers * copies->piece_bytes;
    TRY(memory_map(copies->buffer_bytes, &memory));
    copies->buffers = memory;
    if (!thread_start(&copies->thread, "copy-ahead", copy_all, copies))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    copies->thread_runs = true;
    return NULL;
}

Error *copy_ahead_create(Device *device, DeviceStream *stream, const DeviceRange *ranges,
    size_t count, CopyAhead **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(CopyAhead), &memory));
    OWN(CopyAhead, copies) = memory;
    copies->device = device;
    copies->stream = stream;
    (void)pthread_mutex_init(&copies->mutex, NULL);
    (void)pthread_cond_init(&copies->moved, NULL);
    if (count > 0) TRY(start(copies, ranges, count));
    *out = TAKE(copies);
    return NULL;
}

void copy_ahead_release(CopyAhead *copies) {
    if (!copies) return;
    (void)pthread_mutex_lock(&copies->mutex);
    copies->ending = true;
    (void)pthread_cond_broadcast(&copies->moved);
    (void)pthread_mutex_unlock(&copies->mutex);
    if (copies->thread_runs) (void)pthread_join(copies->thread, NULL);
    if (copies->buffers) memory_unmap(copies->buffers, copies->buffer_bytes);
    memory_free(copies->ranges);
    error_free(copies->error);
    (void)pthread_cond_destroy(&copies->moved);
    (void)pthread_mutex_destroy(&copies->mutex);
    memory_free(copies);
}

RawChunks copy_ahead_next(CopyAhead *copies) {
    assert(copies->asked < copies->range_count);
    return (RawChunks){get, done, &copies->ranges[copies->asked++]};
}
