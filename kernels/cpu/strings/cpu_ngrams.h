#pragma once
/* The n-grams of a TfIdfVectorizer's pool, ready to be looked up: the pool's distinct items have
 * numbers, and the n-grams are the paths of a tree whose edges are such numbers. Plans of one
 * operator call share the tables, whatever their shapes are. Immutable after making; any thread. */
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/string_tensor.h"

typedef struct CpuNgrams CpuNgrams;
enum { NGRAM_NO_ITEM = UINT32_MAX, NGRAM_NO_NODE = 0, NGRAM_NO_GRAM = 0 };

/* A column that counts an n-gram. A pool may have an n-gram several times. */
typedef struct Ngram {
    uint32_t column;
    float weight;  /* 1 without weights */
    uint32_t next; /* of the same n-gram; NGRAM_NO_GRAM: none */
} Ngram;

typedef struct NgramNode {
    uint32_t first, last; /* of ngrams; NGRAM_NO_GRAM: only longer n-grams begin like this */
    uint32_t children;
} NgramNode;

/* A distinct item of the pool. */
typedef struct NgramItem {
    uint64_t head; /* the number, or the first bytes of the text */
    const char *text;
    uint32_t size;   /* of the text; 0 for numbers */
    uint32_t number; /* 1 + its number; 0: the slot is empty */
} NgramItem;

typedef struct NgramEdge {
    uint64_t key;  /* node << 32 | item */
    uint32_t node; /* NGRAM_NO_NODE: the slot is empty */
} NgramEdge;

struct CpuNgrams {
    CpuNgrams *next; /* in the device's list */
    uint32_t users;  /* guarded by the device's mutex */
    Attributes *attributes;
    DType dtype;
    NgramItem *items; /* item_mask + 1 slots */
    NgramEdge *edges;
    Ngram *ngrams;
    NgramNode *nodes;
    uint32_t *roots;          /* by item: the node of the item alone */
    uint32_t byte_items[256]; /* of texts of one byte */
    size_t item_mask, edge_mask;
    uint32_t item_count, node_count, ngram_count;
};

/* Finds the table of these attributes that another plan uses, or makes it. dtype: of the items. */
MUST_CHECK Error *cpu_ngrams_get(
    CpuDevice *device, const Attributes *attributes, DType dtype, const CpuNgrams **out);
void cpu_ngrams_release(CpuDevice *device, const CpuNgrams *ngrams);

/* Return NGRAM_NO_ITEM for what is not in the pool. */
uint32_t cpu_ngrams_find_text(const CpuNgrams *ngrams, StringView text);
uint32_t cpu_ngrams_find_number(const CpuNgrams *ngrams, int64_t number);
/* The node behind `node` and the item; NGRAM_NO_NODE: no n-gram begins like this. */
uint32_t cpu_ngrams_step(const CpuNgrams *ngrams, uint32_t node, uint32_t item);
