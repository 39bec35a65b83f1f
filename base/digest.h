#pragma once
/* Hashes: XXH3 guards against accidents, SHA-256 names content. Used by every folder that stores or
 * sends bytes. Threads: any; a DigestStream one at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { DIGEST_SIZE = 32, DIGEST_TEXT_SIZE = 65 };

/* SHA-256 of some content, which is its identity everywhere. */
typedef struct Digest {
    uint8_t bytes[DIGEST_SIZE];
} Digest;

uint64_t digest_xxh3(const void *data, size_t size);
uint64_t digest_xxh3_seeded(const void *data, size_t size, uint64_t seed);

MUST_CHECK Error *digest_sha256(const void *data, size_t size, Digest *out);
/* Hashes two contents, interleaved as far as both go: 1.4 times as fast as one after the other on
 * processors with SHA instructions. */
MUST_CHECK Error *digest_sha256_pair(
    const void *const data[2], const size_t sizes[2], Digest out[2]);
/* Returns whether the processor has SHA instructions and hashing does not go through libcrypto. */
bool digest_has_instructions(void);
bool digest_equal(const Digest *a, const Digest *b);
/* Prints lower-case hexadecimal with a terminating NUL. */
void digest_print(const Digest *digest, char out[DIGEST_TEXT_SIZE]);
bool digest_parse(const char *text, Digest *out);

/* SHA-256 of data that comes piece by piece. */
typedef struct DigestStream DigestStream;
MUST_CHECK Error *digest_stream_create(DigestStream **out);
MUST_CHECK Error *digest_stream_add(DigestStream *stream, const void *data, size_t size);
MUST_CHECK Error *digest_stream_finish(DigestStream *stream, Digest *out);
void digest_stream_release(DigestStream *stream);
DEFINE_OWN(DigestStream, digest_stream_release);
