#pragma once
/* The state that compressing and decompressing need: zstd's contexts and room for byte planes, made
 * once per thread. Callers: serialize/chunk, serialize/container.
 *
 * Threads: any; the state is thread-specific data, the only such state in the program. A context is
 *          1.5 MiB, and making one per chunk costs more than coding the chunk. It never changes a
 *          result. */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

/* Settings of zstd. All give ordinary frames. */
typedef enum CodecSetting {
    CODEC_HUFFMAN, /* no matches, literals Huffman-coded: for bytes that repeat only in value */
    CODEC_LEVEL_1,
    CODEC_LEVEL_3,
    CODEC_SETTING_COUNT,
} CodecSetting;

typedef struct CodecContext CodecContext;

/* Returns this thread's context, which lives until the thread ends. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *codec_context_get(CodecContext **out);

/* Returns room for one plane of a chunk; each plane begins on its own cache line. */
uint8_t *codec_context_get_plane(CodecContext *context, uint32_t plane, size_t plane_size);
/* Returns a buffer for one stored chunk, with undefined content. */
ByteWriter *codec_context_get_stored(CodecContext *context);

/* Compresses into one frame. *out_size is 0 when the frame would exceed capacity. */
MUST_CHECK Error *codec_compress(CodecContext *context, CodecSetting setting, const void *data,
    size_t size, void *out, size_t capacity, size_t *out_size);
/* Decompresses exactly one frame (no skippable, legacy or dictionary ones) of exactly out_size
 * bytes; never writes beyond them. Errors: CORRUPT. */
MUST_CHECK Error *codec_decompress(
    CodecContext *context, const void *frame, size_t size, void *out, size_t out_size);
/* Reads the content size that a frame states. Errors: CORRUPT not a frame, or without a size. */
MUST_CHECK Error *codec_frame_size(const void *frame, size_t size, uint64_t *out);
