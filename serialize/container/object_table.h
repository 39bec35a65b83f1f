#pragma once
/* The objects reachable from some values, each once, in an order in which every object comes after
 * those it refers to.
 *
 * Built without recursion: a list nested 10^7 deep is a legal value. Objects are borrowed. */
#include "base/error.h"
#include "vm/objects/value.h"

typedef struct ObjectTable ObjectTable;

enum { OBJECT_TABLE_COUNT_MAX = 1 << 28 };

MUST_CHECK Error *object_table_create(ObjectTable **out);
void object_table_release(ObjectTable *table);
DEFINE_OWN(ObjectTable, object_table_release);
/* Adds everything reachable from a value. A tensor's storage comes before it, unless the storage is
 * a constant's. */
MUST_CHECK Error *object_table_add(ObjectTable *table, Value value);
uint32_t object_table_count(const ObjectTable *table);
/* Borrowed. */
Value object_table_get(const ObjectTable *table, uint32_t index);
/* The index of an object that was added; UINT32_MAX for others. */
uint32_t object_table_find(const ObjectTable *table, const void *object);
