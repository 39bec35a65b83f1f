#include "base/digest_set.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"

enum { CAPACITY_MIN = 64 };

void digest_set_deinit(DigestSet *set) {
    memory_free(set->entries);
    *set = (DigestSet){0};
}

/* The place of the digest, or the free place where it belongs. */
static size_t place(const DigestSetEntry *entries, size_t capacity, const Digest *digest) {
    size_t at = (size_t)digest_xxh3(digest->bytes, DIGEST_SIZE) & (capacity - 1);
    while (entries[at].value != 0 && !digest_equal(&entries[at].digest, digest))
        at = (at + 1) & (capacity - 1);
    return at;
}

uint64_t digest_set_find(const DigestSet *set, const Digest *digest) {
    return set->capacity ? set->entries[place(set->entries, set->capacity, digest)].value : 0;
}

static Error *grow(DigestSet *set) {
    size_t capacity = set->capacity ? set->capacity * 2 : CAPACITY_MIN;
    DigestSetEntry *entries;
    TRY(memory_alloc(capacity, sizeof *entries, (void **)&entries));
    for (size_t i = 0; i < set->capacity; i++)
        if (set->entries[i].value)
            entries[place(entries, capacity, &set->entries[i].digest)] = set->entries[i];
    memory_free(set->entries);
    set->entries = entries;
    set->capacity = capacity;
    return NULL;
}

Error *digest_set_add(DigestSet *set, const Digest *digest, uint64_t value) {
    assert(value != 0);
    if (set->count * 2 >= set->capacity) TRY(grow(set));
    DigestSetEntry *entry = &set->entries[place(set->entries, set->capacity, digest)];
    if (entry->value) return NULL;
    entry->digest = *digest;
    entry->value = value;
    set->count++;
    return NULL;
}
