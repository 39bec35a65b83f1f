#include "serialize/arrays/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/text.h"
#include "serialize/arrays/safetensors_header.h"

enum { ALIGNMENT = 8 };

static int compare_begins(const void *a, const void *b) {
    const SafetensorsEntry *left = *(const SafetensorsEntry *const *)a;
    const SafetensorsEntry *right = *(const SafetensorsEntry *const *)b;
    if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
    return (left->end > right->end) - (left->end < right->end); /* empty arrays first */
}

/* Checks that every byte behind the header belongs to exactly one array, so that no more than the
 * file's size is read. */
static Error *check_tiling(const SafetensorsHeader *header, uint64_t size) {
    void *memory = NULL;
    TRY(memory_alloc(header->count, sizeof(SafetensorsEntry *), &memory));
    const SafetensorsEntry **sorted = memory;
    for (size_t i = 0; i < header->count; i++) sorted[i] = &header->entries[i];
    if (header->count > 0) qsort(sorted, header->count, sizeof *sorted, compare_begins);
    uint64_t end = 0;
    const char *bad = NULL;
    for (size_t i = 0; i < header->count && !bad; i++) {
        if (sorted[i]->begin != end) bad = sorted[i]->name;
        end = sorted[i]->end;
    }
    memory_free(sorted);
    if (bad) FAIL(CORRUPT, "array %.80s does not begin where another ends", bad);
    if (end != size)
        FAIL(CORRUPT, "%llu bytes of arrays in a file that has %llu", (unsigned long long)end,
            (unsigned long long)size);
    return NULL;
}

static Error *read_array(const SafetensorsEntry *entry, const uint8_t *bytes, ArrayList *arrays) {
    NamedArray array = {0};
    TRY(named_array_init(&array, entry->name, entry->dtype, &entry->shape));
    if (array.size > 0) memcpy(array.data, bytes + entry->begin, (size_t)array.size);
    Error *error = array.dtype == DTYPE_BOOL ? array_check_bools(array.data, array.size) : NULL;
    if (error) {
        named_array_deinit(&array);
        return error;
    }
    return array_list_add(arrays, &array);
}

static Error *read_arrays(
    const SafetensorsHeader *header, const uint8_t *bytes, size_t size, ArrayList *arrays) {
    TRY(check_tiling(header, size));
    for (size_t i = 0; i < header->count; i++)
        TRY_WRAP(
            read_array(&header->entries[i], bytes, arrays), "array %.80s", header->entries[i].name);
    return array_list_check_names(arrays);
}

Error *safetensors_read(const void *data, size_t size, ArrayList *out_arrays) {
    ByteReader reader = byte_reader(data, size);
    uint64_t header_size = 0;
    TRY(byte_read_u64(&reader, &header_size));
    if (header_size > SAFETENSORS_HEADER_SIZE_MAX || header_size > byte_reader_left(&reader))
        FAIL(CORRUPT, "a header of %llu bytes in a file of %zu", (unsigned long long)header_size,
            size);
    const uint8_t *text = NULL;
    TRY(byte_read_view(&reader, (size_t)header_size, &text));
    SafetensorsHeader header = {0};
    TRY(safetensors_header_parse((const char *)text, (size_t)header_size, &header));
    ArrayList arrays = {0};
    Error *error =
        read_arrays(&header, reader.data + reader.position, byte_reader_left(&reader), &arrays);
    safetensors_header_deinit(&header);
    if (error) {
        array_list_deinit(&arrays);
        return error;
    }
    *out_arrays = arrays;
    return NULL;
}

static void append_json_string(TextBuilder *out, const char *text) {
    text_append(out, "\"");
    for (; *text; text++) {
        uint8_t c = (uint8_t)*text;
        if (c == '"' || c == '\\')
            text_appendf(out, "\\%c", c);
        else if (c < ' ')
            text_appendf(out, "\\u%04x", c);
        else
            text_append_bytes(out, text, 1);
    }
    text_append(out, "\"");
}

static Error *append_entry(TextBuilder *out, const NamedArray *array, uint64_t begin) {
    const char *dtype = safetensors_header_dtype_name(array->dtype);
    if (!dtype)
        FAIL(INVALID, "array %s: safetensors has no element type %s", array->name,
            dtype_name(array->dtype));
    append_json_string(out, array->name);
    text_appendf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (uint32_t i = 0; i < array->shape.rank; i++)
        text_appendf(out, i ? ",%lld" : "%lld", (long long)array->shape.dims[i]);
    text_appendf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
        (unsigned long long)(begin + array->size));
    return NULL;
}

/* The widest elements first, as in the reference implementation, so that all arrays are aligned.
 * Arrays of equal width by name. */
static int compare_order(const void *a, const void *b) {
    const NamedArray *left = *(const NamedArray *const *)a;
    const NamedArray *right = *(const NamedArray *const *)b;
    uint32_t left_bits = dtype_bits(left->dtype), right_bits = dtype_bits(right->dtype);
    if (left_bits != right_bits) return left_bits > right_bits ? -1 : 1;
    return strcmp(left->name, right->name);
}

static Error *write_sorted(const NamedArray *const *sorted, size_t count, FileOutput *output) {
    TextBuilder OWN_TEXT(text) = {0};
    uint64_t begin = 0;
    text_append(&text, "{");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) text_append(&text, ",");
        TRY(append_entry(&text, sorted[i], begin));
        begin += sorted[i]->size;
    }
    text_append(&text, "}");
    while (text.size % ALIGNMENT != 0 && !text.failed) text_append(&text, " ");
    TRY(text_builder_check(&text));
    if (text.size > SAFETENSORS_HEADER_SIZE_MAX) FAIL(INVALID, "too many arrays");
    ByteWriter OWN_BYTES(header) = {0};
    byte_write_u64(&header, text.size);
    byte_write_bytes(&header, text_builder_get(&text), text.size);
    TRY(byte_writer_check(&header));
    TRY(file_output_write(output, header.data, header.size));
    for (size_t i = 0; i < count; i++)
        if (sorted[i]->size > 0)
            TRY(file_output_write(output, sorted[i]->data, (size_t)sorted[i]->size));
    return NULL;
}

Error *safetensors_write(const ArrayList *arrays, FileOutput *output) {
    TRY(array_list_check_names(arrays));
    void *memory = NULL;
    TRY(memory_alloc(arrays->count, sizeof(NamedArray *), &memory));
    const NamedArray **sorted = memory;
    for (size_t i = 0; i < arrays->count; i++) sorted[i] = &arrays->items[i];
    if (arrays->count > 0) qsort(sorted, arrays->count, sizeof *sorted, compare_order);
    Error *error = write_sorted(sorted, arrays->count, output);
    memory_free(sorted);
    return error;
}
