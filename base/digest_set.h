#pragma once
/* A growing set of digests, each with a number, such as the chunks of an upload with their sizes.
 * Used by store/, scheduler/executor, scheduler/jobs and scheduler/migration. Pure: no shared
 * state; one thread at a time per set. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"

typedef struct DigestSetEntry {
    Digest digest;
    uint64_t value; /* 0 marks a free entry */
} DigestSetEntry;

typedef struct DigestSet {
    DigestSetEntry *entries;
    size_t count;
    size_t capacity; /* 0 or a power of two */
} DigestSet;

void digest_set_deinit(DigestSet *set);
#define OWN_DIGEST_SET(name) __attribute__((cleanup(digest_set_deinit))) name

/* Returns the number of a digest, 0 when the digest is absent. */
uint64_t digest_set_find(const DigestSet *set, const Digest *digest);
/* Adds a digest. A digest that is present keeps its number. value must not be 0. */
MUST_CHECK Error *digest_set_add(DigestSet *set, const Digest *digest, uint64_t value);
