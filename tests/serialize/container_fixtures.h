#pragma once
/* A small executable to read, damage and forge. */
#include "serialize/container/container.h"
#include "tests/serialize/serialize_fixtures.h"

enum { EXAMPLE_BULK_SIZE = CHUNK_APPEND_SIZE + 1000 };

/* EXAMPLE_BULK_SIZE bytes, always the same. */
const uint8_t *example_bulk(void);
/* Sections globals (empty), code ("code!"), names ("name"); two pieces of bulk data: example_bulk
 * in two chunks, and an empty one. */
void example_container_write(ChunkSink sink, ByteWriter *manifest, Digest *identity);
/* The example as a file in memory. */
void example_container_file(ByteWriter *bytes, Digest *identity);
/* Writes the checksum of data in front of `at`'s 8 bytes. */
void example_repair_checksum(uint8_t *at, const void *data, size_t size);
