#pragma once
/* The elements of an array in an .npz file as raw chunks: unpacked once, from beginning to end, and
 * never in memory as a whole. */
#include "serialize/chunk/chunk.h"
#include "serialize/arrays/npz_file.h"

typedef struct NpzStream NpzStream;

enum { NPZ_STREAM_CHUNKS_MAX = 32 }; /* that were unpacked and are not done with */

/* array: borrowed; it is streamable. */
MUST_CHECK Error *npz_stream_open(const NpzArray *array, NpzStream **out_stream);
/* For chunk_write_read with chunks of CHUNK_SIZE. Whoever asks for a chunk unpacks all before it,
 * too: nobody waits for another thread. */
RawChunks npz_stream_chunks(NpzStream *stream);
/* All chunks were got. Errors: CORRUPT the content fails its CRC. */
MUST_CHECK Error *npz_stream_finish(NpzStream *stream);
void npz_stream_close(NpzStream *stream);
DEFINE_OWN(NpzStream, npz_stream_close);
