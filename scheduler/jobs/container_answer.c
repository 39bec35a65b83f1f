#include "scheduler/jobs/container_answer.h"

#include "base/allocator.h"
#include "store/chunks/chunk_reader.h"

enum { ENOUGH = 128 << 10, ENTRY_BYTES = 64 /* of a chunk that is planned */ };

struct ContainerAnswer {
    Store *store;
    TenantId tenant;
    ContainerFile *file; /* planned */
    ChunkSource made;    /* of the first made_count chunks */
    size_t made_count;
    ByteWriter head, tail;
    void *keeper;
    void (*close_keeper)(void *keeper);
    size_t at; /* 0: the head, then chunk at - 1; after the chunks the tail */
};

Error *container_answer_create(Store *store, TenantId tenant, ContainerAnswer **out_answer) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ContainerAnswer), &memory));
    OWN(ContainerAnswer, answer) = memory;
    answer->store = store;
    answer->tenant = tenant;
    TRY(container_file_plan_create(&answer->file));
    *out_answer = TAKE(answer);
    return NULL;
}

void container_answer_release(ContainerAnswer *answer) {
    if (!answer) return;
    container_file_release(answer->file);
    byte_writer_deinit(&answer->head);
    byte_writer_deinit(&answer->tail);
    if (answer->close_keeper) answer->close_keeper(answer->keeper);
    memory_free(answer);
}

/* ---- planning ---- */

static Error *find(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    ChunkSink sink = container_file_get_sink(((ContainerAnswer *)self)->file);
    return sink.find(sink.self, refs, count, out_found);
}

/* Plans with the chunk's size alone. */
static Error *put(void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    ContainerAnswer *answer = self;
    (void)stored;
    const size_t before = container_file_plan_count(answer->file);
    if (before != answer->made_count) FAIL(INTERNAL, "a chunk is made behind stored ones");
    TRY(container_file_plan_add(answer->file, ref, stored_size));
    answer->made_count = container_file_plan_count(answer->file);
    return NULL;
}

ChunkSink container_answer_sink(ContainerAnswer *answer, ChunkSource made) {
    answer->made = made;
    return (ChunkSink){find, put, answer};
}

Error *container_answer_add(ContainerAnswer *answer, const ChunkRef *refs, size_t count) {
    OWN(ChunkReader, reader) = NULL;
    TRY(chunk_reader_open(answer->store, answer->tenant, &reader));
    for (size_t i = 0; i < count; i++) {
        bool found;
        size_t size;
        TRY(find(answer, &refs[i], 1, &found));
        if (found) continue;
        TRY(chunk_reader_measure(reader, &refs[i], &size));
        TRY(container_file_plan_add(answer->file, &refs[i], size));
    }
    return NULL;
}

/* ---- reading ---- */

static Error *write_stored(
    const ChunkRef *ref, uint32_t size, ChunkSource source, ByteWriter *scratch, ByteWriter *out) {
    void *raw;
    TRY(source.get(source.self, ref, scratch));
    TRY(byte_writer_check(scratch));
    if (scratch->size != size)
        FAIL(CORRUPT, "a chunk has %zu bytes, and had %u before", scratch->size, size);
    TRY(memory_alloc(ref->raw_size, 1, &raw));
    Error *error = chunk_decode(scratch->data, scratch->size, ref, CHUNK_VERIFY_XXH3, raw);
    memory_free(raw);
    TRY(error);
    byte_write_bytes(out, scratch->data, scratch->size);
    return byte_writer_check(out);
}

static Error *write_chunk(ContainerAnswer *answer, size_t index, ChunkSource stored,
    ByteWriter *scratch, ByteWriter *out) {
    uint32_t size;
    const ChunkRef ref = container_file_plan_get(answer->file, index, &size);
    return write_stored(
        &ref, size, index < answer->made_count ? answer->made : stored, scratch, out);
}

static Error *write_some(ContainerAnswer *answer, ChunkReader *reader, ByteWriter *out) {
    ByteWriter OWN_BYTES(scratch) = {0};
    const size_t count = container_file_plan_count(answer->file);
    for (; out->size < ENOUGH && answer->at <= count; answer->at++) {
        if (answer->at == 0)
            byte_write_bytes(out, answer->head.data, answer->head.size);
        else
            TRY(write_chunk(answer, answer->at - 1, chunk_reader_source(reader), &scratch, out));
    }
    return byte_writer_check(out);
}

static Error *pull(void *self, ByteWriter *out, HttpStreamState *out_state) {
    ContainerAnswer *answer = self;
    OWN(ChunkReader, reader) = NULL;
    TRY(chunk_reader_open(answer->store, answer->tenant, &reader));
    TRY(write_some(answer, reader, out));
    *out_state = HTTP_STREAM_MORE;
    if (answer->at <= container_file_plan_count(answer->file)) return NULL;
    byte_write_bytes(out, answer->tail.data, answer->tail.size);
    *out_state = HTTP_STREAM_END;
    return byte_writer_check(out);
}

static void close_answer(void *self) { container_answer_release(self); }

Error *container_answer_finish(ContainerAnswer *owned_answer, const void *manifest,
    size_t manifest_size, void *owned_keeper, void (*close_keeper)(void *keeper),
    uint64_t keeper_bytes, HttpStream *out_stream) {
    OWN(ContainerAnswer, answer) = owned_answer;
    answer->keeper = owned_keeper;
    answer->close_keeper = close_keeper;
    TRY(container_file_plan_finish(
        answer->file, manifest, manifest_size, &answer->head, &answer->tail));
    const uint64_t held = keeper_bytes + 2 * answer->tail.size +
                          container_file_plan_count(answer->file) * ENTRY_BYTES +
                          2 * (uint64_t)CHUNK_SIZE;
    *out_stream =
        (HttpStream){.pull = pull, .close = close_answer, .self = TAKE(answer), .held = held};
    return NULL;
}
