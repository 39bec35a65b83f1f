#pragma once
/* A map from pairs of numbers to the objects that begin with them: eight bytes a slot. Order is
 * never visible. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct IdKey {
    uint64_t high, low;
} IdKey;

/* Objects are borrowed; each begins with its IdKey, which does not change while it is inside. */
typedef struct IdMap {
    IdKey **slots;
    size_t capacity; /* 0 or a power of two, at most three quarters full */
    size_t count;
} IdMap;

void id_map_deinit(IdMap *map);
/* The key must not be inside. */
MUST_CHECK Error *id_map_add(IdMap *map, IdKey *object);
void *id_map_find(const IdMap *map, uint64_t high, uint64_t low);
void id_map_remove(IdMap *map, const IdKey *object);
