#include <inttypes.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "serialize/relax/relax_internal.h"
#include "vm/code/executable.h"

/* Bytes that a record takes at least. */
enum { FUNCTION_BYTES_MIN = 52, SCOPE_BYTES_MIN = 16, CONSTANT_BYTES_MIN = 8, NAMES_MAX = 1 << 24 };

static const int32_t constant_tags[RELAX_GENERATION_COUNT][RELAX_CONSTANT_KIND_COUNT] = {
    /* tensor, shape, string, int, float, dtype */
    [RELAX_TVM_0_16] = {0, 2, 3, 4, 5, 1},
    [RELAX_TVM_0_21] = {72, 71, 65, 1, 3, 5},
    [RELAX_TVM_0_22] = {70, 69, 65, 1, 3, 5},
    [RELAX_TVM_0_23] = {70, 69, 65, 1, 3, 5},
};

int32_t relax_constant_tag(RelaxGeneration generation, RelaxConstantKind kind) {
    return constant_tags[generation][kind];
}

static Error *read_i32(ByteReader *reader, int32_t *out) {
    uint32_t word;
    TRY(byte_read_u32(reader, &word));
    *out = (int32_t)word;
    return NULL;
}

/* A count of elements of at least element_size bytes; refused where fewer bytes are left. */
static Error *read_count(
    ByteReader *reader, size_t element_size, uint64_t count_max, const char *what, uint64_t *out) {
    uint64_t count;
    TRY_WRAP(byte_read_u64(reader, &count), "%s", what);
    if (count > byte_reader_left(reader) / element_size)
        FAIL(CORRUPT, "%" PRIu64 " %s, but only %zu bytes are left", count, what,
            byte_reader_left(reader));
    if (count > count_max)
        FAIL(CORRUPT, "%" PRIu64 " %s; there may be %" PRIu64, count, what, count_max);
    *out = count;
    return NULL;
}

static Error *read_text(ByteReader *reader, const char *what, RelaxText *out) {
    uint64_t size;
    const uint8_t *data;
    TRY(read_count(reader, 1, SIZE_MAX, what, &size));
    TRY(byte_read_view(reader, (size_t)size, &data));
    *out = (RelaxText){(const char *)data, (size_t)size};
    return NULL;
}

/* count words of eight bytes, which stay where they are. */
static Error *read_words(ByteReader *reader, uint64_t count, const uint8_t **out) {
    if (count > byte_reader_left(reader) / 8)
        FAIL(CORRUPT, "%" PRIu64 " words, but only %zu bytes are left", count,
            byte_reader_left(reader));
    return byte_read_view(reader, (size_t)count * 8, out);
}

static Error *read_function(ByteReader *reader, RelaxGlobal *out) {
    void *memory;
    TRY(read_i32(reader, &out->kind));
    TRY(read_text(reader, "bytes of a name", &out->name));
    TRY(byte_read_i64(reader, &out->start));
    TRY(byte_read_i64(reader, &out->end));
    TRY(byte_read_i64(reader, &out->argument_count));
    TRY(byte_read_i64(reader, &out->register_count));
    uint64_t count;
    TRY(read_count(reader, sizeof(uint64_t), NAMES_MAX, "names of parameters", &count));
    if (count == 0) return NULL;
    TRY(memory_alloc(count, sizeof(RelaxText), &memory));
    out->parameter_names = memory;
    for (; out->parameter_name_count < count; out->parameter_name_count++)
        TRY(read_text(reader, "bytes of a parameter's name",
            &out->parameter_names[out->parameter_name_count]));
    return NULL;
}

static Error *read_functions(ByteReader *reader, RelaxFile *file) {
    void *memory;
    uint64_t count;
    TRY(read_count(reader, FUNCTION_BYTES_MIN, EXECUTABLE_FUNCTIONS_MAX, "functions", &count));
    TRY(memory_alloc(count, sizeof(RelaxGlobal), &memory));
    file->functions = memory;
    for (; file->function_count < count;) {
        uint64_t index = file->function_count++; /* released even when half read */
        TRY_WRAP(read_function(reader, &file->functions[index]), "function %" PRIu64, index);
    }
    return NULL;
}

static Error *read_scopes(ByteReader *reader, RelaxFile *file) {
    void *memory;
    uint64_t count;
    TRY(read_count(reader, SCOPE_BYTES_MIN, EXECUTABLE_CONSTANTS_MAX, "memory scopes", &count));
    TRY(memory_alloc(count, sizeof(RelaxScope), &memory));
    file->scopes = memory;
    for (; file->scope_count < count; file->scope_count++) {
        RelaxScope *scope = &file->scopes[file->scope_count];
        TRY(byte_read_i64(reader, &scope->constant));
        TRY(read_text(reader, "bytes of a memory scope", &scope->scope));
    }
    return NULL;
}

static Error *read_dtype(ByteReader *reader, RelaxDType *out) {
    TRY(byte_read_u8(reader, &out->code));
    TRY(byte_read_u8(reader, &out->bits));
    return byte_read_u16(reader, &out->lanes);
}

