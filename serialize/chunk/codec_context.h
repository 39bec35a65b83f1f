#pragma once
/* What compressing and decompressing need besides the bytes: zstd's contexts and room for byte
 * planes, made once per thread.
 *
 * Kept in thread-specific data, the one place where a thread has state of its own: a context is
 * 1.5 MiB, and making one per chunk costs more than coding the chunk. It never changes a result. */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

/* How zstd is set. All give ordinary frames. */
typedef enum CodecSetting {
    CODEC_HUFFMAN, /* no matches, literals Huffman-coded: for bytes that repeat only in value */
    CODEC_LEVEL_1,
    CODEC_LEVEL_3,
    CODEC_SETTING_COUNT,
} CodecSetting;

typedef struct CodecContext CodecContext;

/* This thread's context, borrowed until the thread ends. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *codec_context_get(CodecContext **out);

/* Room for all planes of one chunk, each beginning on a cache line of its own. */
uint8_t *codec_context_get_plane(CodecContext *context, uint32_t plane, size_t plane_size);
/* A buffer for one stored chunk; its content is anything. */
ByteWriter *codec_context_get_stored(CodecContext *context);

/* One frame. *out_size is 0 when it would take more than capacity bytes. */
MUST_CHECK Error *codec_compress(CodecContext *context, CodecSetting setting, const void *data,
    size_t size, void *out, size_t capacity, size_t *out_size);
/* Exactly one frame (no skippable, legacy or dictionary ones) of exactly out_size bytes; never
 * writes beyond them. Errors: CORRUPT. */
MUST_CHECK Error *codec_decompress(
    CodecContext *context, const void *frame, size_t size, void *out, size_t out_size);
/* What the frame says its content's size is. Errors: CORRUPT not a frame, or it does not say. */
MUST_CHECK Error *codec_frame_size(const void *frame, size_t size, uint64_t *out);
