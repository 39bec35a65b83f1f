#pragma once
/* A list of values: grows in place while it has one holder, is copied when shared. Made by handlers
 * of instructions and by builtins; a list belongs to the thread of its execution until it is
 * shared. */
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

/* Makes an empty list with room for capacity items. */
MUST_CHECK Error *list_create(ObjectMeter *meter, uint64_t capacity, List **out);
void list_release(List *list);
DEFINE_OWN(List, list_release);
/* Appends in place; the caller must be the list's only holder. Consumes the value, even on failure.
 * Errors: EXHAUSTED. */
MUST_CHECK Error *list_append(List *list, Value owned_value);
/* Makes a list of the same items, each with one more reference, and room for `spare` more. */
MUST_CHECK Error *list_copy(const List *list, ObjectMeter *meter, uint64_t spare, List **out);
