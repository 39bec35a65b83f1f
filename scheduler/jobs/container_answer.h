#pragma once
/* A container file (.lvc, .lvx) as an answer that is made while it is read: nothing is written to
 * the disk. Its first bytes say how large it is, so it is planned from the sizes of its chunks;
 * each is then read, checked and sent. The store's log is held for no longer than one piece. */
#include "scheduler/http/server/http_response.h"
#include "serialize/container/container.h"
#include "store/database/store.h"

typedef struct ContainerAnswer ContainerAnswer;

MUST_CHECK Error *container_answer_create(
    Store *store, TenantId tenant, ContainerAnswer **out_answer);
void container_answer_release(ContainerAnswer *answer);
DEFINE_OWN(ContainerAnswer, container_answer_release);

/* For chunks that the store lacks, before any that it has. The sink notes how large each is and
 * keeps no bytes; made gives a chunk again, in the same order, when it is sent. made is used until
 * the keeper is closed. */
ChunkSink container_answer_sink(ContainerAnswer *answer, ChunkSource made);
/* Chunks that the tenant's store has. Errors: NOT_FOUND. */
MUST_CHECK Error *container_answer_add(ContainerAnswer *answer, const ChunkRef *refs, size_t count);
/* keeper: keeps the chunks from being removed, and has so many bytes; it is closed with the stream,
 * or on failure. Errors: as container_file_finish. */
MUST_CHECK Error *container_answer_finish(ContainerAnswer *owned_answer, const void *manifest,
    size_t manifest_size, void *owned_keeper, void (*close_keeper)(void *keeper),
    uint64_t keeper_bytes, HttpStream *out_stream);
