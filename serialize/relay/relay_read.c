#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "serialize/relay/relay_internal.h"

#define RELAY_MAGIC UINT64_C(0xD225DE2F4214151D)
#define TENSOR_MAGIC UINT64_C(0xDD5E40F096B4A13F)
#define HASH_STEP UINT64_C(0x9e3779b9)

/* Minor versions of TVM 0.x at which the form changed. */
enum {
    FIRST_VERSION = 6,
    PARAMETER_DEVICES = 7,
    ATTRIBUTES = 8,
    DEVICES = 9,
    SCOPES = 14,
    LAST_VERSION = 19
};
enum { HEADER_TEXTS = 3, TEXT_BYTES_MIN = 8, FUNCTION_BYTES_MIN = 48, INSTRUCTION_BYTES_MIN = 24 };
enum { CONSTANT_TENSOR = 0, CONSTANT_LATE = 1, RANK_MAX = 64, ITEMS_MAX = 1 << 20 };

static Error *read_count(ByteReader *reader, size_t element_size, const char *what, uint64_t *out) {
    uint64_t count;
    TRY_WRAP(byte_read_u64(reader, &count), "%s", what);
    if (count > byte_reader_left(reader) / element_size || count > ITEMS_MAX)
        FAIL(CORRUPT, "%" PRIu64 " %s, but only %zu bytes are left", count, what,
            byte_reader_left(reader));
    *out = count;
    return NULL;
}

static Error *read_text(ByteReader *reader, RelayText *out) {
    uint64_t size;
    const uint8_t *data;
    TRY_WRAP(byte_read_u64(reader, &size), "the size of a text");
    if (size > byte_reader_left(reader))
        FAIL(CORRUPT, "a text of %" PRIu64 " bytes, but only %zu are left", size,
            byte_reader_left(reader));
    TRY(byte_read_view(reader, (size_t)size, &data));
    *out = (RelayText){(const char *)data, (size_t)size};
    return NULL;
}

static Error *read_texts(ByteReader *reader, const char *what, RelayTexts *out) {
    void *memory;
    uint64_t count;
    TRY(read_count(reader, TEXT_BYTES_MIN, what, &count));
    TRY(memory_alloc(count, sizeof(RelayText), &memory));
    out->items = memory;
    for (; out->count < count; out->count++) TRY(read_text(reader, &out->items[out->count]));
    return NULL;
}

static Error *read_words(ByteReader *reader, const char *what, RelayWords *out) {
    TRY(read_count(reader, 8, what, &out->count));
    return byte_read_view(reader, (size_t)out->count * 8, &out->words);
}

/* "0.18.0" and the like. */
static Error *read_version(ByteReader *reader, RelayFile *file) {
    char text[16] = {0};
    TRY(read_text(reader, &file->version));
    const RelayText *version = &file->version;
    if (version->size < sizeof text) memcpy(text, version->data, version->size);
    int64_t minor = -1;
    if (memcmp(text, "0.", 2) == 0) {
        text[2 + strspn(text + 2, "0123456789")] = 0;
        (void)text_parse_i64(text + 2, &minor);
    }
    if (minor < FIRST_VERSION || minor > LAST_VERSION)
        FAIL(UNSUPPORTED, "a Relay executable of TVM \"%.*s\"; the Relay VM was in 0.%d to 0.%d",
            version->size > 32 ? 32 : (int)version->size, version->data, FIRST_VERSION,
            LAST_VERSION);
    file->minor = (uint32_t)minor;
    return NULL;
}

static Error *read_devices(ByteReader *reader, RelayFile *file) {
    if (file->minor < DEVICES) return NULL;
    uint32_t word;
    RelayText scope;
    TRY(read_count(reader, 8, "devices", &file->device_count));
    for (uint64_t i = 0; i < file->device_count; i++) {
        TRY(byte_read_u32(reader, &word));
        TRY(byte_read_u32(reader, &word));
        if (file->minor >= SCOPES) TRY(read_text(reader, &scope));
    }
    return byte_read_u32(reader, &word); /* which of them is the host */
}

