#pragma once
/* One member of a zip file, unpacked piece by piece: it is never in memory as a whole. */
#include <stddef.h>

#include "base/error.h"
#include "base/own.h"
#include "serialize/arrays/zip_member.h"

typedef struct ZipStream ZipStream;

/* member: borrowed. */
MUST_CHECK Error *zip_stream_open(const ZipMember *member, ZipStream **out_stream);
/* The next size bytes of its content. Errors: CORRUPT there are no more. */
MUST_CHECK Error *zip_stream_read(ZipStream *stream, void *out, size_t size);
/* Everything was read. Errors: CORRUPT the content goes on, or fails its CRC. */
MUST_CHECK Error *zip_stream_finish(ZipStream *stream);
void zip_stream_close(ZipStream *stream);
DEFINE_OWN(ZipStream, zip_stream_close);
