#pragma once
/* A list: growable where one holder has it, copied when shared. */
#include "vm/objects/object.h"

typedef struct List {
    Refcount refcount;
    uint32_t count;
    uint64_t link;      /* see ContainerHead */
    ObjectMeter *meter; /* may be NULL */
    Value *items;
    uint64_t capacity;
} List;

enum { LIST_COUNT_MAX = 1 << 28 };

/* Empty, with room for capacity items. */
MUST_CHECK Error *list_create(ObjectMeter *meter, uint64_t capacity, List **out);
void list_release(List *list);
DEFINE_OWN(List, list_release);
/* Only for a list that nobody else holds. Consumes the value, even on failure. Errors: EXHAUSTED.
 */
MUST_CHECK Error *list_append(List *list, Value owned_value);
/* The same items, each with one more reference, and room for `spare` more. */
MUST_CHECK Error *list_copy(const List *list, ObjectMeter *meter, uint64_t spare, List **out);
