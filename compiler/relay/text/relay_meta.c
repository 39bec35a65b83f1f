#include "compiler/relay/text/relay_meta.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "kernels/device/device.h"

enum { META_DEPTH_MAX = 32, META_CONSTANTS_MAX = 1 << 20 };
#define ARRAY_MAGIC UINT64_C(0xDD5E40F096B4A13F)

static int sextet(char c) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

/* Decodes base64 into memory of the caller's. */
static Error *decode(const char *text, size_t size, uint8_t **out, size_t *out_size) {
    void *memory;
    uint32_t bits = 0, count = 0;
    size_t written = 0;
    while (size > 0 && text[size - 1] == '=') size--;
    TRY(memory_alloc(size / 4 * 3 + 4, 1, &memory));
    uint8_t *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        const int value = sextet(text[i]);
        if (value < 0) {
            memory_free(memory);
            FAIL(INVALID, "an array's base64 has the byte 0x%02x", (unsigned)(uint8_t)text[i]);
        }
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes[written++] = (uint8_t)(bits >> count);
    }
    *out = bytes;
    *out_size = written;
    return NULL;
}

/* The record of an array: magic, reserved, device, rank, element type, dims, bytes. */
static Error *read_head(ByteReader *reader, DType *out_dtype, Shape *out_shape) {
    uint64_t magic, reserved;
    uint32_t device, number, rank;
    uint8_t code, bits;
    uint16_t lanes;
    TRY(byte_read_u64(reader, &magic));
    TRY(byte_read_u64(reader, &reserved));
    TRY(byte_read_u32(reader, &device));
    TRY(byte_read_u32(reader, &number));
    TRY(byte_read_u32(reader, &rank));
    TRY(byte_read_u8(reader, &code));
    TRY(byte_read_u8(reader, &bits));
    TRY(byte_read_u16(reader, &lanes));
    if (magic != ARRAY_MAGIC) FAIL(INVALID, "an array does not begin as one");
    if (rank > SHAPE_RANK_MAX) FAIL(INVALID, "an array of %u dimensions", rank);
    *out_dtype = code == 1 && bits == 1 ? DTYPE_BOOL : dtype_from_dlpack(code, bits, lanes);
    if (*out_dtype == DTYPE_NONE || dtype_bits(*out_dtype) % 8 != 0)
        FAIL(INVALID, "an array of unknown elements, code %u, %u bits", code, bits);
    *out_shape = (Shape){.rank = rank};
    for (uint32_t i = 0; i < rank; i++) TRY(byte_read_i64(reader, &out_shape->dims[i]));
    for (uint32_t i = 0; i < rank; i++)
        if (out_shape->dims[i] < 0) FAIL(INVALID, "an array has a negative dimension");
    return NULL;
}

static Error *read_array(const uint8_t *bytes, size_t size, Tensor **out) {
    ByteReader reader = byte_reader(bytes, size);
    DType dtype;
    Shape shape;
    int64_t stated, count;
    const uint8_t *data;
    TRY(read_head(&reader, &dtype, &shape));
    TRY(byte_read_i64(&reader, &stated));
    TRY(shape_count(&shape, &count));
    const uint64_t wanted = (uint64_t)count * (dtype_bits(dtype) / 8);
    if (stated < 0 || (uint64_t)count > UINT64_MAX / 16 || (uint64_t)stated != wanted ||
        wanted != byte_reader_left(&reader))
        FAIL(INVALID, "an array states %lld bytes, its shape needs %llu and it has %zu",
            (long long)stated, (unsigned long long)wanted, byte_reader_left(&reader));
    TRY(byte_read_view(&reader, (size_t)wanted, &data));
    TRY(tensor_create_on_host(device_host(), dtype, &shape, out));
    if (wanted > 0) memcpy(tensor_data(*out), data, (size_t)wanted);
    if (dtype == DTYPE_BOOL)
        for (uint64_t i = 0; i < wanted; i++) ((uint8_t *)tensor_data(*out))[i] = data[i] != 0;
    return NULL;
}

