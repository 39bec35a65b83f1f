#pragma once
/* Brings chunks into the store. Callers: store/contents and store/models stage data through an
 * upload; the control thread's commits and scheduler/migration own uploads.
 *
 * gc keeps everything that went through the upload's sink, found or put, until the upload is
 * closed; afterwards chunks that the catalog does not refer to are garbage.
 *
 * Threads: one at a time per upload; several uploads at once. */
#include <stdbool.h>
#include <stdint.h>

#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

typedef struct ChunkUpload ChunkUpload;

MUST_CHECK Error *chunk_upload_open(Store *store, TenantId tenant, ChunkUpload **out_upload);
/* The sink of the upload. The upload owns it. put copies the chunk and writes transactions of up to
 * 8 MiB, one at a time on a separate thread while the next one is filled. So a later call may
 * report a failure, and nothing is durable before a flush. put trusts that the bytes match the
 * reference: a caller with bytes from outside decodes them with CHUNK_VERIFY_SHA256 first.
 * Errors of put: EXHAUSTED the disk is full; IO. A failed upload can only be closed. */
ChunkSink chunk_upload_sink(ChunkUpload *upload);
/* Limits an upload of chunks that a tenant sends: chunks are charged while they are on their way
 * (in_flight.h), and closing deletes unreferenced new chunks unless chunk_upload_keep was called.
 * Called before the first put. Errors of put: also EXHAUSTED the tenant's quota. */
void chunk_upload_limit(ChunkUpload *upload);
/* Called when the catalog refers to the uploaded chunks and their rows are charged. models_register
 * calls it itself. */
void chunk_upload_keep(ChunkUpload *upload);
/* Returns when everything found or put so far is durable. The next row that the tenant is charged
 * for must be the one with these chunks (in_flight_settle). models_register calls it itself. */
MUST_CHECK Error *chunk_upload_flush(ChunkUpload *upload);
/* Closes the upload and drops chunks that were not flushed. */
void chunk_upload_close(ChunkUpload *upload);
DEFINE_OWN(ChunkUpload, chunk_upload_close);
