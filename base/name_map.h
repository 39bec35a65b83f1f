#pragma once
/* A map from names to pointers. The map copies names and does not own values; its order of
 * insertion is never visible. Used by compiler/, vm/, serialize/arrays, scheduler/service and
 * tools/client.
 * Threads: one at a time per map. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct NameMap NameMap;

MUST_CHECK Error *name_map_create(NameMap **out);
void name_map_release(NameMap *map);
DEFINE_OWN(NameMap, name_map_release);
/* Sets a name's value, replacing an earlier one. value must not be NULL. */
MUST_CHECK Error *name_map_set(NameMap *map, const char *name, void *value);
/* Returns the value, NULL when the name is absent. */
void *name_map_find(const NameMap *map, const char *name);
size_t name_map_count(const NameMap *map);
