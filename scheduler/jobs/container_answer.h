#pragma once
/* A container file (.lvc, .lvx) as an HTTP answer that is made while it is read. Nothing is written
 * to the disk. The file's first bytes say how large it is, so the file is planned from the sizes of
 * its chunks; each chunk is then read, checked and sent. The store's write-ahead log is held for no
 * longer than one piece. Called by job_export.c and model_answer.c, on handler threads; an answer
 * belongs to one thread. */
#include "scheduler/http/server/http_response.h"
#include "serialize/container/container.h"
#include "store/database/store.h"

typedef struct ContainerAnswer ContainerAnswer;

MUST_CHECK Error *container_answer_create(
    Store *store, TenantId tenant, ContainerAnswer **out_answer);
void container_answer_release(ContainerAnswer *answer);
DEFINE_OWN(ContainerAnswer, container_answer_release);

/* A sink for chunks that the store lacks; they come before those that it has. The sink notes each
 * chunk's size and keeps no bytes; made produces the chunks again, in the same order, when they are
 * sent. made is used until the keeper is closed. */
ChunkSink container_answer_sink(ContainerAnswer *answer, ChunkSource made);
/* Adds chunks of the tenant's store. Errors: NOT_FOUND. */
MUST_CHECK Error *container_answer_add(ContainerAnswer *answer, const ChunkRef *refs, size_t count);
/* Opens the stream. keeper: protects the chunks from being removed and has keeper_bytes of memory;
 * it is closed with the stream, or on failure. Errors: as container_file_finish. */
MUST_CHECK Error *container_answer_finish(ContainerAnswer *owned_answer, const void *manifest,
    size_t manifest_size, void *owned_keeper, void (*close_keeper)(void *keeper),
    uint64_t keeper_bytes, HttpStream *out_stream);
