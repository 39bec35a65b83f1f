#pragma once
/* A map from names to pointers. Names are copied; values are borrowed. Order of insertion is never
 * visible. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct NameMap NameMap;

MUST_CHECK Error *name_map_create(NameMap **out);
void name_map_release(NameMap *map);
DEFINE_OWN(NameMap, name_map_release);
/* Replaces an earlier value of that name. value must not be NULL. */
MUST_CHECK Error *name_map_set(NameMap *map, const char *name, void *value);
/* NULL when absent. */
void *name_map_find(const NameMap *map, const char *name);
size_t name_map_count(const NameMap *map);
