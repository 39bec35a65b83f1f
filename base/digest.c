#include "base/digest.h"

#include <string.h>
#include <xxhash.h>
#ifdef __x86_64__
#include <xxh_x86dispatch.h> /* the same hashes with AVX2 or AVX-512, chosen at run time: 2 to 4 times as fast */
#endif

#include "base/allocator.h"
#include "base/library/crypto_library.h"
#include "base/processor.h"
#include "base/text.h"

/* Messages up to this size are hashed by digest_pair.c where the processor has SHA instructions: a
 * short process then needs no libcrypto. */
enum { SMALL_MESSAGE = 64 << 10 };

struct DigestStream {
    SHA256_CTX context;
};

/* The AVX-512 code of libxxhash 0.8.1 leaves the upper halves of the registers set. Every SSE
 * instruction after that preserves these halves and waits for them, which makes SHA-256, zstd and
 * the byte planes up to half slower. */
#ifdef __x86_64__
__attribute__((target("avx"))) static void zero_upper_halves(void) { __builtin_ia32_vzeroupper(); }

static uint64_t with_clean_registers(uint64_t hash) {
    if (PROCESSOR_HAS(AVX)) zero_upper_halves();
    return hash;
}
#else
static uint64_t with_clean_registers(uint64_t hash) { return hash; }
#endif

uint64_t digest_xxh3(const void *data, size_t size) {
    return with_clean_registers(XXH3_64bits(data, size));
}

uint64_t digest_xxh3_seeded(const void *data, size_t size, uint64_t seed) {
    return with_clean_registers(XXH3_64bits_withSeed(data, size, seed));
}

static Error *hash_small(const void *data, size_t size, Digest *out) {
    Digest both[2];
    if (size == 0) data = ""; /* NULL has no address to add to */
    TRY(digest_sha256_pair((const void *const[]){data, data}, (const size_t[]){size, 0}, both));
    *out = both[0];
    return NULL;
}

Error *digest_sha256(const void *data, size_t size, Digest *out) {
    SHA256_CTX context;
    if (size <= SMALL_MESSAGE && digest_has_instructions()) return hash_small(data, size, out);
    TRY(crypto_library_open());
    if (libcrypto.SHA256_Init(&context) != 1 ||
        libcrypto.SHA256_Update(&context, data, size) != 1 ||
        libcrypto.SHA256_Final(out->bytes, &context) != 1)
        FAIL(INTERNAL, "SHA-256 failed");
    return NULL;
}

bool digest_equal(const Digest *a, const Digest *b) {
    return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

void digest_print(const Digest *digest, char out[DIGEST_TEXT_SIZE]) {
    text_hex(digest->bytes, DIGEST_SIZE, out);
}

bool digest_parse(const char *text, Digest *out) {
    return text_parse_hex(text, out->bytes, DIGEST_SIZE);
}

Error *digest_stream_create(DigestStream **out) {
    OWN(DigestStream, stream) = NULL;
    void *memory;
    TRY(crypto_library_open());
    TRY(memory_alloc(1, sizeof *stream, &memory));
    stream = memory;
    if (libcrypto.SHA256_Init(&stream->context) != 1) FAIL(INTERNAL, "SHA-256 failed");
    *out = TAKE(stream);
    return NULL;
}

Error *digest_stream_add(DigestStream *stream, const void *data, size_t size) {
    if (libcrypto.SHA256_Update(&stream->context, data, size) != 1)
        FAIL(INTERNAL, "SHA-256 failed");
    return NULL;
}

Error *digest_stream_finish(DigestStream *stream, Digest *out) {
    if (libcrypto.SHA256_Final(out->bytes, &stream->context) != 1) FAIL(INTERNAL, "SHA-256 failed");
    return NULL;
}

void digest_stream_release(DigestStream *stream) { memory_free(stream); }
