#pragma once
/* A growing set of digests, each with a number: the chunks that an upload has seen and their sizes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"

typedef struct DigestSetEntry {
    Digest digest;
    uint64_t value; /* 0 marks a free place */
} DigestSetEntry;

typedef struct DigestSet {
    DigestSetEntry *entries;
    size_t count;
    size_t capacity; /* 0 or a power of two */
} DigestSet;

void digest_set_deinit(DigestSet *set);
#define OWN_DIGEST_SET(name) __attribute__((cleanup(digest_set_deinit))) name

/* 0 when absent. */
uint64_t digest_set_find(const DigestSet *set, const Digest *digest);
/* Keeps the old value of a digest that is there. value must not be 0. */
MUST_CHECK Error *digest_set_add(DigestSet *set, const Digest *digest, uint64_t value);
