#define ZSTD_STATIC_LINKING_ONLY /* for literalCompressionMode, without which nothing is coded */
#include "serialize/chunk/codec_context.h"

#include <pthread.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/allocator.h"
#include "serialize/chunk/byte_planes.h"
#include "serialize/chunk/chunk_format.h"

enum { PLANE_SPACING = 64 };

struct CodecContext {
    ZSTD_CCtx *compressors[CODEC_SETTING_COUNT]; /* made when first used */
    ZSTD_DCtx *decompressor;
    uint8_t *planes;
    ByteWriter stored;
};

static pthread_key_t context_key;
static pthread_once_t context_key_once = PTHREAD_ONCE_INIT;
static int context_key_failed;

static void context_release(void *argument) {
    CodecContext *context = argument;
    for (int i = 0; i < CODEC_SETTING_COUNT; i++) ZSTD_freeCCtx(context->compressors[i]);
    ZSTD_freeDCtx(context->decompressor);
    memory_free(context->planes);
    byte_writer_deinit(&context->stored);
    memory_free(context);
}

static void context_key_create(void) {
    context_key_failed = pthread_key_create(&context_key, context_release);
}

Error *codec_context_get(CodecContext **out) {
    (void)pthread_once(&context_key_once, context_key_create);
    if (context_key_failed) FAIL(OUT_OF_MEMORY, "no thread-specific data left for the chunk codec");
    CodecContext *context = pthread_getspecific(context_key);
    if (!context) {
        void *memory;
        TRY(memory_alloc(1, sizeof *context, &memory));
        context = memory;
        if (pthread_setspecific(context_key, context) != 0) {
            memory_free(context);
            FAIL(OUT_OF_MEMORY, "no thread-specific data left for the chunk codec");
        }
    }
    if (!context->planes) {
        void *memory;
        TRY(memory_alloc(CHUNK_SIZE + 2 * PLANE_SPACING * BYTE_PLANES_MAX, 1, &memory));
        context->planes = memory;
    }
    *out = context;
    return NULL;
}

uint8_t *codec_context_get_plane(CodecContext *context, uint32_t plane, size_t plane_size) {
    size_t stride = (plane_size / PLANE_SPACING + 2) * PLANE_SPACING;
    return context->planes + plane * stride;
}

ByteWriter *codec_context_get_stored(CodecContext *context) { return &context->stored; }

static Error *check_zstd(size_t result, const char *what) {
    if (ZSTD_isError(result)) FAIL(INTERNAL, "zstd: %s: %s", what, ZSTD_getErrorName(result));
    return NULL;
}

static Error *set_parameter(ZSTD_CCtx *compressor, ZSTD_cParameter parameter, int value) {
    return check_zstd(ZSTD_CCtx_setParameter(compressor, parameter, value), "setting a parameter");
}

static Error *compressor_set(ZSTD_CCtx *compressor, CodecSetting setting) {
    if (setting == CODEC_LEVEL_1) return set_parameter(compressor, ZSTD_c_compressionLevel, 1);
    if (setting == CODEC_LEVEL_3) return set_parameter(compressor, ZSTD_c_compressionLevel, 3);
    /* A search that steps over the whole block finds no match, so all bytes are literals. Runs at
     * 2.9 GB/s, where level 1 has 1.0, and trained weights become 1.3 % smaller. */
    TRY(set_parameter(compressor, ZSTD_c_strategy, ZSTD_fast));
    TRY(set_parameter(compressor, ZSTD_c_targetLength, ZSTD_TARGETLENGTH_MAX));
    TRY(set_parameter(compressor, ZSTD_c_minMatch, 7));
    TRY(set_parameter(compressor, ZSTD_c_hashLog, ZSTD_HASHLOG_MIN));
    TRY(set_parameter(compressor, ZSTD_c_windowLog, 17));
    return set_parameter(compressor, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
}

static Error *compressor_get(CodecContext *context, CodecSetting setting, ZSTD_CCtx **out) {
    if (!context->compressors[setting]) {
        ZSTD_CCtx *compressor = ZSTD_createCCtx();
        if (!compressor) FAIL(OUT_OF_MEMORY, "no memory for compressing");
        Error *error = compressor_set(compressor, setting);
        if (error) {
            ZSTD_freeCCtx(compressor);
            return error;
        }
        context->compressors[setting] = compressor;
    }
    *out = context->compressors[setting];
    return NULL;
}

Error *codec_compress(CodecContext *context, CodecSetting setting, const void *data, size_t size,
    void *out, size_t capacity, size_t *out_size) {
    ZSTD_CCtx *compressor = NULL;
    TRY(compressor_get(context, setting, &compressor));
    size_t written = ZSTD_compress2(compressor, out, capacity, data, size);
    if (ZSTD_getErrorCode(written) == ZSTD_error_dstSize_tooSmall) written = 0;
    if (ZSTD_getErrorCode(written) == ZSTD_error_memory_allocation)
        FAIL(OUT_OF_MEMORY, "no memory for compressing");
    TRY(check_zstd(written, "compressing"));
    *out_size = written;
    return NULL;
}

/* Checks the magic number: zstd itself would also accept legacy formats and skippable frames. */
static bool frame_is_plain(const void *frame, size_t size) {
    static const uint8_t magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    return size >= sizeof magic && memcmp(frame, magic, sizeof magic) == 0;
}

Error *codec_frame_size(const void *frame, size_t size, uint64_t *out) {
    if (!frame_is_plain(frame, size)) FAIL(CORRUPT, "not a zstd frame");
    unsigned long long content = ZSTD_getFrameContentSize(frame, size);
    if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR)
        FAIL(CORRUPT, "a zstd frame that does not say its size");
    *out = content;
    return NULL;
}

Error *codec_decompress(
    CodecContext *context, const void *frame, size_t size, void *out, size_t out_size) {
    if (!frame_is_plain(frame, size) || ZSTD_findFrameCompressedSize(frame, size) != size)
        FAIL(CORRUPT, "not one whole zstd frame");
    if (!context->decompressor) {
        context->decompressor = ZSTD_createDCtx();
        if (!context->decompressor) FAIL(OUT_OF_MEMORY, "no memory for decompressing");
    }
    size_t written = ZSTD_decompressDCtx(context->decompressor, out, out_size, frame, size);
    if (ZSTD_getErrorCode(written) == ZSTD_error_memory_allocation)
        FAIL(OUT_OF_MEMORY, "no memory for decompressing");
    if (ZSTD_isError(written)) FAIL(CORRUPT, "zstd: %s", ZSTD_getErrorName(written));
    if (written != out_size)
        FAIL(CORRUPT, "a zstd frame of %zu bytes instead of %zu", written, out_size);
    return NULL;
}
