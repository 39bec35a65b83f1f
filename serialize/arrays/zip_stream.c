#include "serialize/arrays/zip_stream.h"

#include <string.h>
#include <zlib.h>

#include "base/allocator.h"

/* zlib counts in 32 bits: larger input and output are handed over in parts. */
enum { PART_SIZE = 1 << 30 };

struct ZipStream {
    const ZipMember *member;
    z_stream inflater; /* of a deflated member */
    uint64_t given;    /* stored bytes passed to the inflater */
    uint64_t done;     /* bytes of the content read so far */
    uint32_t crc32;
};

Error *zip_stream_open(const ZipMember *member, ZipStream **out_stream) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ZipStream), &memory));
    ZipStream *stream = memory;
    stream->member = member;
    if (member->method == ZIP_DEFLATED && inflateInit2(&stream->inflater, -MAX_WBITS) != Z_OK) {
        memory_free(stream);
        FAIL(OUT_OF_MEMORY, "no memory for unpacking");
    }
    *out_stream = stream;
    return NULL;
}

void zip_stream_close(ZipStream *stream) {
    if (!stream) return;
    if (stream->member->method == ZIP_DEFLATED) (void)inflateEnd(&stream->inflater);
    memory_free(stream);
}

static Error *fail_content(void) {
    FAIL(CORRUPT, "its deflated bytes do not unpack to what the directory says");
}

static void give_input(ZipStream *stream) {
    const ZipMember *member = stream->member;
    z_stream *inflater = &stream->inflater;
    uint64_t left = member->stored_size - stream->given;
    if (inflater->avail_in > 0 || left == 0) return;
    inflater->avail_in = left < PART_SIZE ? (uInt)left : PART_SIZE;
    inflater->next_in = (Bytef *)(uintptr_t)(member->data + stream->given);
    stream->given += inflater->avail_in;
}

/* size: at most PART_SIZE. 0: looks for the end of the deflated bytes. */
static Error *inflate_part(ZipStream *stream, uint8_t *out, size_t size) {
    z_stream *inflater = &stream->inflater;
    inflater->next_out = out;
    inflater->avail_out = (uInt)size;
    for (;;) {
        give_input(stream);
        int status = inflate(inflater, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR) FAIL(OUT_OF_MEMORY, "no memory for unpacking");
        if (status == Z_STREAM_END)
            return inflater->avail_out > 0 || inflater->avail_in > 0 ||
                           stream->given < stream->member->stored_size ||
                           stream->done + size < stream->member->size
                       ? fail_content()
                       : NULL;
        if (status != Z_OK) return fail_content();
        if (size > 0 && inflater->avail_out == 0) return NULL;
    }
}

Error *zip_stream_read(ZipStream *stream, void *out, size_t size) {
    const ZipMember *member = stream->member;
    if (size > member->size - stream->done) FAIL(CORRUPT, "its content ends too early");
    if (member->method == ZIP_STORED && size > 0) memcpy(out, member->data + stream->done, size);
    uint8_t *to = out;
    for (size_t left = size; member->method == ZIP_DEFLATED && left > 0;) {
        size_t part = left < PART_SIZE ? left : PART_SIZE;
        TRY(inflate_part(stream, to, part));
        stream->done += part;
        to += part;
        left -= part;
    }
    if (member->method == ZIP_STORED) stream->done += size;
    if (size > 0) stream->crc32 = (uint32_t)crc32_z(stream->crc32, out, size);
    return NULL;
}

Error *zip_stream_finish(ZipStream *stream) {
    uint8_t nothing; /* zlib needs an address even for an output of 0 bytes */
    if (stream->done < stream->member->size) FAIL(CORRUPT, "its content was not read to its end");
    if (stream->member->method == ZIP_DEFLATED) TRY(inflate_part(stream, &nothing, 0));
    if (stream->crc32 != stream->member->crc32) FAIL(CORRUPT, "its content fails its CRC");
    return NULL;
}
