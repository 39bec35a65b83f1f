#include <string.h>

#include "base/digest.h"
#include "base/processor.h"

/* The rounds of FIPS 180-4, section 6.2.2, by the SHA instructions of x86-64 processors. Each round
 * waits for the one before, so two messages are hashed in turn: a round of one runs while the other
 * waits. */
#ifdef __x86_64__
#include <immintrin.h>

#define SHA_TARGET __attribute__((target("sha,sse4.1")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { BLOCK_SIZE = 64, LANES = 2, WORDS = 4 /* of a vector */, ROUNDS = 64 };

/* FIPS 180-4, section 4.2.2. */
static const uint32_t round_constants[ROUNDS] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
    0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* The words a to h in the order that the SHA instructions need, highest first. */
typedef struct Lane {
    __m128i abef, cdgh;
} Lane;

/* FIPS 180-4, section 5.3.3. */
SHA_TARGET static Lane lane_begin(void) {
    return (Lane){_mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
        _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19)};
}

static void lane_print(const Lane *lane, Digest *out) {
    uint32_t words[2][WORDS];
    memcpy(words[0], &lane->abef, sizeof words[0]);
    memcpy(words[1], &lane->cdgh, sizeof words[1]);
    const uint32_t ordered[] = {words[0][3], words[0][2], words[1][3], words[1][2], words[0][1],
        words[0][0], words[1][1], words[1][0]};
    for (size_t i = 0; i < DIGEST_SIZE; i++)
        out->bytes[i] = (uint8_t)(ordered[i / 4] >> (24 - 8 * (i % 4)));
}

/* A block of one message: the state, and the next sixteen words of the schedule. */
typedef struct Rounds {
    Lane lane;
    __m128i words[WORDS];
} Rounds;

SHA_TARGET ALWAYS_INLINE Rounds rounds_begin(Lane lane, const uint8_t *block) {
    const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    const __m128i *from = (const __m128i *)(const void *)block;
    Rounds rounds = {.lane = lane};
    rounds.words[0] = _mm_shuffle_epi8(_mm_loadu_si128(from), swap);
    rounds.words[1] = _mm_shuffle_epi8(_mm_loadu_si128(from + 1), swap);
    rounds.words[2] = _mm_shuffle_epi8(_mm_loadu_si128(from + 2), swap);
    rounds.words[3] = _mm_shuffle_epi8(_mm_loadu_si128(from + 3), swap);
    return rounds;
}

/* Does four rounds with the words at index `first`, then replaces these words by those that are
 * used sixteen rounds later. */
SHA_TARGET ALWAYS_INLINE void four_rounds(
    Rounds *rounds, const uint32_t *constants, int first, bool more) {
    __m128i *words = rounds->words, last = words[(first + 3) % WORDS];
    __m128i added =
        _mm_add_epi32(words[first], _mm_loadu_si128((const __m128i *)(const void *)constants));
    Lane *lane = &rounds->lane;
    lane->cdgh = _mm_sha256rnds2_epu32(lane->cdgh, lane->abef, added);
    lane->abef = _mm_sha256rnds2_epu32(lane->abef, lane->cdgh, _mm_shuffle_epi32(added, 0x0e));
    if (!more) return;
    __m128i mixed = _mm_add_epi32(_mm_sha256msg1_epu32(words[first], words[(first + 1) % WORDS]),
        _mm_alignr_epi8(last, words[(first + 2) % WORDS], 4));
    words[first] = _mm_sha256msg2_epu32(mixed, last);
}

/* Does sixteen rounds of both messages by turns. The indices of the words are known at compile
 * time. */
SHA_TARGET ALWAYS_INLINE void sixteen_rounds(
    Rounds *a, Rounds *b, const uint32_t *constants, bool more) {
    four_rounds(a, constants, 0, more);
    four_rounds(b, constants, 0, more);
    four_rounds(a, constants + 4, 1, more);
    four_rounds(b, constants + 4, 1, more);
    four_rounds(a, constants + 8, 2, more);
    four_rounds(b, constants + 8, 2, more);
    four_rounds(a, constants + 12, 3, more);
    four_rounds(b, constants + 12, 3, more);
}

