#pragma once
/* Chunks on their way into the store.
 *
 * Everything that went through the upload's sink, found or put, is safe from gc until the upload is
 * closed; what the catalog does not refer to by then is garbage.
 *
 * Threads: one at a time per upload; several uploads at once. */
#include <stdbool.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

typedef struct ChunkUpload ChunkUpload;

MUST_CHECK Error *chunk_upload_open(Store *store, TenantId tenant, ChunkUpload **out_upload);
/* Borrowed. put keeps a copy and writes transactions of up to 32 MiB, one of them at a time on a
 * thread of its own while the next is filled: a failure may be told by a later call, and nothing is
 * durable before a flush. It trusts that
 * the bytes are what the reference says: whoever has them from outside decodes them with
 * CHUNK_VERIFY_SHA256 first. Errors of put: EXHAUSTED the disk is full; IO. The upload is then of
 * no use but to be closed. */
ChunkSink chunk_upload_sink(ChunkUpload *upload);
/* For chunks that a tenant sends: what is put is charged while it is on its way (in_flight.h), and
 * closing deletes again what was put and nobody refers to, unless chunk_upload_keep was called. To
 * be called before the first put. Errors of put: EXHAUSTED the tenant's quota, too. */
void chunk_upload_limit(ChunkUpload *upload);
/* The catalog refers to what was put, and its rows are charged. models_register does it by itself.
 */
void chunk_upload_keep(ChunkUpload *upload);
/* Returns when everything found or put so far is durable. The next row that the tenant is charged
 * for is what was put (in_flight_settle). models_register does it by itself. */
MUST_CHECK Error *chunk_upload_flush(ChunkUpload *upload);
/* What was not flushed is dropped. */
void chunk_upload_close(ChunkUpload *upload);
DEFINE_OWN(ChunkUpload, chunk_upload_close);
