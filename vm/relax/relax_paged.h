#pragma once
/* A paged cache of keys and values for attention. Its parts: the kind of opaque object and its
 * bytes (relax_paged_state.c), pages and blocks of sequences (relax_paged_blocks.c), the memory of
 * pages (relax_paged_segments.c), rounds (relax_paged_round.c), which keys a query sees
 * (relax_paged_tables.c), attention (relax_paged_attention.c), functions (relax_paged_calls.c),
 * page groups and their metadata (relax_paged_export.c). On the execution's thread.
 *
 *   sequence ── last block ── parent ── ... ── root block
 *                  │             │
 *                pages         pages        a page belongs to one block; blocks share parents
 *
 * A row is a place for one position of a sequence: page * page size + offset.
 *
 * Some pages of one layer lie side by side in a segment, a tensor [pages, page size, parts, heads,
 * key size] on the device of the cache's slot. A segment is made when one of its rows is first
 * written, and given back when none of its pages is in use. Snapshots share segments; a segment
 * with another holder is copied before it is written. */
#include "kernels/operator/plan.h"
#include "vm/relax/relax_opaque.h"

enum {
    PAGED_LAYERS_MAX = 1024,
    PAGED_HEADS_MAX = 4096,
    PAGED_DIMENSIONS_MAX = 8192,
    PAGED_SEQUENCES_MAX = 1 << 14,
    PAGED_PAGES_MAX = 1 << 24,
    PAGED_PAGE_SIZE_MAX = 1 << 14,
    PAGED_TREE_MAX = 256,           /* positions of a token tree */
    PAGED_NO_PAGE = -1,             /* lent until the window has slid */
    PAGED_PINNED = -1,              /* of a row: the position is not kept */
    PAGED_SEGMENTS_MAX = 240,       /* of a layer: each is an input of the kernel */
    PAGED_SEGMENT_BYTES = 64 << 10, /* or one page */
    PAGED_PLANS_MAX = 8,
    PAGED_BOUNDS = 5, /* numbers of PagedAttention for each query */
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

/* What a layer's keys are to a round: the operands of PagedAttention beside the keys. Made again
 * where they do not fit. */
typedef struct PagedTables {
    bool context, own, from_rows, sliding; /* what the tables were made for */
    Tensor *rows, *bounds;                 /* NULL: none are made */
    Tensor *tree;                          /* NULL: no query has a tree */
    uint8_t used[PAGED_SEGMENTS_MAX];      /* by segment: a row is in it */
    int64_t positions;                     /* the largest position is below it */
} PagedTables;

/* A kernel prepared for operands of certain shapes. */
typedef struct PagedPlan {
    double scale;
    int64_t value_size, rows, queries, heads, kv_heads, key_size, angles, tree;
    uint32_t segments;
    bool own, lse;
    uint8_t kind; /* of the layer */
    Plan *plan;   /* NULL: the place is free */
} PagedPlan;

typedef struct Paged {
    PagedConfig config;
    uint8_t *kinds;            /* PagedKind by layer */
    uint32_t segment_pages;    /* pages in a segment */
    uint32_t segment_count;    /* of a layer */
    Value *segments;           /* [layers, segment_count]: a tensor, or nil */
    uint32_t *free_in_segment; /* memory for counting */
    int32_t *free_pages;       /* a stack */
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
    /* Made when they are wanted, never stored: */
    PagedTables tables;
    Tensor *angles[2]; /* float32 [positions, 2, key size / 2]; 1: of layers with windows */
    PagedPlan plans[PAGED_PLANS_MAX];
    uint32_t next_plan;
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
/* The bytes of a row in a layer: [parts, heads, key size], the keys of all heads and then the
 * values; of kind MLA one part, the latent row. */
static inline uint64_t paged_row_bytes(const Paged *paged, int64_t layer) {
    const bool latent = paged->kinds[layer] == PAGED_MLA;
    return (uint64_t)((latent ? 1 : 2 * paged->config.kv_heads) * paged->config.key_size) *
           paged_element(paged);
}

/* relax_paged_segments.c */
Shape paged_segment_shape(const Paged *paged, int64_t layer);
/* Makes the rows of a layer writable. *out_open false: memory is needed, and the call says so. */
MUST_CHECK Error *paged_open_rows(PackedCall *call, Paged *paged, int64_t layer,
    const int32_t *rows, int64_t count, bool *out_open);
/* The same for a page in all layers. */
MUST_CHECK Error *paged_open_page(PackedCall *call, Paged *paged, int32_t page, bool *out_open);
/* Copies rows to host memory, one behind the other. Rows that were never written are 0. */
MUST_CHECK Error *paged_read_rows(
    const Paged *paged, int64_t layer, const int32_t *rows, int64_t count, void *to);
/* Copies rows from host memory; rows that are PAGED_PINNED are left out. They are open. */
MUST_CHECK Error *paged_write_rows(
    Paged *paged, int64_t layer, const int32_t *rows, int64_t count, const void *from);
/* Copies a page to another one, which is open. */
MUST_CHECK Error *paged_copy_page(Paged *paged, int32_t from, int32_t to);
/* Gives back the segments without pages in use. */
void paged_drop_segments(Paged *paged);

/* relax_paged_blocks.c */
MUST_CHECK Error *paged_find(const Paged *paged, int64_t number, uint32_t *out_place);
MUST_CHECK Error *paged_add(void *state, int64_t number);
MUST_CHECK Error *paged_remove(void *state, int64_t number);
MUST_CHECK Error *paged_fork(
    PackedCall *call, void *state, int64_t parent, int64_t child, int64_t position);
MUST_CHECK Error *paged_pop(PackedCall *call, void *state, int64_t number, int64_t count);
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
    PackedCall *call, Paged *paged, const int64_t *seqs, const int64_t *leaves, uint32_t count);
void paged_release_round(Paged *paged);

/* relax_paged_tables.c */
/* Makes the tables of a call where those of the last one do not fit. *out_made false: memory is
 * needed. */
MUST_CHECK Error *paged_make_tables(
    PackedCall *call, Paged *paged, const PagedTables *wanted, bool *out_made);
/* Makes the angles that a layer turns keys of a size by, for at least as many positions. */
MUST_CHECK Error *paged_make_angles(
    PackedCall *call, Paged *paged, bool sliding, int64_t size, int64_t positions, bool *out_made);
void paged_forget_tables(Paged *paged);

/* relax_paged_attention.c */
/* Tensors in the cache's slot, of its element type, compact. */
typedef struct PagedQuery {
    Tensor *queries; /* [round, heads, key size] */
    Tensor *keys;    /* of the round: [round, kv heads, key size]; NULL: none */
    Tensor *values;  /* [round, kv heads, value size] */
    Tensor *out;     /* [round, heads, value size] */
    Tensor *lse;     /* float32 [round, heads], base 2; NULL: not wanted */
    int64_t heads, kv_heads, key_size, value_size;
    double scale;
    int64_t layer;  /* in the cache */
    bool context;   /* rows before the round are seen */
    bool from_rows; /* the round's keys and values are read from its rows */
} PagedQuery;
/* Returns when the kernel has ended. *out_done false: memory is needed, and nothing happened. */
MUST_CHECK Error *paged_attend(
    PackedCall *call, Paged *paged, const PagedQuery *query, bool *out_done);
void paged_forget_plans(Paged *paged);
/* Turns the pairs (i, i + size / 2) of a head for a position. */
void paged_turn(const PagedConfig *config, int64_t size, int64_t position, float *inout_head);
/* Between elements of the cache's type and float. */
void paged_load(DType dtype, const void *from, int64_t count, float *to);
void paged_store(DType dtype, const float *from, int64_t count, void *to);