/* The bytes that a tensor of that shape has in a file. */
static Error *expected_size(const RelaxTensor *tensor, uint64_t *out) {
    uint64_t size = (uint64_t)(tensor->dtype.bits + 7) / 8;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        int64_t dim = relax_word(tensor->shape, i);
        if (dim < 0) FAIL(CORRUPT, "dimension %u is %" PRIi64, i, dim);
        if (!checked_mul_u64(size, (uint64_t)dim, &size) || size > INT64_MAX)
            FAIL(CORRUPT, "the sizes of its dimensions overflow");
    }
    *out = size;
    return NULL;
}

static Error *read_tensor(ByteReader *reader, bool outline, RelaxTensor *out) {
    uint64_t magic, expected;
    int32_t device, device_index;
    int64_t size;
    TRY(byte_read_u64(reader, &magic));
    if (magic != RELAX_TENSOR_MAGIC) FAIL(CORRUPT, "a tensor starts with %#" PRIx64, magic);
    TRY(byte_read_u64(reader, &out->reserved));
    TRY(read_i32(reader, &device));
    TRY(read_i32(reader, &device_index));
    if (device != RELAX_DEVICE_CPU || device_index != 0)
        FAIL(CORRUPT, "a tensor on device %d:%d, not on the CPU", device, device_index);
    TRY(byte_read_u32(reader, &out->rank));
    if (out->rank > RELAX_TENSOR_RANK_MAX) FAIL(CORRUPT, "a tensor of rank %u", out->rank);
    TRY(read_dtype(reader, &out->dtype));
    TRY(read_words(reader, out->rank, &out->shape));
    TRY(byte_read_i64(reader, &size));
    TRY(expected_size(out, &expected));
    if (size < 0 || (uint64_t)size != expected)
        FAIL(CORRUPT, "%" PRIi64 " bytes of data; its shape and element type need %" PRIu64, size,
            expected);
    out->size = expected;
    if (outline) return NULL;
    if (out->size > byte_reader_left(reader))
        FAIL(CORRUPT, "%" PRIu64 " bytes of data, but only %zu are left", out->size,
            byte_reader_left(reader));
    return byte_read_view(reader, (size_t)out->size, &out->data);
}

static Error *find_kind(const RelaxFile *file, int32_t tag, RelaxConstantKind *out) {
    for (int kind = 0; kind < RELAX_CONSTANT_KIND_COUNT; kind++) {
        if (constant_tags[file->generation][kind] != tag) continue;
        *out = (RelaxConstantKind)kind;
        return NULL;
    }
    FAIL(CORRUPT, "unknown tag %d", tag);
}

static Error *read_constant(
    ByteReader *reader, const RelaxFile *file, bool outline, RelaxConstant *out) {
    int32_t tag;
    TRY(read_i32(reader, &tag));
    TRY(find_kind(file, tag, &out->kind));
    switch (out->kind) {
    case RELAX_TENSOR:
        return read_tensor(reader, outline, &out->tensor);
    case RELAX_SHAPE:
        TRY(read_count(reader, 8, SIZE_MAX, "dimensions", &out->shape.rank));
        return read_words(reader, out->shape.rank, &out->shape.dims);
    case RELAX_STRING:
        return read_text(reader, "bytes of a string", &out->string);
    case RELAX_INT:
        return byte_read_i64(reader, &out->integer);
    case RELAX_FLOAT:
        return byte_read_f64(reader, &out->real);
    case RELAX_DTYPE:
        return read_dtype(reader, &out->dtype);
    case RELAX_CONSTANT_KIND_COUNT:
        break;
    }
    FAIL(INTERNAL, "constant kind %u", (unsigned)out->kind);
}

static Error *read_constants(ByteReader *reader, RelaxFile *file, bool outline) {
    void *memory;
    uint64_t count;
    TRY(read_count(reader, CONSTANT_BYTES_MIN, EXECUTABLE_CONSTANTS_MAX, "constants", &count));
    TRY(memory_alloc(count, sizeof(RelaxConstant), &memory));
    file->constants = memory;
    for (; file->constant_count < count; file->constant_count++)
        TRY_WRAP(read_constant(reader, file, outline, &file->constants[file->constant_count]),
            "constant %" PRIu64, file->constant_count);
    return NULL;
}

static Error *read_code(ByteReader *reader, RelaxFile *file) {
    const uint64_t words_max = EXECUTABLE_CODE_WORDS_MAX;
    TRY(read_count(reader, 8, words_max, "instructions", &file->instruction_count));
    TRY(read_words(reader, file->instruction_count, &file->offsets));
    TRY(read_count(reader, 8, words_max, "words of code", &file->word_count));
    return read_words(reader, file->word_count, &file->words);
}

