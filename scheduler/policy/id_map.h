#pragma once
/* A hash map from pairs of numbers to the objects that begin with that pair, eight bytes a slot.
 * Its order is never visible. Used by the policy, by the control thread and by the simulator's
 * checker; each map belongs to one thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct IdKey {
    uint64_t high, low;
} IdKey;

/* The map borrows its objects; each begins with its IdKey, which does not change while the object
 * is inside. */
typedef struct IdMap {
    IdKey **slots;
    size_t capacity; /* 0 or a power of two, at most three quarters full */
    size_t count;
} IdMap;

void id_map_deinit(IdMap *map);
/* Adds an object whose key is not in the map. */
MUST_CHECK Error *id_map_add(IdMap *map, IdKey *object);
void *id_map_find(const IdMap *map, uint64_t high, uint64_t low);
void id_map_remove(IdMap *map, const IdKey *object);
