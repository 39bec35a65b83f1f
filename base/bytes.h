#pragma once
/* Bounded little-endian reading and growing little-endian writing: the only way in which bytes from
 * outside are parsed. Used by every folder above. Threads: one at a time per reader or writer. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Reads from memory that it does not own. Every read first checks how much is left; a failed read
 * consumes nothing.
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
/* Returns a pointer to size bytes of the reader's memory. */
MUST_CHECK Error *byte_read_view(ByteReader *reader, size_t size, const uint8_t **out);
/* Reads a u32 count whose elements take at least element_size bytes each. Refuses a count with
 * fewer bytes left, so that memory for the elements can be allocated before they are read. */
MUST_CHECK Error *byte_read_count(ByteReader *reader, size_t element_size, uint32_t *out);
/* Reads a u32 length and that many bytes of UTF-8 without NUL, as a NUL-terminated copy to
 * memory_free. */
MUST_CHECK Error *byte_read_text(ByteReader *reader, size_t length_max, char **out);
/* Returns CORRUPT unless everything was read. */
MUST_CHECK Error *byte_reader_check_end(const ByteReader *reader);

/* A growing buffer. After a failed write (OUT_OF_MEMORY) later writes do nothing, and
 * byte_writer_check reports the failure, so that code which writes many fields checks once. */
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
/* Writes a u32 length and the bytes; the counterpart of byte_read_text. */
void byte_write_text(ByteWriter *writer, const char *text);
/* Overwrites four bytes written before, for a length that is known only later. */
void byte_patch_u32(ByteWriter *writer, size_t position, uint32_t value);
MUST_CHECK Error *byte_writer_check(const ByteWriter *writer);

/* Releases the buffer at the end of the scope: ByteWriter OWN_BYTES(writer) = {0}; */
#define OWN_BYTES(name) __attribute__((cleanup(byte_writer_deinit))) name
