#include "base/allocator.h"
#include "serialize/container/container_internal.h"

Error *container_copy_chunks(
    const Container *container, WorkerPool *pool, ChunkVerify verify, ChunkSink sink) {
    if (container->bulk_count > 0 && !container->source.get)
        FAIL(INTERNAL, "bulk data of a container without chunks");
    return error_wrap(
        chunk_copy(container->refs, container->ref_count, pool, verify, container->source, sink),
        "bulk data");
}

/* Lists the chunks of the file that the sink has. out_refs has room for all chunks. */
static Error *list_known(
    const ContainerInput *input, ChunkSink sink, ChunkRef *out_refs, size_t *out_count) {
    ChunkRef asked[CHUNKS_FOUND_AT_ONCE];
    bool found[CHUNKS_FOUND_AT_ONCE];
    size_t known = 0;
    for (size_t begin = 0, count; begin < input->index_count; begin += count) {
        const size_t left = input->index_count - begin;
        count = left < CHUNKS_FOUND_AT_ONCE ? left : CHUNKS_FOUND_AT_ONCE;
        for (size_t i = 0; i < count; i++) asked[i] = input->index[begin + i].ref;
        TRY(sink.find(sink.self, asked, count, found));
        for (size_t i = 0; i < count; i++)
            if (found[i]) out_refs[known++] = asked[i];
    }
    *out_count = known;
    return NULL;
}

Error *container_check_known_chunks(
    const Container *container, WorkerPool *pool, ChunkVerify verify, ChunkSink sink) {
    void *memory = NULL;
    size_t count = 0;
    TRY(memory_alloc(container->input.index_count, sizeof(ChunkRef), &memory));
    Error *error = list_known(&container->input, sink, memory, &count);
    if (!error) error = chunk_verify(memory, count, pool, verify, container->source);
    memory_free(memory);
    return error_wrap(error, "bulk data");
}
