#pragma once
/* A paged cache of keys and values for attention. Its parts: the kind of opaque object and its
 * bytes (relax_paged_state.c), pages and blocks of sequences (relax_paged_blocks.c), rounds
 * (relax_paged_round.c), attention (relax_paged_attention.c), functions (relax_paged_calls.c),
 * page groups and their metadata (relax_paged_export.c). On the execution's thread.
 *
 *   sequence ── last block ── parent ── ... ── root block
 *                  │             │
 *                pages         pages        a page belongs to one block; blocks share parents
 *
 * A row is a place for one position of a sequence: page * page size + offset. */
#include "vm/relax/relax_opaque.h"

enum {
    PAGED_LAYERS_MAX = 1024,
    PAGED_HEADS_MAX = 4096,
    PAGED_DIMENSIONS_MAX = 8192,
    PAGED_SEQUENCES_MAX = 1 << 14,
    PAGED_PAGES_MAX = 1 << 24,
    PAGED_PAGE_SIZE_MAX = 1 << 14,
    PAGED_TREE_MAX = 256, /* positions of a token tree */
    PAGED_NO_PAGE = -1,   /* lent until the window has slid */
    PAGED_PINNED = -1,    /* of a row: the position is not kept */
};

typedef enum PagedKind { /* of a layer; TVM's numbers */
    PAGED_MHA = 0,
    PAGED_MLA = 1,
    PAGED_LINEAR = 2,
    PAGED_MHA_SLIDING = 3,
} PagedKind;

typedef enum PagedRope { /* TVM's numbers */
    PAGED_ROPE_NONE = 0,
    PAGED_ROPE_NORMAL = 1, /* keys are stored turned */
    PAGED_ROPE_INLINE = 2, /* keys are turned when they are read */
} PagedRope;

typedef struct PagedConfig {
    int64_t layers, layer_begin; /* layer numbers of calls begin at layer_begin */
    int64_t query_heads, kv_heads, key_size, value_size;
    int64_t reserved, pages, chunk, page_size;
    int64_t layer_window;
    bool sliding; /* sequences may have a window */
    PagedRope rope;
    double rope_scale, rope_theta;
    DType dtype;
    uint8_t slot; /* of tensors that the cache makes */
} PagedConfig;

typedef struct PagedBlock {
    bool used;
    int32_t parent;     /* -1: none */
    int32_t references; /* of sequences and child blocks */
    int64_t length;     /* positions */
    int64_t start;      /* the first one's position in the sequence */
    int64_t sink;       /* the first positions, which a window does not drop */
    int64_t offset;     /* of the first position behind the sink, in the pages */
    int32_t *pages;
    size_t page_count, page_capacity;
} PagedBlock;

typedef struct PagedSequence {
    bool used, committed;
    int64_t number;
    int32_t last_block;
    int64_t length;
    int64_t window; /* -1: none */
    int64_t sink;   /* of the last block, once it slides */
    uint32_t tree_count;
    int32_t parents[PAGED_TREE_MAX]; /* -1: a root */
    int32_t depths[PAGED_TREE_MAX];
} PagedSequence;

/* A sequence in the round. */
typedef struct PagedTurn {
    uint32_t place;
    int64_t appended;
    int64_t before;        /* positions before the round */
    int64_t first;         /* index of its first position in the round's arrays */
    int32_t *context;      /* rows before the round; NULL: those of the sequence */
    int64_t context_count; /* of context */
} PagedTurn;

typedef struct Paged {
    PagedConfig config;
    uint8_t *kinds;      /* PagedKind by layer */
    uint64_t page_bytes; /* of one layer */
    uint8_t *data;       /* [layers, pages] of a page */
    int32_t *free_pages; /* a stack */
    uint32_t free_count;
    PagedBlock *blocks;
    uint32_t block_limit;
    PagedSequence *sequences;
    uint32_t places;
    PagedTurn *turns;
    uint32_t turn_count;
    int64_t round_count; /* positions in the round */
    bool includes_round; /* cross attention sees the round's positions, too */
    int32_t *rows;       /* of the round's positions; PAGED_PINNED: not kept */
    int32_t *positions;  /* for the turning of keys */
    bool importing;
    uint8_t *imported; /* by layer */
} Paged;