static Error *read_tensor(ByteReader *reader, RelayConstant *out) {
    uint64_t magic, reserved, size;
    uint32_t device, device_index, rank;
    const uint8_t *data;
    TRY(byte_read_u64(reader, &magic));
    if (magic != TENSOR_MAGIC) FAIL(CORRUPT, "a tensor starts with %#" PRIx64, magic);
    TRY(byte_read_u64(reader, &reserved));
    TRY(byte_read_u32(reader, &device));
    TRY(byte_read_u32(reader, &device_index));
    TRY(byte_read_u32(reader, &rank));
    if (rank > RANK_MAX) FAIL(CORRUPT, "a tensor of rank %u", rank);
    TRY(byte_read_u8(reader, &out->code));
    TRY(byte_read_u8(reader, &out->bits));
    TRY(byte_read_u16(reader, &out->lanes));
    out->shape.count = rank;
    TRY(byte_read_view(reader, (size_t)rank * 8, &out->shape.words));
    TRY(byte_read_u64(reader, &size));
    uint64_t wanted = (uint64_t)(out->bits * out->lanes + 7) / 8;
    for (uint32_t i = 0; i < rank; i++)
        if (!checked_mul_u64(wanted, (uint64_t)relay_word(&out->shape, i), &wanted))
            FAIL(CORRUPT, "the sizes of its dimensions overflow");
    if (size != wanted || size > byte_reader_left(reader))
        FAIL(CORRUPT, "%" PRIu64 " bytes of data where %" PRIu64 " are due and %zu are left", size,
            wanted, byte_reader_left(reader));
    out->size = size;
    return byte_read_view(reader, (size_t)size, &data);
}

static Error *read_constant(ByteReader *reader, uint32_t minor, RelayConstant *out) {
    uint32_t tag = CONSTANT_TENSOR;
    if (minor >= DEVICES) TRY(byte_read_u32(reader, &tag));
    if (tag == CONSTANT_TENSOR) return read_tensor(reader, out);
    if (tag != CONSTANT_LATE) FAIL(CORRUPT, "unknown tag %u", tag);
    out->is_late = true;
    return read_text(reader, &out->name);
}

static Error *read_constants(ByteReader *reader, RelayFile *file) {
    void *memory;
    uint64_t count;
    RelayWords devices;
    TRY(read_count(reader, TEXT_BYTES_MIN, "constants", &count));
    TRY(memory_alloc(count, sizeof(RelayConstant), &memory));
    file->constants = memory;
    for (; file->constant_count < count; file->constant_count++)
        TRY_WRAP(read_constant(reader, file->minor, &file->constants[file->constant_count]),
            "constant %" PRIu64, file->constant_count);
    if (file->minor < PARAMETER_DEVICES) return NULL;
    return read_words(reader, "devices of constants", &devices);
}

static Error *read_primitives(ByteReader *reader, RelayFile *file) {
    RelayText text;
    uint64_t count, pairs, word;
    TRY(read_texts(reader, "packed functions", &file->primitives));
    if (file->minor < ATTRIBUTES) return NULL;
    TRY(read_count(reader, 16, "packed functions with attributes", &count));
    for (uint64_t i = 0; i < count; i++) {
        TRY(byte_read_u64(reader, &word)); /* the packed function */
        TRY(read_count(reader, 2 * TEXT_BYTES_MIN, "attributes", &pairs));
        for (uint64_t pair = 0; pair < 2 * pairs; pair++) TRY(read_text(reader, &text));
    }
    return NULL;
}

uint64_t relay_file_hash(const RelayWords *words) {
    uint64_t key = (uint64_t)relay_word(words, 0);
    for (uint64_t i = 1; i < words->count; i++)
        key ^= (uint64_t)relay_word(words, i) + HASH_STEP + (key << 6) + (key >> 2);
    return key;
}

static Error *read_instruction(ByteReader *reader, uint32_t minor, RelayWords *out) {
    RelayField fields[RELAY_FIELDS_MAX];
    uint32_t count;
    TRY(read_words(reader, "words of an instruction", out));
    if (out->count < 2) FAIL(CORRUPT, "%" PRIu64 " words, not a hash and an opcode", out->count);
    const RelayWords words = {out->words + 8, out->count - 1};
    const uint64_t hash = relay_file_hash(&words), stored = (uint64_t)relay_word(out, 0);
    if (hash != stored)
        FAIL(CORRUPT, "its hash is %#" PRIx64 ", and the file says %#" PRIx64, hash, stored);
    const RelayOpcode opcode = relay_opcode_find(relay_word(&words, 0), minor);
    if (!opcode.name)
        FAIL(CORRUPT, "TVM 0.%u has no opcode %" PRIi64, minor, relay_word(&words, 0));
    return relay_opcode_fields(&opcode, &words, fields, &count);
}

