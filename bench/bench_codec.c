/* bench_codec [WEIGHTS.safetensors]: the chunk codec, one thread, on data like weights and
 * checkpoints, and on the float32 arrays of a file as they are and converted. Beside it zstd's
 * level 1 on the same bytes and memcpy, in the same run: what moves between machines moves them,
 * too. Every chunk's best of several rounds counts: whatever else runs disturbs only some. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/file.h"
#include "kernels/tensor/dtype_scalar.h"
#include "serialize/chunk/chunk.h"
#include "serialize/chunk/codec_context.h"
#include "serialize/arrays/safetensors.h"

enum { REPEAT = 9, SYNTHETIC_SIZE = 32 << 20, WEIGHTS_SIZE = 64 << 20 };

typedef struct Data {
    const char *name;
    ChunkFilter filter;
    uint8_t *bytes;
    size_t size;
    /* What the pages of limits have for such data: ratio, encoding and decoding GB/s. 0: nothing */
    double ratio, encode, decode;
} Data;

static uint64_t random_state = 1;
static uint64_t random_bits(void) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static float random_normal(void) {
    double u = (double)(random_bits() >> 11) * 0x1p-53 + 0x1p-54;
    double v = (double)(random_bits() >> 11) * 0x1p-53;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

static Error *convert_16(
    const float *from, size_t count, uint16_t (*convert)(double), uint8_t **out) {
    void *memory = NULL;
    TRY(memory_map(count * 2, &memory));
    for (size_t i = 0; i < count; i++) ((uint16_t *)memory)[i] = convert(from[i]);
    *out = memory;
    return NULL;
}

/* Seconds of the best round, summed over chunks; bytes stored in all. */
typedef struct Figures {
    double encode, decode, copy, level_1_encode, level_1_decode;
    size_t stored, level_1_stored;
} Figures;

typedef struct Rooms {
    CodecContext *context;
    ByteWriter stored;
    uint8_t *raw;
    uint8_t *frame; /* 2 * CHUNK_SIZE */
} Rooms;

static void keep_best(double *best, uint64_t start_ns) {
    double seconds = (double)(clock_now_ns(clock_real()) - start_ns) * 1e-9;
    if (*best == 0 || seconds < *best) *best = seconds;
}

static Error *measure_codec(
    const uint8_t *raw, uint32_t size, ChunkFilter filter, Rooms *rooms, Figures *best) {
    const ChunkRef ref = {.raw_size = size};
    for (int r = 0; r < REPEAT; r++) {
        rooms->stored.size = 0;
        uint64_t start = clock_now_ns(clock_real());
        TRY(chunk_encode(raw, size, filter, &rooms->stored));
        keep_best(&best->encode, start);
        start = clock_now_ns(clock_real());
        TRY(chunk_decode(
            rooms->stored.data, rooms->stored.size, &ref, CHUNK_VERIFY_XXH3, rooms->raw));
        keep_best(&best->decode, start);
        if (memcmp(rooms->raw, raw, size) != 0) FAIL(INTERNAL, "decoded otherwise");
        start = clock_now_ns(clock_real());
        memcpy(rooms->raw, raw, size);
        keep_best(&best->copy, start);
    }
    best->stored = rooms->stored.size;
    return NULL;
}

static Error *measure_level_1(const uint8_t *raw, uint32_t size, Rooms *rooms, Figures *best) {
    for (int r = 0; r < REPEAT; r++) {
        uint64_t start = clock_now_ns(clock_real());
        TRY(codec_compress(rooms->context, CODEC_LEVEL_1, raw, size, rooms->frame, 2 * CHUNK_SIZE,
            &best->level_1_stored));
        keep_best(&best->level_1_encode, start);
        start = clock_now_ns(clock_real());
        TRY(codec_decompress(rooms->context, rooms->frame, best->level_1_stored, rooms->raw, size));
        keep_best(&best->level_1_decode, start);
    }
    return NULL;
}

static Error *measure(const Data *data, Rooms *rooms) {
    Figures sum = {0};
    for (size_t at = 0; at < data->size; at += CHUNK_SIZE) {
        Figures best = {0};
        uint32_t size = data->size - at < CHUNK_SIZE ? (uint32_t)(data->size - at) : CHUNK_SIZE;
        TRY(measure_codec(data->bytes + at, size, data->filter, rooms, &best));
        TRY(measure_level_1(data->bytes + at, size, rooms, &best));
        sum.encode += best.encode;
        sum.decode += best.decode;
        sum.copy += best.copy;
        sum.level_1_encode += best.level_1_encode;
        sum.level_1_decode += best.level_1_decode;
        sum.stored += best.stored;
        sum.level_1_stored += best.level_1_stored;
    }
    double size = (double)data->size, giga = size * 1e-9;
    printf("| %-24s | %6.3f | %5.2f | %5.2f | %6.3f | %5.2f | %5.2f | %5.1f |", data->name,
        size / (double)sum.stored, giga / sum.encode, giga / sum.decode,
        size / (double)sum.level_1_stored, giga / sum.level_1_encode, giga / sum.level_1_decode,
        giga / sum.copy);
    if (data->ratio > 0)
        printf(" %.3f, %.2f, %.2f |\n", data->ratio, data->encode, data->decode);
    else
        printf(" |\n");
    (void)fflush(stdout);
    return NULL;
}

static Error *run(Data data) {
    Rooms rooms = {0};
    void *memory = NULL;
    TRY(codec_context_get(&rooms.context));
    TRY(memory_map(3 * CHUNK_SIZE, &memory));
    rooms.raw = memory;
    rooms.frame = rooms.raw + CHUNK_SIZE;
    Error *error = measure(&data, &rooms);
    memory_unmap(memory, 3 * CHUNK_SIZE);
    byte_writer_deinit(&rooms.stored);
    return error_wrap(error, "%s", data.name);
}

static Error *run_synthetic(void) {
    enum { COUNT = SYNTHETIC_SIZE / 4 };
    void *memory = NULL, *changed = NULL;
    TRY(memory_map(SYNTHETIC_SIZE, &memory));
    TRY(memory_map(SYNTHETIC_SIZE, &changed));
    float *normal = memory, *other = changed;
    uint8_t *half = NULL, *brain = NULL;
    for (size_t i = 0; i < COUNT; i++) normal[i] = random_normal();
    TRY(convert_16(normal, COUNT, dtype_scalar_float16, &half));
    TRY(convert_16(normal, COUNT, dtype_scalar_bfloat16, &brain));
    TRY(run((Data){"normal fp32", CHUNK_FILTER_FLOAT32, memory, SYNTHETIC_SIZE, 1.203, 3.5, 7.8}));
    TRY(run((Data){"normal fp16", CHUNK_FILTER_FLOAT16, half, SYNTHETIC_SIZE / 2, 0, 0, 0}));
    TRY(run((Data){"normal bf16", CHUNK_FILTER_BFLOAT16, brain, SYNTHETIC_SIZE / 2, 0, 0, 0}));
    for (size_t i = 0; i < COUNT; i++) other[i] = normal[i] > 0 ? normal[i] : 0;
    TRY(run(
        (Data){"half zeros fp32", CHUNK_FILTER_FLOAT32, changed, SYNTHETIC_SIZE, 1.91, 1.12, 2.5}));
    for (size_t i = 0; i < COUNT; i++) other[i] = random_bits() % 20 ? 0 : normal[i];
    TRY(run((Data){
        "5 % not zero fp32", CHUNK_FILTER_FLOAT32, changed, SYNTHETIC_SIZE, 14.1, 1.44, 3.0}));
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t bits = (uint32_t)dtype_scalar_bfloat16(normal[i]) << 16;
        memcpy(&other[i], &bits, sizeof bits);
    }
    TRY(run((Data){
        "bf16 values as fp32", CHUNK_FILTER_FLOAT32, changed, SYNTHETIC_SIZE, 3.0, 1.47, 2.9}));
    for (size_t i = 0; i < COUNT / 2; i++)
        ((int64_t *)changed)[i] = (int64_t)(random_bits() % 30000);
    TRY(run(
        (Data){"token ids int64", CHUNK_FILTER_WORD64, changed, SYNTHETIC_SIZE, 4.28, 2.2, 2.6}));
    for (size_t i = 0; i < COUNT / 2; i++) ((uint64_t *)changed)[i] = random_bits();
    TRY(run((Data){"random bytes", CHUNK_FILTER_BYTES, changed, SYNTHETIC_SIZE, 1.0, 22, 24}));
    memory_unmap(memory, SYNTHETIC_SIZE);
    memory_unmap(changed, SYNTHETIC_SIZE);
    memory_unmap(half, SYNTHETIC_SIZE / 2);
    memory_unmap(brain, SYNTHETIC_SIZE / 2);
    return NULL;
}

