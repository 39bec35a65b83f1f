#include "base/name_map.h"

#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "base/system_random.h"

typedef struct NameMapEntry {
    char *name; /* NULL: free */
    void *value;
    uint64_t hash;
} NameMapEntry;

struct NameMap {
    NameMapEntry *entries;
    size_t capacity; /* a power of two, at most half full */
    size_t count;
    uint64_t seed; /* random: names come from untrusted files, which must not choose collisions */
};

enum { NAME_MAP_CAPACITY_MIN = 16 };

Error *name_map_create(NameMap **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(NameMap), &memory));
    OWN(NameMap, map) = memory;
    TRY(memory_alloc(NAME_MAP_CAPACITY_MIN, sizeof(NameMapEntry), &memory));
    map->entries = memory;
    map->capacity = NAME_MAP_CAPACITY_MIN;
    TRY(system_random(&map->seed, sizeof map->seed));
    *out = TAKE(map);
    return NULL;
}

void name_map_release(NameMap *map) {
    if (!map) return;
    for (size_t i = 0; map->entries && i < map->capacity; i++) memory_free(map->entries[i].name);
    memory_free(map->entries);
    memory_free(map);
}

static NameMapEntry *slot_of(const NameMap *map, const char *name, uint64_t hash) {
    for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
        NameMapEntry *entry = &map->entries[i];
        if (!entry->name || (entry->hash == hash && strcmp(entry->name, name) == 0)) return entry;
    }
}

static Error *enlarge(NameMap *map) {
    size_t old_capacity = map->capacity;
    NameMapEntry *old = map->entries;
    void *memory;
    TRY(memory_alloc(old_capacity * 2, sizeof(NameMapEntry), &memory));
    map->entries = memory;
    map->capacity = old_capacity * 2;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].name) *slot_of(map, old[i].name, old[i].hash) = old[i];
    memory_free(old);
    return NULL;
}

Error *name_map_set(NameMap *map, const char *name, void *value) {
    if ((map->count + 1) * 2 > map->capacity) TRY(enlarge(map));
    uint64_t hash = digest_xxh3_seeded(name, strlen(name), map->seed);
    NameMapEntry *entry = slot_of(map, name, hash);
    if (!entry->name) {
        TRY(memory_copy_text(name, &entry->name));
        entry->hash = hash;
        map->count++;
    }
    entry->value = value;
    return NULL;
}

void *name_map_find(const NameMap *map, const char *name) {
    const NameMapEntry *entry =
        slot_of(map, name, digest_xxh3_seeded(name, strlen(name), map->seed));
    return entry->name ? entry->value : NULL;
}

size_t name_map_count(const NameMap *map) { return map->count; }