/* A number that is written in decimal digits. */
static Error *read_number(ByteReader *reader, const char *what, uint64_t *out) {
    char digits[24] = {0};
    RelayText text;
    TRY(read_text(reader, &text));
    if (text.size < sizeof digits) memcpy(digits, text.data, text.size);
    if (!text_parse_u64(digits, out)) FAIL(CORRUPT, "%s is no number", what);
    return NULL;
}

static Error *read_function(ByteReader *reader, uint32_t minor, RelayFunction *out) {
    void *memory;
    uint64_t texts, count;
    TRY(read_count(reader, TEXT_BYTES_MIN, "texts of a function", &texts));
    if (texts != HEADER_TEXTS) FAIL(CORRUPT, "%" PRIu64 " texts where 3 are due", texts);
    TRY(read_text(reader, &out->name));
    TRY(read_number(reader, "the count of registers", &out->register_count));
    TRY(read_number(reader, "the count of instructions", &count));
    TRY(read_texts(reader, "parameters", &out->parameters));
    if (minor >= PARAMETER_DEVICES)
        TRY(read_words(reader, "devices of parameters", &out->parameter_devices));
    if (count > byte_reader_left(reader) / INSTRUCTION_BYTES_MIN)
        FAIL(CORRUPT, "%" PRIu64 " instructions, but only %zu bytes are left", count,
            byte_reader_left(reader));
    TRY(memory_alloc(count, sizeof(RelayWords), &memory));
    out->instructions = memory;
    for (; out->instruction_count < count; out->instruction_count++)
        TRY_WRAP(read_instruction(reader, minor, &out->instructions[out->instruction_count]),
            "instruction %" PRIu64, out->instruction_count);
    return NULL;
}

static Error *read_functions(ByteReader *reader, RelayFile *file) {
    void *memory;
    uint64_t count;
    TRY(read_count(reader, FUNCTION_BYTES_MIN, "functions", &count));
    TRY(memory_alloc(count, sizeof(RelayFunction), &memory));
    file->functions = memory;
    while (file->function_count < count) {
        const uint64_t index = file->function_count++; /* released even when half read */
        TRY_WRAP(read_function(reader, file->minor, &file->functions[index]), "function %" PRIu64,
            index);
    }
    return NULL;
}

/* Skips the magic number, and a length in front of it, which the file has inside a library. */
static Error *read_magic(ByteReader *reader) {
    uint64_t magic;
    TRY(byte_read_u64(reader, &magic));
    if (magic != RELAY_MAGIC) TRY(byte_read_u64(reader, &magic));
    if (magic != RELAY_MAGIC) FAIL(CORRUPT, "no Relay executable");
    return NULL;
}

Error *relay_file_read(const void *data, size_t size, RelayFile **out) {
    void *memory;
    ByteReader reader = byte_reader(data, size);
    TRY(memory_alloc(1, sizeof(RelayFile), &memory));
    OWN(RelayFile, file) = memory;
    TRY(read_magic(&reader));
    TRY(read_version(&reader, file));
    TRY(read_devices(&reader, file));
    TRY(read_texts(&reader, "globals", &file->globals));
    TRY(read_constants(&reader, file));
    TRY(read_primitives(&reader, file));
    TRY(read_functions(&reader, file));
    *out = TAKE(file);
    return NULL;
}

bool relay_file_probe(const void *data, size_t size) {
    ByteReader reader = byte_reader(data, size);
    RelayText version;
    Error *error = read_magic(&reader);
    if (!error) error = read_text(&reader, &version);
    const bool found = !error && version.size >= 5 && memcmp(version.data, "0.", 2) == 0;
    error_free(error); /* another kind of file */
    return found;
}

void relay_file_release(RelayFile *file) {
    if (!file) return;
    for (uint64_t i = 0; i < file->function_count; i++) {
        memory_free(file->functions[i].parameters.items);
        memory_free(file->functions[i].instructions);
    }
    memory_free(file->globals.items);
    memory_free(file->primitives.items);
    memory_free(file->constants);
    memory_free(file->functions);
    memory_free(file);
}
