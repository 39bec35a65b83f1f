#include "serialize/chunk/chunk.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "serialize/chunk/byte_planes.h"
#include "serialize/chunk/chunk_sample.h"
#include "serialize/chunk/codec_context.h"

/* A stored chunk (docs/formats.md#chunk):
 *      0  8  XXH3-64 of everything behind it
 *      8  1  codec
 *      9  1  filter; 0 unless the codec is PLANES
 *     10  2  0
 *     12  4  raw size
 *     16     payload
 * and the payload of PLANES:
 *      for each plane 4: size of its bytes | kind << 24
 *      the planes' bytes, then the bytes behind the last whole element */
enum { OFFSET_CODEC = 8, OFFSET_FILTER = 9, OFFSET_RAW_SIZE = 12, HEADER_SIZE = 16 };
enum { PLANE_ENTRY_SIZE = 4, PLANE_KIND_SHIFT = 24 };

typedef enum ChunkCodec {
    CODEC_RAW = 0,
    CODEC_PATTERN = 1, /* the payload, repeated */
    CODEC_ZSTD = 2,
    CODEC_PLANES = 3,
} ChunkCodec;

typedef enum PlaneKind { PLANE_RAW = 0, PLANE_CONSTANT = 1, PLANE_ZSTD = 2 } PlaneKind;

/* Coding must save so much, in 1/65536, to be worth the time of decoding. */
enum {
    PLANE_ENTROPY_MAX = 65536 - 65536 / 50, /* 2 % */
    BYTES_ENTROPY_MAX = 65536 - 65536 / 10, /* int8 quantised per row saves 9 % at a tenth of the
                                               speed: left raw */
};
enum { TRIAL_PIECES = 4, TRIAL_PIECE_SIZE = 4 << 10 };

size_t chunk_count(uint64_t size, uint32_t chunk_size) {
    return (size_t)(size / chunk_size + (size % chunk_size != 0));
}

uint32_t chunk_raw_size(uint64_t size, uint32_t chunk_size, size_t index) {
    const uint64_t left = size - (uint64_t)index * chunk_size;
    return left < chunk_size ? (uint32_t)left : chunk_size;
}

