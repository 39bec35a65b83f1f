#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "serialize/chunk/chunk.h"
#include "serialize/chunk/codec_context.h"

static Error *find_always(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    (void)self;
    (void)refs;
    memset(out_found, true, count);
    return NULL;
}

static Error *put_never(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    (void)self;
    (void)ref;
    (void)stored;
    FAIL(INTERNAL, "a chunk of %zu bytes for a sink that has everything", stored_size);
}

ChunkSink chunk_sink_full(void) { return (ChunkSink){find_always, put_never, NULL}; }

Error *chunk_sink_count_leading(
    ChunkSink sink, const ChunkRef *refs, size_t count, size_t *out_leading) {
    bool found[CHUNKS_FOUND_AT_ONCE];
    size_t leading = 0;
    while (leading < count) {
        size_t left = count - leading, here = 0;
        size_t asked = left < CHUNKS_FOUND_AT_ONCE ? left : CHUNKS_FOUND_AT_ONCE;
        TRY(sink.find(sink.self, &refs[leading], asked, found));
        while (here < asked && found[here]) here++;
        leading += here;
        if (here < asked) break;
    }
    *out_leading = leading;
    return NULL;
}

/* Writing: every chunk is hashed, decided about (does the sink have it?), encoded and put. Hashing
 * and encoding run on all threads at once; deciding and putting go strictly by index, on the thread
 * that has the next index. So the calls of the sink do not depend on the threads, and a slow sink
 * overlaps with encoding.
 *
 *      put ........ decided ........ started        a ring of slots between put and started
 *
 * The pool starts indices in order, so the lowest unfinished one always runs and waits for no
 * other: the waits below end. */
enum {
    SLOTS_MAX = 24, /* encoded chunks in memory at most: 24 MiB */
    TOGETHER = 2,   /* chunks of one thread at a time, which are hashed by turns */
};

/* The raw bytes of one chunk. */
typedef struct RawPiece {
    const uint8_t *data;
    uint32_t size;
    ChunkFilter filter;
} RawPiece;

typedef struct Slot {
    ByteWriter stored;
    bool skip;  /* not put: the sink has the chunk, or a lower index of this data puts it */
    bool ready; /* encoded, and waiting to be put */
} Slot;

typedef struct WriteJob {
    const RawPiece *pieces; /* of all the chunks; NULL: the reader provides the bytes */
    RawChunks reader;
    uint64_t size; /* size, chunk_size and filter: of the reader's bytes */
    uint32_t chunk_size;
    ChunkFilter filter;
    size_t count; /* chunks */
    KnownChunks known;
    ChunkSink sink;
    ChunkRef *refs;
    size_t first; /* chunks before this one are in the sink */

    pthread_mutex_t sink_mutex; /* held during every call of the sink */
    pthread_mutex_t mutex;      /* guards the members below */
    pthread_cond_t moved;       /* put_count, decided_count or failed changed */
    size_t put_count;
    size_t decided_count;
    bool putting; /* a thread is in put_ready */
    bool failed;
    size_t slot_count;
    Slot slots[SLOTS_MAX];
} WriteJob;

static Slot *slot_of(WriteJob *job, size_t index) { return &job->slots[index % job->slot_count]; }

static void job_fail(WriteJob *job) {
    pthread_mutex_lock(&job->mutex);
    job->failed = true;
    pthread_cond_broadcast(&job->moved);
    pthread_mutex_unlock(&job->mutex);
}

/* Waits until fewer than slot_count chunks are between put and index. False: a chunk has failed. */
static bool wait_for_slot(WriteJob *job, size_t index) {
    pthread_mutex_lock(&job->mutex);
    while (!job->failed && index >= job->put_count + job->slot_count)
        pthread_cond_wait(&job->moved, &job->mutex);
    bool go_on = !job->failed;
    pthread_mutex_unlock(&job->mutex);
    return go_on;
}

static bool wait_for_turn(WriteJob *job, size_t index) {
    pthread_mutex_lock(&job->mutex);
    while (!job->failed && job->decided_count < index) pthread_cond_wait(&job->moved, &job->mutex);
    bool go_on = !job->failed;
    pthread_mutex_unlock(&job->mutex);
    return go_on;
}

