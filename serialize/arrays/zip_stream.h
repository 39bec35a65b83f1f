#pragma once
/* Unpacks one member of a zip file piece by piece, never completely in memory. Callers: npz_file.c,
 * npz_stream.c, zip_directory.c. Threads: one at a time per stream. */
#include <stddef.h>

#include "base/error.h"
#include "base/own.h"
#include "serialize/arrays/zip_member.h"

typedef struct ZipStream ZipStream;

/* Opens a member, which must outlive the stream. */
MUST_CHECK Error *zip_stream_open(const ZipMember *member, ZipStream **out_stream);
/* Reads the next size bytes of the content. Errors: CORRUPT the content has ended. */
MUST_CHECK Error *zip_stream_read(ZipStream *stream, void *out, size_t size);
/* Called when everything was read. Errors: CORRUPT the content continues, or fails its CRC. */
MUST_CHECK Error *zip_stream_finish(ZipStream *stream);
void zip_stream_close(ZipStream *stream);
DEFINE_OWN(ZipStream, zip_stream_close);