static void quantise(const NamedArray *array, int8_t *out) {
    const float *values = (const float *)(const void *)array->data;
    float largest = 0;
    for (uint64_t i = 0; i < array->size / 4; i++) largest = fmaxf(largest, fabsf(values[i]));
    for (uint64_t i = 0; i < array->size / 4; i++)
        out[i] = (int8_t)(largest > 0 ? lrintf(values[i] / largest * 127) : 0);
}

/* The float32 arrays of a file behind each other, up to WEIGHTS_SIZE. */
static Error *run_weights(const char *path) {
    uint8_t *file = NULL, *half = NULL, *brain = NULL;
    size_t file_size = 0, size = 0;
    void *memory = NULL, *bytes = NULL;
    ArrayList OWN_ARRAYS(arrays) = {0};
    TRY(file_read(path, SIZE_MAX, &file, &file_size));
    TRY_WRAP(safetensors_read(file, file_size, &arrays), "%s", path);
    memory_unmap(file, file_size);
    TRY(memory_map(WEIGHTS_SIZE, &memory));
    TRY(memory_map(WEIGHTS_SIZE / 4, &bytes));
    for (size_t i = 0; i < arrays.count; i++) {
        const NamedArray *array = &arrays.items[i];
        if (array->dtype != DTYPE_FLOAT32 || array->size > WEIGHTS_SIZE - size) continue;
        memcpy((char *)memory + size, array->data, array->size);
        quantise(array, (int8_t *)bytes + size / 4);
        size += array->size;
    }
    if (size == 0) FAIL(INVALID, "%s has no float32 arrays", path);
    TRY(convert_16(memory, size / 4, dtype_scalar_bfloat16, &brain));
    TRY(convert_16(memory, size / 4, dtype_scalar_float16, &half));
    TRY(run((Data){"weights fp32", CHUNK_FILTER_FLOAT32, memory, size, 1.217, 3.2, 7.07}));
    TRY(run((Data){"weights bf16", CHUNK_FILTER_BFLOAT16, brain, size / 2, 1.504, 2.25, 5.15}));
    TRY(run((Data){"weights fp16", CHUNK_FILTER_FLOAT16, half, size / 2, 1.179, 2.56, 4.4}));
    TRY(run(
        (Data){"weights int8 per tensor", CHUNK_FILTER_BYTES, bytes, size / 4, 1.622, 1.44, 2.66}));
    memory_unmap(memory, WEIGHTS_SIZE);
    memory_unmap(bytes, WEIGHTS_SIZE / 4);
    memory_unmap(half, size / 2);
    memory_unmap(brain, size / 2);
    return NULL;
}

int main(int argument_count, char **arguments) {
    puts("| data | ratio | encode GB/s | decode GB/s | zstd 1: ratio | encode | decode | memcpy | "
         "reference: ratio, encode, decode |\n| --- | --- | --- | --- | --- | --- | --- | --- | "
         "--- |");
    Error *error = argument_count > 1 ? run_weights(arguments[1]) : NULL;
    if (!error) error = run_synthetic();
    if (error) fprintf(stderr, "%s\n", error_message(error));
    int code = error_info(error_code(error))->exit_code;
    error_free(error);
    return code;
}
