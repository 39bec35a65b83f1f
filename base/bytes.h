#pragma once
/* Bounded little-endian reading and growing little-endian writing: the only way bytes from outside
 * are parsed. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Reads from borrowed memory. Every read checks what is left first; on failure nothing is consumed.
 * Errors: CORRUPT "… ends early". */
typedef struct ByteReader {
    const uint8_t *data;
    size_t size;
    size_t position;
} ByteReader;

ByteReader byte_reader(const void *data, size_t size);
size_t byte_reader_left(const ByteReader *reader);
MUST_CHECK Error *byte_read_u8(ByteReader *reader, uint8_t *out);
MUST_CHECK Error *byte_read_u16(ByteReader *reader, uint16_t *out);
MUST_CHECK Error *byte_read_u32(ByteReader *reader, uint32_t *out);
MUST_CHECK Error *byte_read_u64(ByteReader *reader, uint64_t *out);
MUST_CHECK Error *byte_read_i64(ByteReader *reader, int64_t *out);
MUST_CHECK Error *byte_read_f64(ByteReader *reader, double *out);
/* Borrows size bytes of the reader's memory. */
MUST_CHECK Error *byte_read_view(ByteReader *reader, size_t size, const uint8_t **out);
/* A u32 count whose elements take at least element_size bytes each: refused when that many bytes
 * are not left, so that a count can be allocated for before its elements are read. */
MUST_CHECK Error *byte_read_count(ByteReader *reader, size_t element_size, uint32_t *out);
/* A u32 length and that many bytes of UTF-8 without NUL, copied into a NUL-terminated string to
 * memory_free. */
MUST_CHECK Error *byte_read_text(ByteReader *reader, size_t length_max, char **out);
/* CORRUPT unless everything was read. */
MUST_CHECK Error *byte_reader_check_end(const ByteReader *reader);

/* A growing buffer. After a failed write (OUT_OF_MEMORY) later writes do nothing and
 * byte_writer_check reports it, so that a writer of many fields checks once. */
typedef struct ByteWriter {
    uint8_t *data;
    size_t size;
    size_t capacity;
    int failed;
} ByteWriter;

void byte_writer_deinit(ByteWriter *writer);
void byte_write_u8(ByteWriter *writer, uint8_t value);
void byte_write_u16(ByteWriter *writer, uint16_t value);
void byte_write_u32(ByteWriter *writer, uint32_t value);
void byte_write_u64(ByteWriter *writer, uint64_t value);
void byte_write_i64(ByteWriter *writer, int64_t value);
void byte_write_f64(ByteWriter *writer, double value);
void byte_write_bytes(ByteWriter *writer, const void *data, size_t size);
/* u32 length and the bytes; the counterpart of byte_read_text. */
void byte_write_text(ByteWriter *writer, const char *text);
/* Overwrites four bytes written before, for a length known only later. */
void byte_patch_u32(ByteWriter *writer, size_t position, uint32_t value);
MUST_CHECK Error *byte_writer_check(const ByteWriter *writer);

/* Releases the buffer at the end of the scope: ByteWriter OWN_BYTES(writer) = {0}; */
#define OWN_BYTES(name) __attribute__((cleanup(byte_writer_deinit))) name
