#pragma once
/* A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986). Its nodes are members of the objects
 * that the heap orders, so the heap allocates nothing and any node can be removed. Operations are
 * amortized O(log n). Used by the policy alone (policy_state.h), on its thread. */
#include <stdbool.h>
#include <stddef.h>

#include "base/container_of.h"

typedef struct HeapNode {
    struct HeapNode *child, *next;
    struct HeapNode *previous; /* the left sibling, or the parent of a first child */
} HeapNode;

/* Whether a leaves the heap before b. Must be a total order that does not change while both are
 * inside. */
typedef bool HeapLess(const HeapNode *a, const HeapNode *b);

typedef struct Heap {
    HeapNode *root; /* the least; NULL: empty */
} Heap;

void heap_push(Heap *heap, HeapNode *node, HeapLess *less);
void heap_remove(Heap *heap, HeapNode *node, HeapLess *less);

#define HEAP_ITEM(node, Type, member) CONTAINER_OF(node, Type, member)
#define HEAP_ITEM_CONST(node, Type, member)                                                        \
    ((const Type *)(const void *)((const char *)(node)-offsetof(Type, member)))