/* Whether a lower index that is not put yet has the same chunk. Called on the turn of index. */
static bool is_on_its_way(WriteJob *job, size_t index) {
    pthread_mutex_lock(&job->mutex);
    size_t put_count = job->put_count;
    pthread_mutex_unlock(&job->mutex);
    for (size_t i = put_count; i < index; i++) /* refs below index are final */
        if (digest_equal(&job->refs[i].hash, &job->refs[index].hash)) return true;
    return false;
}

/* out_skip: the chunk need not be encoded. Called by one thread at a time, in the order of
 * indices. */
static Error *decide(WriteJob *job, size_t index, bool *out_skip) {
    /* before the sink is asked: a chunk that is put between the two checks is found by one of
     * them */
    bool skip = is_on_its_way(job, index);
    if (!skip) {
        pthread_mutex_lock(&job->sink_mutex);
        Error *error = job->sink.find(job->sink.self, &job->refs[index], 1, &skip);
        pthread_mutex_unlock(&job->sink_mutex);
        TRY(error);
    }
    pthread_mutex_lock(&job->mutex);
    job->decided_count++;
    pthread_cond_broadcast(&job->moved);
    pthread_mutex_unlock(&job->mutex);
    *out_skip = skip;
    return NULL;
}

/* Puts the ready slots, beginning with the lowest index that is not put. Does nothing while another
 * thread puts: that thread sees the new ready slot, too. */
static Error *put_ready(WriteJob *job) {
    Error *error = NULL;
    pthread_mutex_lock(&job->mutex);
    bool mine = !job->putting && !job->failed;
    if (mine) job->putting = true;
    while (mine && !error && slot_of(job, job->put_count)->ready) {
        size_t index = job->put_count;
        Slot *slot = slot_of(job, index);
        pthread_mutex_unlock(&job->mutex);
        if (!slot->skip) {
            pthread_mutex_lock(&job->sink_mutex);
            error = job->sink.put(
                job->sink.self, &job->refs[index], slot->stored.data, slot->stored.size);
            pthread_mutex_unlock(&job->sink_mutex);
        }
        pthread_mutex_lock(&job->mutex);
        slot->ready = false;
        job->put_count++;
        job->failed |= error != NULL; /* before another thread puts the next chunk */
        pthread_cond_broadcast(&job->moved);
    }
    if (mine) job->putting = false;
    pthread_mutex_unlock(&job->mutex);
    return error;
}

/* The chunks that a thread encodes together, beginning with the one at index. */
typedef struct Together {
    size_t index, count;
    const void *raw[TOGETHER]; /* NULL: not read yet, or not needed any more */
    bool skip[TOGETHER];
} Together;

static uint32_t raw_size_at(const WriteJob *job, size_t index) {
    if (job->pieces) return job->pieces[index].size;
    return chunk_raw_size(job->size, job->chunk_size, index);
}

static Error *get_raw(WriteJob *job, size_t index, const void **out) {
    if (!job->pieces) return job->reader.get(job->reader.self, index, out);
    *out = job->pieces[index].data;
    return NULL;
}

static Error *name_one(WriteJob *job, size_t index, const void *raw) {
    ChunkRef *ref = &job->refs[index];
    uint32_t raw_size = raw_size_at(job, index);
    if (index < job->known.count) {
        *ref = job->known.refs[index];
        assert(ref->raw_size == raw_size);
        return NULL;
    }
    ref->raw_size = raw_size;
    return digest_sha256(raw, raw_size, &ref->hash);
}

static Error *name_all(WriteJob *job, const Together *chunks) {
    size_t index = chunks->index;
    Digest hashes[TOGETHER];
    if (chunks->count < TOGETHER || index < job->known.count) {
        for (size_t i = 0; i < chunks->count; i++) TRY(name_one(job, index + i, chunks->raw[i]));
        return NULL;
    }
    const uint32_t sizes[TOGETHER] = {raw_size_at(job, index), raw_size_at(job, index + 1)};
    TRY(digest_sha256_pair(chunks->raw, (const size_t[]){sizes[0], sizes[1]}, hashes));
    for (size_t i = 0; i < TOGETHER; i++) job->refs[index + i] = (ChunkRef){hashes[i], sizes[i]};
    return NULL;
}

