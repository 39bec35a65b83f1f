#include "scheduler/policy/pairing_heap.h"

/* Joins two roots; the greater becomes the first child of the lesser. */
static HeapNode *meld(HeapNode *a, HeapNode *b, HeapLess *less) {
    if (!a) return b;
    if (!b) return a;
    if (less(b, a)) {
        HeapNode *greater = a;
        a = b;
        b = greater;
    }
    b->previous = a;
    b->next = a->child;
    if (a->child) a->child->previous = b;
    a->child = b;
    a->next = a->previous = NULL;
    return a;
}

/* Two passes, without recursion: pairs from left to right, then the pairs from right to left. */
static HeapNode *meld_siblings(HeapNode *first, HeapLess *less) {
    HeapNode *pairs = NULL, *result = NULL;
    while (first) {
        HeapNode *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->previous = NULL;
        if (b) b->next = b->previous = NULL;
        a = meld(a, b, less);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        HeapNode *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        result = meld(result, pair, less);
    }
    return result;
}

void heap_push(Heap *heap, HeapNode *node, HeapLess *less) {
    *node = (HeapNode){0};
    heap->root = meld(heap->root, node, less);
}

void heap_remove(Heap *heap, HeapNode *node, HeapLess *less) {
    HeapNode *children = meld_siblings(node->child, less);
    if (heap->root == node)
        heap->root = children;
    else {
        if (node->previous->child == node)
            node->previous->child = node->next;
        else
            node->previous->next = node->next;
        if (node->next) node->next->previous = node->previous;
        heap->root = meld(heap->root, children, less);
    }
    *node = (HeapNode){0};
}
