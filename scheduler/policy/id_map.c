#include "scheduler/policy/id_map.h"

#include <assert.h>

#include "base/allocator.h"

enum { ID_MAP_CAPACITY_MIN = 16 };

/* The finalizer of splitmix64: ids that count up spread over all slots. */
static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static size_t home_of(const IdMap *map, uint64_t high, uint64_t low) {
    return (size_t)mix(low + mix(high + 0x9e3779b97f4a7c15u)) & (map->capacity - 1);
}

void id_map_deinit(IdMap *map) {
    memory_free(map->slots);
    *map = (IdMap){0};
}

static void place(IdMap *map, IdKey *object) {
    size_t i = home_of(map, object->high, object->low);
    while (map->slots[i]) i = (i + 1) & (map->capacity - 1);
    map->slots[i] = object;
}

Error *id_map_add(IdMap *map, IdKey *object) {
    if (map->count + 1 > map->capacity / 4 * 3) {
        IdMap larger = {.capacity = map->capacity ? map->capacity * 2 : ID_MAP_CAPACITY_MIN};
        void *memory;
        TRY(memory_alloc(larger.capacity, sizeof(IdKey *), &memory));
        larger.slots = memory;
        for (size_t i = 0; i < map->capacity; i++)
            if (map->slots[i]) place(&larger, map->slots[i]);
        memory_free(map->slots);
        map->slots = larger.slots;
        map->capacity = larger.capacity;
    }
    place(map, object);
    map->count++;
    return NULL;
}

void *id_map_find(const IdMap *map, uint64_t high, uint64_t low) {
    if (!map->count) return NULL;
    for (size_t i = home_of(map, high, low); map->slots[i]; i = (i + 1) & (map->capacity - 1))
        if (map->slots[i]->high == high && map->slots[i]->low == low) return map->slots[i];
    return NULL;
}

/* Later entries of the same run move up, so that no tombstones are needed. */
void id_map_remove(IdMap *map, const IdKey *object) {
    size_t mask = map->capacity - 1, hole = home_of(map, object->high, object->low);
    while (map->slots[hole] != object) {
        assert(map->slots[hole]);
        hole = (hole + 1) & mask;
    }
    for (size_t i = (hole + 1) & mask; map->slots[i]; i = (i + 1) & mask) {
        size_t home = home_of(map, map->slots[i]->high, map->slots[i]->low);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = NULL;
    map->count--;
}