/* Reads everything behind the header as a file of the generation in file->generation. */
static Error *read_content(ByteReader *reader, RelaxFile *file, bool outline) {
    TRY(read_functions(reader, file));
    if (file->generation == RELAX_TVM_0_23) TRY(read_scopes(reader, file));
    TRY(read_constants(reader, file, outline));
    TRY(read_code(reader, file));
    return relax_verify(file);
}

/* The magic number, behind a length in older files. */
static Error *read_magic(ByteReader *reader, bool outline, RelaxFile *file, bool *out_newer) {
    uint64_t magic;
    TRY(byte_read_u64(reader, &magic));
    file->length_first = magic != RELAX_MAGIC_1 && magic != RELAX_MAGIC_2;
    if (file->length_first) {
        const uint64_t length = magic;
        file->length = length;
        TRY(byte_read_u64(reader, &magic));
        if (magic != RELAX_MAGIC_1 && magic != RELAX_MAGIC_2)
            FAIL(CORRUPT, "no Relax executable: it starts with %#" PRIx64, length);
        size_t left = byte_reader_left(reader) + sizeof magic;
        if (length < sizeof magic)
            FAIL(CORRUPT, "%" PRIu64 " bytes of content; the number it begins with has 8", length);
        if (!outline && length > left)
            FAIL(CORRUPT, "%" PRIu64 " bytes of content, but only %zu are left", length, left);
        if (!outline) reader->size = reader->position - sizeof magic + (size_t)length;
    }
    *out_newer = magic == RELAX_MAGIC_2;
    return NULL;
}

static Error *read_version(ByteReader *reader) {
    RelaxText version;
    TRY(read_text(reader, "bytes of the version", &version));
    if (version.size == strlen(RELAX_VERSION) &&
        memcmp(version.data, RELAX_VERSION, version.size) == 0)
        return NULL;
    FAIL(UNSUPPORTED,
        "a Relax executable of format \"%.*s\"; this version reads \"" RELAX_VERSION "\"",
        version.size > 16 ? 16 : (int)version.size, version.data);
}

/* The generations that a file of that head may belong to, the likeliest first. Neither the magic
 * number nor the version tells them apart: the tags of the constants do. */
static size_t find_candidates(bool length_first, bool newer, RelaxGeneration out[3]) {
    if (newer) {
        out[0] = RELAX_TVM_0_23;
        return 1;
    }
    out[0] = length_first ? RELAX_TVM_0_16 : RELAX_TVM_0_22;
    out[1] = RELAX_TVM_0_21;
    out[2] = length_first ? RELAX_TVM_0_22 : RELAX_TVM_0_16;
    return 3;
}

static void forget_content(RelaxFile *file) {
    for (uint64_t i = 0; i < file->function_count; i++)
        memory_free(file->functions[i].parameter_names);
    memory_free(file->functions);
    memory_free(file->scopes);
    memory_free(file->constants);
    *file = (RelaxFile){.length_first = file->length_first, .length = file->length};
}

/* Reads the file as one of each candidate; the first error counts, since it is the likeliest's. */
static Error *read_candidates(ByteReader *reader, bool newer, bool outline, RelaxFile *file) {
    RelaxGeneration candidates[3];
    size_t count = find_candidates(file->length_first, newer, candidates);
    const size_t start = reader->position;
    Error *first = NULL;
    for (size_t i = 0; i < count; i++) {
        reader->position = start;
        file->generation = candidates[i];
        Error *error = read_content(reader, file, outline);
        if (!error) {
            error_free(first); /* the file is of another generation */
            return NULL;
        }
        forget_content(file);
        if (first)
            error_free(error); /* the likeliest generation's is told */
        else
            first = error;
    }
    return first;
}

Error *relax_file_read(const void *data, size_t size, bool outline, RelaxFile **out) {
    void *memory;
    bool newer;
    ByteReader reader = byte_reader(data, size);
    TRY(memory_alloc(1, sizeof(RelaxFile), &memory));
    OWN(RelaxFile, file) = memory;
    TRY(read_magic(&reader, outline, file, &newer));
    TRY(read_version(&reader));
    TRY(read_candidates(&reader, newer, outline, file));
    file->trailing = reader.data + reader.position;
    file->trailing_size = size - reader.position;
    *out = TAKE(file);
    return NULL;
}

bool relax_file_probe(const void *data, size_t size) {
    const uint8_t *bytes = data;
    for (size_t at = 0; at <= 8; at += 8) {
        if (size < at + 16) return false;
        uint64_t magic = (uint64_t)relax_word(bytes + at, 0);
        /* Relay's executables begin with the same number, and another version */
        if ((magic == RELAX_MAGIC_1 || magic == RELAX_MAGIC_2) && size >= at + 20 &&
            relax_word(bytes + at, 1) == (int64_t)strlen(RELAX_VERSION) &&
            memcmp(bytes + at + 16, RELAX_VERSION, strlen(RELAX_VERSION)) == 0)
            return true;
    }
    return false;
}

void relax_file_release(RelaxFile *file) {
    if (!file) return;
    forget_content(file);
    memory_free(file);
}