/* relax_paged_state.c */
extern const OpaqueKind relax_paged;
MUST_CHECK Error *paged_create(const PagedConfig *config, const uint8_t *kinds, Paged **out);
void paged_destroy(void *state);
typedef Paged OwnedPaged;
DEFINE_OWN(OwnedPaged, paged_destroy);
void paged_clear(void *state);
/* relax_paged_read.c: the bytes that save writes; not trusted. */
MUST_CHECK Error *paged_read(ByteReader *reader, void **out);
static inline uint64_t paged_element(const Paged *paged) {
    return dtype_bits(paged->config.dtype) / 8;
}
static inline uint8_t *paged_page(const Paged *paged, int64_t layer, int64_t page) {
    return paged->data + (uint64_t)(layer * paged->config.pages + page) * paged->page_bytes;
}
/* Where a row's key (0) or value (1) of one head is in a layer of kind MHA. */
uint8_t *paged_cell(const Paged *paged, int64_t layer, int64_t row, int64_t which, int64_t head);
/* Where a row is in a layer of kind MLA. */
uint8_t *paged_latent(const Paged *paged, int64_t layer, int64_t row);

/* relax_paged_blocks.c */
MUST_CHECK Error *paged_find(const Paged *paged, int64_t number, uint32_t *out_place);
MUST_CHECK Error *paged_add(void *state, int64_t number);
MUST_CHECK Error *paged_remove(void *state, int64_t number);
MUST_CHECK Error *paged_fork(void *state, int64_t parent, int64_t child, int64_t position);
MUST_CHECK Error *paged_pop(void *state, int64_t number, int64_t count);
/* Makes room for more positions at the end of a sequence, and slides its window. */
MUST_CHECK Error *paged_reserve(Paged *paged, PagedSequence *sequence, int64_t count);
/* The rows of a sequence's positions; room for `length`. */
void paged_rows(const Paged *paged, const PagedSequence *sequence, int32_t *out_rows);
/* The row of position i of a block. */
int32_t paged_block_row(const Paged *paged, const PagedBlock *block, int64_t i);

/* relax_paged_round.c */
extern const RelaxSequences relax_paged_sequences;
MUST_CHECK Error *paged_begin(void *state, const int64_t *seqs, const int64_t *lengths,
    uint32_t count, const int64_t *parents, uint32_t parent_count);
MUST_CHECK Error *paged_commit(
    Paged *paged, const int64_t *seqs, const int64_t *leaves, uint32_t count);
void paged_release_round(Paged *paged);

/* relax_paged_attention.c */
typedef struct PagedQuery {
    const float *queries; /* [round, heads, key size] */
    const float *keys;    /* of the round: [round, kv heads, key size]; NULL: none */
    const float *values;  /* [round, kv heads, value size] */
    float *out;           /* [round, heads, value size] */
    float *lse;           /* [round, heads], base 2; NULL: not wanted */
    int64_t heads, kv_heads, key_size, value_size;
    double scale;
    int64_t layer;  /* in the cache */
    bool context;   /* rows before the round are seen */
    bool from_rows; /* the round's keys and values are read from its rows */
} PagedQuery;
MUST_CHECK Error *paged_attend(const Paged *paged, const PagedQuery *query);
/* Turns the pairs (i, i + size / 2) of a head for a position. */
void paged_turn(const PagedConfig *config, int64_t size, int64_t position, float *inout_head);
/* Between elements of the cache's type and float. */
void paged_load(DType dtype, const void *from, int64_t count, float *to);
void paged_store(DType dtype, const float *from, int64_t count, void *to);