/* Tells the reader that the chunk's raw bytes are not needed any more. */
static void release_raw(WriteJob *job, Together *chunks, size_t i) {
    if (!job->pieces && chunks->raw[i]) job->reader.done(job->reader.self, chunks->index + i);
    chunks->raw[i] = NULL;
}

/* The raw bytes are released before another thread can put the chunk: the reader never has more
 * chunks in memory than there are slots. */
static Error *encode_one(WriteJob *job, Together *chunks, size_t i) {
    const size_t index = chunks->index + i;
    Slot *slot = slot_of(job, index);
    slot->stored.size = 0;
    const ChunkFilter filter = job->pieces ? job->pieces[index].filter : job->filter;
    if (!chunks->skip[i])
        TRY(chunk_encode(chunks->raw[i], raw_size_at(job, index), filter, &slot->stored));
    release_raw(job, chunks, i);
    pthread_mutex_lock(&job->mutex);
    slot->skip = chunks->skip[i];
    slot->ready = true;
    pthread_mutex_unlock(&job->mutex);
    return put_ready(job);
}

static Error *write_all(WriteJob *job, Together *chunks) {
    TRY(name_all(job, chunks));
    for (size_t i = 0; i < chunks->count; i++) {
        if (!wait_for_turn(job, chunks->index + i)) return NULL;
        TRY(decide(job, chunks->index + i, &chunks->skip[i]));
    }
    for (size_t i = 0; i < chunks->count; i++) TRY(encode_one(job, chunks, i));
    return NULL;
}

static Error *write_together(WriteJob *job, Together *chunks) {
    Error *error = NULL;
    for (size_t i = 0; !error && i < chunks->count; i++)
        error = get_raw(job, chunks->index + i, &chunks->raw[i]);
    if (!error) error = write_all(job, chunks);
    for (size_t i = 0; i < chunks->count; i++) release_raw(job, chunks, i);
    return error;
}

static Error *write_task(void *context, size_t task) {
    WriteJob *job = context;
    Together chunks = {.index = job->first + task * TOGETHER};
    size_t left = job->count - chunks.index;
    chunks.count = left < TOGETHER ? left : TOGETHER;
    if (!wait_for_slot(job, chunks.index + chunks.count - 1))
        return NULL; /* the task that failed returns the error */
    Error *error = write_together(job, &chunks);
    if (error) job_fail(job);
    return error;
}

/* Skips the known chunks that the sink has, with one question to the sink. The question is not
 * worth sharing among threads, and turns by thread would cost more. */
static Error *pass_over_known(WriteJob *job) {
    TRY(chunk_sink_count_leading(job->sink, job->known.refs, job->known.count, &job->first));
    for (size_t i = 0; i < job->first; i++) job->refs[i] = job->known.refs[i];
    job->put_count = job->decided_count = job->first;
    return NULL;
}

static Error *run_job(WorkerPool *pool, WriteJob *job) {
    TRY(pass_over_known(job));
    size_t threads = pool ? worker_pool_thread_count(pool) + (size_t)1 : 1;
    size_t left = job->count - job->first;
    job->slot_count = 2 * TOGETHER * threads < SLOTS_MAX ? 2 * TOGETHER * threads : SLOTS_MAX;
    pthread_mutex_init(&job->sink_mutex, NULL);
    pthread_mutex_init(&job->mutex, NULL);
    pthread_cond_init(&job->moved, NULL);
    Error *error =
        worker_pool_for_each(pool, left / TOGETHER + (left % TOGETHER != 0), write_task, job);
    for (size_t i = 0; i < job->slot_count; i++) byte_writer_deinit(&job->slots[i].stored);
    pthread_cond_destroy(&job->moved);
    pthread_mutex_destroy(&job->mutex);
    pthread_mutex_destroy(&job->sink_mutex);
    return error;
}