SHA_TARGET ALWAYS_INLINE Lane lane_add(Lane a, Lane b) {
    return (Lane){_mm_add_epi32(a.abef, b.abef), _mm_add_epi32(a.cdgh, b.cdgh)};
}

/* Takes in as many blocks of each message. */
SHA_TARGET static void compress(Lane lanes[LANES], const uint8_t *const data[LANES], size_t count) {
    Lane first = lanes[0], second = lanes[1];
    for (size_t at = 0; at < count * BLOCK_SIZE; at += BLOCK_SIZE) {
        Rounds a = rounds_begin(first, data[0] + at), b = rounds_begin(second, data[1] + at);
        sixteen_rounds(&a, &b, round_constants, true);
        sixteen_rounds(&a, &b, round_constants + 16, true);
        sixteen_rounds(&a, &b, round_constants + 32, true);
        sixteen_rounds(&a, &b, round_constants + 48, false);
        first = lane_add(first, a.lane);
        second = lane_add(second, b.lane);
    }
    lanes[0] = first;
    lanes[1] = second;
}

/* Takes in blocks of one message. */
SHA_TARGET static Lane compress_one(Lane lane, const uint8_t *data, size_t count) {
    for (size_t at = 0; at < count * BLOCK_SIZE; at += BLOCK_SIZE) {
        Rounds rounds = rounds_begin(lane, data + at);
        for (int i = 0; i < ROUNDS; i += 4 * WORDS) {
            const bool more = i + 4 * WORDS < ROUNDS;
            four_rounds(&rounds, round_constants + i, 0, more);
            four_rounds(&rounds, round_constants + i + 4, 1, more);
            four_rounds(&rounds, round_constants + i + 8, 2, more);
            four_rounds(&rounds, round_constants + i + 12, 3, more);
        }
        lane = lane_add(lane, rounds.lane);
    }
    return lane;
}

/* FIPS 180-4, section 5.1.1. Returns how many blocks the end of the message and its padding fill.
 */
static size_t pad(const uint8_t *rest, size_t size, uint64_t whole_size, uint8_t *out) {
    size_t blocks = size + 9 <= BLOCK_SIZE ? 1 : 2;
    memset(out, 0, blocks * BLOCK_SIZE);
    if (size > 0) memcpy(out, rest, size);
    out[size] = 0x80;
    for (size_t i = 0; i < 8; i++)
        out[blocks * BLOCK_SIZE - 1 - i] = (uint8_t)(whole_size * 8 >> (8 * i));
    return blocks;
}

SHA_TARGET static void hash_pair(
    const uint8_t *const data[LANES], const size_t sizes[LANES], Digest out[LANES]) {
    Lane lanes[LANES] = {lane_begin(), lane_begin()};
    const size_t both = (sizes[0] < sizes[1] ? sizes[0] : sizes[1]) / BLOCK_SIZE;
    compress(lanes, data, both);
    for (int i = 0; i < LANES; i++) {
        uint8_t end[2 * BLOCK_SIZE];
        const size_t whole = sizes[i] / BLOCK_SIZE;
        lanes[i] = compress_one(lanes[i], data[i] + both * BLOCK_SIZE, whole - both);
        const size_t blocks =
            pad(data[i] + whole * BLOCK_SIZE, sizes[i] % BLOCK_SIZE, sizes[i], end);
        lanes[i] = compress_one(lanes[i], end, blocks);
        lane_print(&lanes[i], &out[i]);
    }
}
#endif

bool digest_has_instructions(void) { return PROCESSOR_HAS(SHA) && PROCESSOR_HAS(SSE4_1); }

Error *digest_sha256_pair(const void *const data[2], const size_t sizes[2], Digest out[2]) {
#ifdef __x86_64__
    if (digest_has_instructions()) {
        hash_pair((const uint8_t *const[]){data[0], data[1]}, sizes, out);
        return NULL;
    }
#endif
    TRY(digest_sha256(data[0], sizes[0], &out[0]));
    return digest_sha256(data[1], sizes[1], &out[1]);
}
