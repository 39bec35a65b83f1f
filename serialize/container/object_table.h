#pragma once
/* Lists the objects reachable from some values, each once, in an order in which every object comes
 * after those it refers to. Callers: checkpoint_write.c, checkpoint_extents.c. Threads: one at a
 * time per table.
 *
 * Built without recursion: a list nested 10^7 deep is a legal value. The table does not own
 * objects. */
#include "base/error.h"
#include "vm/objects/value.h"

typedef struct ObjectTable ObjectTable;

enum { OBJECT_TABLE_COUNT_MAX = 1 << 28 };

MUST_CHECK Error *object_table_create(ObjectTable **out);
void object_table_release(ObjectTable *table);
DEFINE_OWN(ObjectTable, object_table_release);
/* Adds everything reachable from a value. A tensor's storage comes before the tensor, unless it
 * belongs to a constant. */
MUST_CHECK Error *object_table_add(ObjectTable *table, Value value);
uint32_t object_table_count(const ObjectTable *table);
/* Returns an object, which the table does not own. */
Value object_table_get(const ObjectTable *table, uint32_t index);
/* Returns the index of an object that was added; UINT32_MAX for others. */
uint32_t object_table_find(const ObjectTable *table, const void *object);