static RawPiece *cut(const RawRun *run, uint32_t chunk_size, RawPiece *out) {
    const uint8_t *data = run->data;
    const size_t count = chunk_count(run->size, chunk_size);
    for (size_t i = 0; i < count; i++)
        *out++ = (RawPiece){
            data + (uint64_t)i * chunk_size, chunk_raw_size(run->size, chunk_size, i), run->filter};
    return out;
}

static Error *write_runs(WorkerPool *pool, const RawRun *runs, size_t run_count,
    uint32_t chunk_size, KnownChunks known, ChunkSink sink, ChunkRef *out_refs) {
    size_t count = 0; /* cannot overflow: all the data is in memory */
    void *memory;
    assert(chunk_size >= 1 && chunk_size <= CHUNK_SIZE);
    for (size_t i = 0; i < run_count; i++) count += chunk_count(runs[i].size, chunk_size);
    TRY(memory_alloc(count, sizeof(RawPiece), &memory));
    RawPiece *end = memory;
    for (size_t i = 0; i < run_count; i++) end = cut(&runs[i], chunk_size, end);
    WriteJob job = {
        .pieces = memory, .count = count, .known = known, .sink = sink, .refs = out_refs};
    Error *error = run_job(pool, &job);
    memory_free(memory);
    return error;
}

Error *chunk_write_runs(WorkerPool *pool, const RawRun *runs, size_t run_count, uint32_t chunk_size,
    ChunkSink sink, ChunkRef *out_refs) {
    return write_runs(pool, runs, run_count, chunk_size, (KnownChunks){0}, sink, out_refs);
}

Error *chunk_write_data(WorkerPool *pool, const void *data, uint64_t size, uint32_t chunk_size,
    ChunkFilter filter, KnownChunks known, ChunkSink sink, ChunkRef *out_refs) {
    const RawRun run = {data, size, filter};
    return write_runs(pool, &run, 1, chunk_size, known, sink, out_refs);
}

Error *chunk_write_read(WorkerPool *pool, RawChunks reader, uint64_t size, uint32_t chunk_size,
    ChunkFilter filter, ChunkSink sink, ChunkRef *out_refs) {
    assert(chunk_size >= 1 && chunk_size <= CHUNK_SIZE);
    WriteJob job = {.reader = reader,
        .size = size,
        .chunk_size = chunk_size,
        .filter = filter,
        .count = chunk_count(size, chunk_size),
        .sink = sink,
        .refs = out_refs};
    return run_job(pool, &job);
}

/* The destination of one chunk. */
typedef struct Piece {
    const ChunkRef *ref;
    uint8_t *out;
} Piece;

typedef struct ReadJob {
    const Piece *pieces;
    ChunkVerify verify;
    ChunkSource source;
} ReadJob;

static Error *read_task(void *context, size_t index) {
    const ReadJob *job = context;
    const Piece *piece = &job->pieces[index];
    CodecContext *codec = NULL;
    TRY(codec_context_get(&codec));
    ByteWriter *stored = codec_context_get_stored(codec);
    TRY(job->source.get(job->source.self, piece->ref, stored));
    TRY(byte_writer_check(stored));
    return chunk_decode(stored->data, stored->size, piece->ref, job->verify, piece->out);
}

static void fill_pieces(const ChunkRun *run, Piece *out) {
    uint8_t *data = run->out_data;
    for (size_t i = 0; i < run->count; i++) {
        out[i] = (Piece){&run->refs[i], data};
        data += run->refs[i].raw_size;
    }
}

Error *chunk_read_data(WorkerPool *pool, const ChunkRun *runs, size_t run_count, ChunkVerify verify,
    ChunkSource source) {
    size_t count = 0; /* cannot overflow: all the refs are in memory */
    for (size_t i = 0; i < run_count; i++) count += runs[i].count;
    void *memory = NULL;
    TRY(memory_alloc(count, sizeof(Piece), &memory));
    Piece *pieces = memory;
    for (size_t i = 0, done = 0; i < run_count; done += runs[i++].count)
        if (runs[i].count > 0) fill_pieces(&runs[i], pieces + done);
    ReadJob job = {pieces, verify, source};
    Error *error = worker_pool_for_each(pool, count, read_task, &job);
    memory_free(memory);
    return error;
}