static Error *read_text(const char *text, size_t size, Tensor **out) {
    uint8_t *bytes;
    size_t count;
    TRY(decode(text, size, &bytes, &count));
    Error *error = read_array(bytes, count, out);
    memory_free(bytes);
    return error;
}

static json_object *member(const json_object *object, const char *name) {
    json_object *found = NULL;
    if (!json_object_is_type(object, json_type_object)) return NULL;
    (void)json_object_object_get_ex(object, name, &found);
    return found;
}

/* An entry of an array by a number that may be written as a text. NULL: there is none. */
static json_object *entry(json_object *array, json_object *number) {
    if (!json_object_is_type(array, json_type_array) || !number) return NULL;
    const int64_t index = json_object_get_int64(number);
    if (index < 0 || (uint64_t)index >= json_object_array_length(array)) return NULL;
    return json_object_array_get_idx(array, (size_t)index);
}

/* The list of constants: root is a map from the name relay.Constant to it. */
static json_object *find_constants(json_object *nodes, json_object *root) {
    json_object *map = entry(nodes, root), *keys = member(map, "keys"), *data = member(map, "data");
    if (!json_object_is_type(keys, json_type_array) || !json_object_is_type(data, json_type_array))
        return NULL;
    for (size_t i = 0; i < json_object_array_length(keys); i++) {
        const char *key = json_object_get_string(json_object_array_get_idx(keys, i));
        if (!key || i >= json_object_array_length(data)) break;
        if (strcmp(key, "relay.Constant") != 0 && strcmp(key, "Constant") != 0) continue;
        return member(entry(nodes, json_object_array_get_idx(data, i)), "data");
    }
    return NULL;
}

static Error *read_constants(RelayProgram *program, json_object *json) {
    json_object *nodes = member(json, "nodes"), *arrays = member(json, "b64ndarrays");
    json_object *list = find_constants(nodes, member(json, "root"));
    if (!json_object_is_type(list, json_type_array))
        FAIL(INVALID, "the metadata has no list of relay.Constant");
    const size_t count = json_object_array_length(list);
    if (count > META_CONSTANTS_MAX) FAIL(INVALID, "the metadata has %zu constants", count);
    TRY(relay_new(program, count, sizeof *program->meta, &program->meta));
    for (size_t i = 0; i < count; i++) {
        json_object *node = entry(nodes, json_object_array_get_idx(list, i));
        json_object *text = entry(arrays, member(member(node, "attrs"), "data"));
        Tensor *tensor;
        if (!json_object_is_type(text, json_type_string))
            FAIL(INVALID, "constant %zu of the metadata has no array", i);
        TRY_WRAP(read_text(json_object_get_string(text), (size_t)json_object_get_string_len(text),
                     &tensor),
            "constant %zu of the metadata", i);
        program->meta[i] = tensor;
        program->meta_count = i + 1;
        TRY(relay_program_keep(program, tensor));
    }
    return NULL;
}

Error *relay_meta_read(RelayProgram *program, const RelayTokens *tokens) {
    const size_t left = (size_t)(tokens->end - tokens->at);
    const char *from = left > 0 ? memchr(tokens->at, '{', left) : NULL;
    if (!from || tokens->end - from > INT_MAX)
        FAIL(INVALID, RELAY_AT ": the metadata section has no JSON", RELAY_PLACE(tokens->place));
    json_tokener *tokener = json_tokener_new_ex(META_DEPTH_MAX);
    if (!tokener) FAIL(OUT_OF_MEMORY, "no memory for the metadata section");
    json_object *json = json_tokener_parse_ex(tokener, from, (int)(tokens->end - from));
    json_tokener_free(tokener);
    Error *error = NULL;
    if (!json)
        error = error_make(ERROR_INVALID, __FILE__, __LINE__, "the metadata section is no JSON");
    else
        error = read_constants(program, json);
    json_object_put(json);
    if (error_code(error) == ERROR_CORRUPT) error = error_recode(error, ERROR_INVALID);
    return error_wrap(error, RELAY_AT, RELAY_PLACE(tokens->place));
}
