#include "base/bytes.h"

#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/text.h"

ByteReader byte_reader(const void *data, size_t size) { return (ByteReader){data, size, 0}; }

size_t byte_reader_left(const ByteReader *reader) { return reader->size - reader->position; }

Error *byte_read_view(ByteReader *reader, size_t size, const uint8_t **out) {
    size_t left = byte_reader_left(reader);
    if (size > left)
        FAIL(CORRUPT, "ends early: %zu bytes wanted at offset %zu, %zu left", size,
            reader->position, left);
    *out = reader->data + reader->position;
    reader->position += size;
    return NULL;
}

static Error *read_little_endian(ByteReader *reader, size_t size, uint64_t *out) {
    const uint8_t *bytes;
    TRY(byte_read_view(reader, size, &bytes));
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | bytes[i];
    *out = value;
    return NULL;
}

Error *byte_read_u8(ByteReader *reader, uint8_t *out) {
    uint64_t value;
    TRY(read_little_endian(reader, 1, &value));
    *out = (uint8_t)value;
    return NULL;
}

Error *byte_read_u16(ByteReader *reader, uint16_t *out) {
    uint64_t value;
    TRY(read_little_endian(reader, 2, &value));
    *out = (uint16_t)value;
    return NULL;
}

Error *byte_read_u32(ByteReader *reader, uint32_t *out) {
    uint64_t value;
    TRY(read_little_endian(reader, 4, &value));
    *out = (uint32_t)value;
    return NULL;
}

Error *byte_read_u64(ByteReader *reader, uint64_t *out) {
    return read_little_endian(reader, 8, out);
}

Error *byte_read_i64(ByteReader *reader, int64_t *out) {
    uint64_t value;
    TRY(read_little_endian(reader, 8, &value));
    memcpy(out, &value, sizeof value);
    return NULL;
}

Error *byte_read_f64(ByteReader *reader, double *out) {
    uint64_t value;
    TRY(read_little_endian(reader, 8, &value));
    memcpy(out, &value, sizeof value);
    return NULL;
}

Error *byte_read_count(ByteReader *reader, size_t element_size, uint32_t *out) {
    ByteReader ahead = *reader;
    uint32_t count;
    TRY(byte_read_u32(&ahead, &count));
    size_t bytes;
    if (!checked_mul_size(count, element_size, &bytes) || bytes > byte_reader_left(&ahead))
        FAIL(CORRUPT,
            "ends early: %u elements of at least %zu bytes announced at offset %zu, %zu "
            "bytes left",
            count, element_size, reader->position, byte_reader_left(&ahead));
    *reader = ahead;
    *out = count;
    return NULL;
}

Error *byte_read_text(ByteReader *reader, size_t length_max, char **out) {
    ByteReader ahead = *reader;
    uint32_t length;
    TRY(byte_read_count(&ahead, 1, &length));
    if (length > length_max)
        FAIL(CORRUPT, "a text of %u bytes at offset %zu, at most %zu are allowed", length,
            reader->position, length_max);
    const uint8_t *bytes;
    TRY(byte_read_view(&ahead, length, &bytes));
    if (!text_is_utf8((const char *)bytes, length))
        FAIL(CORRUPT, "the text at offset %zu is not UTF-8", reader->position);
    void *copy;
    TRY(memory_alloc((size_t)length + 1, 1, &copy));
    memcpy(copy, bytes, length);
    *reader = ahead;
    *out = copy;
    return NULL;
}

Error *byte_reader_check_end(const ByteReader *reader) {
    if (byte_reader_left(reader) > 0)
        FAIL(CORRUPT, "%zu bytes too many after offset %zu", byte_reader_left(reader),
            reader->position);
    return NULL;
}

void byte_writer_deinit(ByteWriter *writer) {
    memory_free(writer->data);
    *writer = (ByteWriter){0};
}

void byte_write_bytes(ByteWriter *writer, const void *data, size_t size) {
    if (writer->failed || size == 0) return;
    size_t needed;
    if (!checked_add_size(writer->size, size, &needed)) {
        writer->failed = 1;
        return;
    }
    if (needed > writer->capacity) {
        size_t capacity = writer->capacity ? writer->capacity : 64;
        while (capacity < needed) capacity *= 2;
        void *grown = writer->data;
        Error *error = memory_resize(&grown, capacity, 1);
        if (error) {
            error_free(error); /* reported by byte_writer_check */
            writer->failed = 1;
            return;
        }
        writer->data = grown;
        writer->capacity = capacity;
    }
    memcpy(writer->data + writer->size, data, size);
    writer->size = needed;
}

static void write_little_endian(ByteWriter *writer, uint64_t value, size_t size) {
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> (8 * i));
    byte_write_bytes(writer, bytes, size);
}

void byte_write_u8(ByteWriter *writer, uint8_t value) { write_little_endian(writer, value, 1); }
void byte_write_u16(ByteWriter *writer, uint16_t value) { write_little_endian(writer, value, 2); }
void byte_write_u32(ByteWriter *writer, uint32_t value) { write_little_endian(writer, value, 4); }
void byte_write_u64(ByteWriter *writer, uint64_t value) { write_little_endian(writer, value, 8); }
void byte_write_i64(ByteWriter *writer, int64_t value) {
    write_little_endian(writer, (uint64_t)value, 8);
}
void byte_write_f64(ByteWriter *writer, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    write_little_endian(writer, bits, 8);
}

void byte_write_text(ByteWriter *writer, const char *text) {
    size_t length = strlen(text);
    if (length > UINT32_MAX) {
        writer->failed = 1;
        return;
    }
    byte_write_u32(writer, (uint32_t)length);
    byte_write_bytes(writer, text, length);
}

void byte_patch_u32(ByteWriter *writer, size_t position, uint32_t value) {
    if (writer->failed || position + 4 > writer->size) return;
    for (size_t i = 0; i < 4; i++) writer->data[position + i] = (uint8_t)(value >> (8 * i));
}

Error *byte_writer_check(const ByteWriter *writer) {
    if (writer->failed)
        FAIL(OUT_OF_MEMORY, "no memory for a buffer beyond %zu bytes", writer->size);
    return NULL;
}