static void put_u32(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *from) {
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static void put_u64(uint8_t *to, uint64_t value) {
    put_u32(to, (uint32_t)value);
    put_u32(to + 4, (uint32_t)(value >> 32));
}

static uint64_t get_u64(const uint8_t *from) {
    return get_u32(from) | (uint64_t)get_u32(from + 4) << 32;
}

/* A chunk that is encoded. payload has room for raw_size + BYTE_PLANES_MAX * PLANE_ENTRY_SIZE
 * bytes. */
typedef struct Encoding {
    CodecContext *context;
    const uint8_t *raw;
    size_t raw_size;
    ChunkFilter filter;
    ChunkSample sample;
    uint8_t *payload;
    size_t payload_size;
    ChunkCodec codec;
} Encoding;

static void encode_raw(Encoding *encoding) {
    memcpy(encoding->payload, encoding->raw, encoding->raw_size);
    encoding->payload_size = encoding->raw_size;
    encoding->codec = CODEC_RAW;
}

static Error *encode_zstd(Encoding *encoding, CodecSetting setting) {
    size_t capacity = encoding->raw_size - encoding->raw_size / 50;
    TRY(codec_compress(encoding->context, setting, encoding->raw, encoding->raw_size,
        encoding->payload, capacity, &encoding->payload_size));
    encoding->codec = CODEC_ZSTD;
    if (encoding->payload_size == 0) encode_raw(encoding);
    return NULL;
}

/* Chooses level 3 if it makes trial pieces clearly smaller than their entropy, byte by byte: text
 * and code repeat strings, numbers do not. */
static Error *choose_bytes_setting(Encoding *encoding, CodecSetting *out) {
    size_t size = encoding->raw_size, piece = TRIAL_PIECE_SIZE, pieces = TRIAL_PIECES;
    if (size <= TRIAL_PIECES * TRIAL_PIECE_SIZE) piece = size, pieces = 1;
    size_t matched = 0;
    for (size_t i = 0; i < pieces; i++) {
        size_t at = pieces > 1 ? i * ((size - piece) / (pieces - 1)) : 0;
        size_t written = 0;
        TRY(codec_compress(encoding->context, CODEC_LEVEL_3, encoding->raw + at, piece,
            encoding->payload, encoding->raw_size, &written));
        matched += written > 0 ? written : piece;
    }
    size_t coded = (size_t)((uint64_t)(piece * pieces) * encoding->sample.plane_entropy[0] >> 16);
    /* Huffman alone is coded three times as fast: level 3 must save 3 % more */
    *out = matched < coded - coded / 32 ? CODEC_LEVEL_3 : CODEC_HUFFMAN;
    return NULL;
}

/* True when the chunk repeats one element (or byte); the chunk is then encoded. */
static bool encode_pattern(Encoding *encoding, size_t width) {
    if (encoding->raw_size <= width ||
        encoding->sample.repeat_count + CHUNK_SAMPLE_STRIPES < encoding->sample.element_count)
        return false;
    if (memcmp(encoding->raw, encoding->raw + width, encoding->raw_size - width) != 0) return false;
    memcpy(encoding->payload, encoding->raw, width);
    encoding->payload_size = width;
    encoding->codec = CODEC_PATTERN;
    return true;
}

static Error *encode_plane(Encoding *encoding, uint32_t entropy, const uint8_t *plane, size_t count,
    uint8_t *out, size_t *out_size, PlaneKind *out_kind) {
    if (entropy == 0 && memcmp(plane, plane + 1, count - 1) == 0) {
        *out = plane[0];
        *out_size = 1;
        *out_kind = PLANE_CONSTANT;
        return NULL;
    }
    size_t written = 0;
    if (entropy <= PLANE_ENTROPY_MAX)
        TRY(codec_compress(
            encoding->context, CODEC_HUFFMAN, plane, count, out, count - count / 50, &written));
    if (written == 0 && plane != out) memcpy(out, plane, count);
    *out_size = written > 0 ? written : count;
    *out_kind = written > 0 ? PLANE_ZSTD : PLANE_RAW;
    return NULL;
}

static Error *encode_planes(Encoding *encoding, uint32_t width) {
    size_t count = encoding->raw_size / width, tail = encoding->raw_size % width;
    uint8_t *planes[BYTE_PLANES_MAX] = {0};
    size_t size = width * PLANE_ENTRY_SIZE;
    /* planes of noise at the beginning are split directly to their final place */
    bool in_place = true;
    for (uint32_t p = 0; p < width; p++) {
        in_place = in_place && encoding->sample.plane_entropy[p] > PLANE_ENTROPY_MAX;
        planes[p] = in_place ? encoding->payload + size + p * count
                             : codec_context_get_plane(encoding->context, p, count);
    }
    byte_planes_split(encoding->filter, encoding->raw, count, planes);
    for (uint32_t p = 0; p < width; p++) {
        size_t plane_size = 0;
        PlaneKind kind = PLANE_RAW;
        TRY(encode_plane(encoding, encoding->sample.plane_entropy[p], planes[p], count,
            encoding->payload + size, &plane_size, &kind));
        put_u32(encoding->payload + p * PLANE_ENTRY_SIZE,
            (uint32_t)plane_size | (uint32_t)kind << PLANE_KIND_SHIFT);
        size += plane_size;
    }
    memcpy(encoding->payload + size, encoding->raw + encoding->raw_size - tail, tail);
    encoding->payload_size = size + tail;
    encoding->codec = CODEC_PLANES;
    if (encoding->payload_size >= encoding->raw_size) encode_raw(encoding);
    return NULL;
}

static Error *encode_best(Encoding *encoding) {
    uint32_t width = byte_planes_count(encoding->filter);
    size_t count = encoding->raw_size / width;
    if (count == 0) {
        encode_raw(encoding);
        return NULL;
    }
    ChunkSample *sample = &encoding->sample;
    chunk_sample_take(encoding->filter, encoding->raw, count, sample);
    if (encode_pattern(encoding, width)) return NULL;
    if (width == 1) {
        if (sample->plane_entropy[0] > BYTES_ENTROPY_MAX) {
            encode_raw(encoding);
            return NULL;
        }
        CodecSetting setting = CODEC_HUFFMAN;
        TRY(choose_bytes_setting(encoding, &setting));
        return encode_zstd(encoding, setting);
    }
    if (sample->repeat_count >= sample->element_count / 4 * 3)
        return encode_zstd(encoding, CODEC_LEVEL_1); /* runs: matches beat planes */
    for (uint32_t p = 0; p < width; p++)
        if (sample->plane_entropy[p] <= PLANE_ENTROPY_MAX) return encode_planes(encoding, width);
    encode_raw(encoding);
    return NULL;
}

static Error *writer_reserve(ByteWriter *writer, size_t size) {
    TRY(byte_writer_check(writer));
    if (writer->capacity - writer->size >= size) return NULL;
    void *grown = writer->data;
    TRY(memory_resize(&grown, writer->size + size, 1));
    writer->data = grown;
    writer->capacity = writer->size + size;
    return NULL;
}

Error *chunk_encode(const void *raw, uint32_t raw_size, ChunkFilter filter, ByteWriter *stored) {
    assert(raw_size >= 1 && raw_size <= CHUNK_SIZE);
    Encoding encoding = {.raw = raw, .raw_size = raw_size, .filter = filter};
    TRY(codec_context_get(&encoding.context));
    TRY(writer_reserve(
        stored, HEADER_SIZE + (size_t)raw_size + BYTE_PLANES_MAX * PLANE_ENTRY_SIZE));
    uint8_t *header = stored->data + stored->size;
    encoding.payload = header + HEADER_SIZE;
    TRY(encode_best(&encoding));
    memset(header, 0, HEADER_SIZE);
    header[OFFSET_CODEC] = (uint8_t)encoding.codec;
    if (encoding.codec == CODEC_PLANES) header[OFFSET_FILTER] = (uint8_t)filter;
    put_u32(header + OFFSET_RAW_SIZE, raw_size);
    size_t size = HEADER_SIZE + encoding.payload_size;
    put_u64(header, digest_xxh3(header + OFFSET_CODEC, size - OFFSET_CODEC));
    stored->size += size;
    return NULL;
}

static Error *decode_pattern(const uint8_t *payload, size_t size, uint8_t *out, size_t out_size) {
    if (size == 0 || size > BYTE_PLANES_MAX || size > out_size)
        FAIL(CORRUPT, "a repeated pattern of %zu bytes", size);
    memcpy(out, payload, size);
    /* the bytes so far are whole patterns, so they can be copied behind themselves */
    for (size_t done = size; done < out_size;) {
        size_t copied = done < out_size - done ? done : out_size - done;
        memcpy(out + done, out, copied);
        done += copied;
    }
    return NULL;
}

/* Points *out_plane at the plane's count bytes: in the payload itself, or decoded into room. */
static Error *decode_plane(CodecContext *context, PlaneKind kind, const uint8_t *bytes, size_t size,
    uint8_t *room, size_t count, const uint8_t **out_plane) {
    *out_plane = room;
    switch (kind) {
    case PLANE_RAW:
        if (size != count) FAIL(CORRUPT, "%zu bytes instead of %zu", size, count);
        *out_plane = bytes;
        return NULL;
    case PLANE_CONSTANT:
        if (size != 1) FAIL(CORRUPT, "%zu bytes instead of one", size);
        memset(room, bytes[0], count);
        return NULL;
    case PLANE_ZSTD:
        return codec_decompress(context, bytes, size, room, count);
    }
    FAIL(CORRUPT, "unknown kind %d", (int)kind);
}

static Error *decode_planes(CodecContext *context, uint8_t filter_number, const uint8_t *payload,
    size_t size, uint8_t *out, size_t out_size) {
    if (filter_number == CHUNK_FILTER_BYTES || filter_number > CHUNK_FILTER_WORD64)
        FAIL(CORRUPT, "unknown filter %u", filter_number);
    ChunkFilter filter = (ChunkFilter)filter_number;
    uint32_t width = byte_planes_count(filter);
    size_t count = out_size / width, tail = out_size % width;
    ByteReader reader = byte_reader(payload, size);
    const uint8_t *table = NULL;
    TRY(byte_read_view(&reader, (size_t)width * PLANE_ENTRY_SIZE, &table));
    const uint8_t *planes[BYTE_PLANES_MAX] = {0};
    for (uint32_t p = 0; p < width; p++) {
        uint32_t entry = get_u32(table + p * PLANE_ENTRY_SIZE);
        size_t plane_size = entry & ((1u << PLANE_KIND_SHIFT) - 1);
        const uint8_t *bytes = NULL;
        TRY_WRAP(byte_read_view(&reader, plane_size, &bytes), "byte plane %u", p);
        uint8_t *room = codec_context_get_plane(context, p, count);
        TRY_WRAP(decode_plane(context, (PlaneKind)(entry >> PLANE_KIND_SHIFT), bytes, plane_size,
                     room, count, &planes[p]),
            "byte plane %u", p);
    }
    const uint8_t *rest = NULL;
    TRY(byte_read_view(&reader, tail, &rest));
    TRY(byte_reader_check_end(&reader));
    byte_planes_merge(filter, planes, count, out);
    memcpy(out + out_size - tail, rest, tail);
    return NULL;
}

static Error *decode_payload(
    const uint8_t *stored, size_t stored_size, uint8_t *out, size_t out_size) {
    const uint8_t *payload = stored + HEADER_SIZE;
    size_t size = stored_size - HEADER_SIZE;
    uint8_t codec = stored[OFFSET_CODEC], filter = stored[OFFSET_FILTER];
    if (stored[10] != 0 || stored[11] != 0 || (filter != 0 && codec != CODEC_PLANES))
        FAIL(CORRUPT, "a header field that must be 0 is not");
    if (codec == CODEC_RAW) {
        if (size != out_size) FAIL(CORRUPT, "%zu raw bytes instead of %zu", size, out_size);
        memcpy(out, payload, size);
        return NULL;
    }
    if (codec == CODEC_PATTERN) return decode_pattern(payload, size, out, out_size);
    CodecContext *context = NULL;
    TRY(codec_context_get(&context));
    if (codec == CODEC_ZSTD) return codec_decompress(context, payload, size, out, out_size);
    if (codec == CODEC_PLANES) return decode_planes(context, filter, payload, size, out, out_size);
    FAIL(CORRUPT, "unknown codec %u", codec);
}

static Error *decode(const uint8_t *stored, size_t stored_size, const ChunkRef *ref,
    ChunkVerify verify, void *out_raw) {
    if (stored_size < HEADER_SIZE || stored_size > CHUNK_STORED_SIZE_MAX)
        FAIL(CORRUPT, "%zu stored bytes", stored_size);
    if (get_u64(stored) != digest_xxh3(stored + OFFSET_CODEC, stored_size - OFFSET_CODEC))
        FAIL(CORRUPT, "the stored bytes fail their checksum");
    uint32_t raw_size = get_u32(stored + OFFSET_RAW_SIZE);
    if (raw_size != ref->raw_size || raw_size == 0 || raw_size > CHUNK_SIZE)
        FAIL(CORRUPT, "%u bytes instead of %u", raw_size, ref->raw_size);
    TRY(decode_payload(stored, stored_size, out_raw, raw_size));
    if (verify != CHUNK_VERIFY_SHA256) return NULL;
    Digest hash;
    TRY(digest_sha256(out_raw, raw_size, &hash));
    if (!digest_equal(&hash, &ref->hash)) FAIL(CORRUPT, "the content has another SHA-256");
    return NULL;
}

Error *chunk_decode(const void *stored, size_t stored_size, const ChunkRef *ref, ChunkVerify verify,
    void *out_raw) {
    Error *error = decode(stored, stored_size, ref, verify, out_raw);
    if (!error) return NULL;
    char name[DIGEST_TEXT_SIZE];
    digest_print(&ref->hash, name);
    return error_wrap(error, "chunk %.12s", name);
}
