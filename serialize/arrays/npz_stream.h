#pragma once
/* Reads the elements of an array in an .npz file as raw chunks: the array is unpacked once, from
 * beginning to end, and never completely in memory. Caller: intake_inputs.c in scheduler/jobs.
 * Threads: the chunk reader any; the other functions one at a time. */
#include "serialize/chunk/chunk.h"
#include "serialize/arrays/npz_file.h"

typedef struct NpzStream NpzStream;

enum { NPZ_STREAM_CHUNKS_MAX = 32 }; /* unpacked chunks that are not done */

/* Opens an array, which must be streamable and outlive the stream. */
MUST_CHECK Error *npz_stream_open(const NpzArray *array, NpzStream **out_stream);
/* Returns a reader for chunk_write_read with chunks of CHUNK_SIZE. A thread that asks for a chunk
 * also unpacks all chunks before it, so no thread waits for another. */
RawChunks npz_stream_chunks(NpzStream *stream);
/* Called when all chunks were read. Errors: CORRUPT the content fails its CRC. */
MUST_CHECK Error *npz_stream_finish(NpzStream *stream);
void npz_stream_close(NpzStream *stream);
DEFINE_OWN(NpzStream, npz_stream_close);
