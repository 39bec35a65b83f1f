#include "serialize/container_internal.h"

Error *container_copy_chunks(
    const Container *container, WorkerPool *pool, ChunkVerify verify, ChunkSink sink) {
    if (container->bulk_count > 0 && !container->source.get)
        FAIL(INTERNAL, "bulk data of a container without chunks");
    return error_wrap(
        chunk_copy(container->refs, container->ref_count, pool, verify, container->source, sink),
        "bulk data");
}
