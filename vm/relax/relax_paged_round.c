#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/relax/relax_paged.h"

void paged_release_round(Paged *paged) {
    paged_forget_tables(paged);
    for (uint32_t i = 0; i < paged->turn_count; i++) memory_free(paged->turns[i].context);
    memory_free(paged->rows);
    memory_free(paged->positions);
    paged->rows = paged->positions = NULL;
    paged->turn_count = 0;
    paged->round_count = 0;
}

/* Adds the round's positions to a sequence's tree, whose parents count from the tree's first. */
static Error *grow_tree(PagedSequence *sequence, const int64_t *parents, int64_t count) {
    if (count > PAGED_TREE_MAX || sequence->tree_count + count > PAGED_TREE_MAX)
        FAIL(INVALID, "sequence %" PRIi64 " has a tree of %" PRIi64 " positions; there may be %d",
            sequence->number, sequence->tree_count + count, PAGED_TREE_MAX);
    for (int64_t i = 0; i < count; i++) {
        int64_t node = sequence->tree_count + i;
        if (parents[i] < -1 || parents[i] >= node)
            FAIL(INVALID, "sequence %" PRIi64 ": the parent of node %" PRIi64 " is %" PRIi64,
                sequence->number, node, parents[i]);
        sequence->parents[node] = (int32_t)parents[i];
        sequence->depths[node] = parents[i] == -1 ? 0 : sequence->depths[parents[i]] + 1;
    }
    sequence->tree_count += (uint32_t)count;
    sequence->committed = false;
    return NULL;
}

/* What the round needs, before anything changes. */
static Error *check_round(const Paged *paged, const int64_t *seqs, const int64_t *lengths,
    uint32_t count, const int64_t *parents, uint32_t parent_count) {
    int64_t total = 0;
    uint32_t place;
    if (paged->importing) FAIL(CONFLICT, "an import is not finished");
    if (count == 0) FAIL(INVALID, "a round without sequences");
    for (uint32_t i = 0; i < count; i++) {
        TRY(paged_find(paged, seqs[i], &place));
        const PagedSequence *sequence = &paged->sequences[place];
        if (lengths[i] < 1 || lengths[i] > paged->config.chunk - total)
            FAIL(INVALID,
                "sequence %" PRIi64 " gets %" PRIi64 " positions; a round has 1 to %" PRIi64,
                seqs[i], lengths[i], paged->config.chunk);
        if (!parents && !sequence->committed)
            FAIL(CONFLICT, "sequence %" PRIi64 " has a token tree that is not committed", seqs[i]);
        if (paged->blocks[sequence->last_block].references != 1)
            FAIL(CONFLICT, "the last block of sequence %" PRIi64 " is shared", seqs[i]);
        total += lengths[i];
    }
    if (!parents) return NULL;
    if (paged->config.sliding) FAIL(UNSUPPORTED, "token trees in a cache with windows");
    if (paged->config.rope == PAGED_ROPE_INLINE)
        FAIL(UNSUPPORTED, "token trees in a cache with inline rotation");
    if (paged->kinds[0] == PAGED_MLA) FAIL(UNSUPPORTED, "token trees in a cache of kind MLA");
    if (parent_count != total)
        FAIL(INVALID, "%u parents for %" PRIi64 " positions", parent_count, total);
    return NULL;
}

/* Keeps the rows of a sequence that has a window: it will slide. */
static Error *keep_context(const Paged *paged, const PagedSequence *sequence, PagedTurn *turn) {
    if (sequence->window == -1 || !paged->config.sliding) return NULL;
    void *memory;
    TRY(memory_alloc((size_t)sequence->length + 1, sizeof(int32_t), &memory));
    turn->context = memory;
    turn->context_count = sequence->length;
    paged_rows(paged, sequence, turn->context);
    return NULL;
}

/* The rows of the appended positions. Those that the window has left already are not kept; those
 * that came to lie among the sinks are. */
static void map_rows(
    Paged *paged, const PagedSequence *sequence, const PagedTurn *turn, int64_t block_before) {
    const PagedBlock *block = &paged->blocks[sequence->last_block];
    for (int64_t i = 0; i < turn->appended; i++) {
        int64_t in_block = block->length - turn->appended + i;
        int32_t row = PAGED_PINNED;
        if (block_before + i < block->sink)
            row = paged_block_row(paged, block, block_before + i);
        else if (in_block >= block->sink)
            row = paged_block_row(paged, block, in_block);
        paged->rows[turn->first + i] = row;
    }
}

static void map_positions(
    Paged *paged, const PagedSequence *sequence, const PagedTurn *turn, bool tree) {
    int64_t tree_before = tree ? sequence->tree_count - turn->appended : 0;
    for (int64_t i = 0; i < turn->appended; i++)
        paged->positions[turn->first + i] =
            (int32_t)(tree ? turn->before - tree_before + sequence->depths[tree_before + i]
                           : turn->before + i);
}

static Error *begin_turn(Paged *paged, uint32_t place, int64_t appended, const int64_t *parents) {
    PagedSequence *sequence = &paged->sequences[place];
    PagedTurn *turn = &paged->turns[paged->turn_count];
    int64_t block_before = paged->blocks[sequence->last_block].length;
    *turn = (PagedTurn){.place = place,
        .appended = appended,
        .before = sequence->length,
        .first = paged->round_count};
    TRY(keep_context(paged, sequence, turn));
    paged->turn_count++;
    if (parents)
        TRY(grow_tree(sequence, parents + paged->round_count, appended));
    else
        sequence->tree_count = 0;
    TRY(paged_reserve(paged, sequence, appended));
    map_rows(paged, sequence, turn, block_before);
    map_positions(paged, sequence, turn, parents != NULL);
    paged->round_count += appended;
    return NULL;
}

Error *paged_begin(void *state, const int64_t *seqs, const int64_t *lengths, uint32_t count,
    const int64_t *parents, uint32_t parent_count) {
    Paged *paged = state;
    TRY(check_round(paged, seqs, lengths, count, parents, parent_count));
    int64_t total = 0;
    bool single = true, trees = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place;
        TRY(paged_find(paged, seqs[i], &place));
        total += lengths[i];
        single = single && lengths[i] == 1;
        trees = trees || !paged->sequences[place].committed;
    }
    paged_release_round(paged);
    paged_drop_segments(paged);
    void *memory;
    TRY(memory_alloc((size_t)total, sizeof(int32_t), &memory));
    paged->rows = memory;
    TRY(memory_alloc((size_t)total, sizeof(int32_t), &memory));
    paged->positions = memory;
    paged->includes_round = trees || (single && !paged->config.sliding);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place;
        TRY(paged_find(paged, seqs[i], &place));
        TRY(begin_turn(paged, place, lengths[i], parents));
    }
    return NULL;
}

static Error *paged_end(void *state) {
    (void)state;
    return NULL;
}

/* The rows of a tree's path, and those at the front of the tree that they move to. */
typedef struct Path {
    int32_t from[PAGED_TREE_MAX], to[PAGED_TREE_MAX];
    int64_t count;
} Path;

static Error *find_path(
    const Paged *paged, const PagedSequence *sequence, int64_t leaf, Path *out_path) {
    OWN_MEMORY(memory) = NULL;
    TRY(memory_alloc((size_t)sequence->length + 1, sizeof(int32_t), &memory));
    int32_t *rows = memory;
    const int64_t base = sequence->length - sequence->tree_count;
    paged_rows(paged, sequence, rows);
    out_path->count = leaf == -1 ? 0 : sequence->depths[leaf] + 1;
    int64_t node = leaf;
    for (int64_t i = out_path->count; i > 0; i--) {
        out_path->from[i - 1] = rows[base + node];
        out_path->to[i - 1] = rows[base + i - 1];
        node = sequence->parents[node];
    }
    return NULL;
}

static Error *open_path(PackedCall *call, Paged *paged, const Path *path, bool *out_open) {
    *out_open = true;
    for (int64_t layer = 0; layer < paged->config.layers && *out_open; layer++)
        TRY(paged_open_rows(call, paged, layer, path->to, path->count, out_open));
    return NULL;
}

/* Keeps the path from the root to a leaf, and drops the rest of the tree. A row moves only to one
 * that has moved itself, or is not on the path. */
static Error *commit_one(
    PackedCall *call, Paged *paged, PagedSequence *sequence, const Path *path) {
    OWN_MEMORY(row) = NULL;
    TRY(memory_alloc(
        2 * (size_t)(paged->config.kv_heads * paged->config.key_size), sizeof(float), &row));
    for (int64_t layer = 0; layer < paged->config.layers; layer++)
        for (int64_t i = 0; i < path->count; i++) {
            if (path->from[i] == path->to[i]) continue;
            TRY(paged_read_rows(paged, layer, &path->from[i], 1, row));
            TRY(paged_write_rows(paged, layer, &path->to[i], 1, row));
        }
    int64_t dropped = sequence->tree_count - path->count;
    sequence->committed = true;
    sequence->tree_count = 0;
    return dropped > 0 ? paged_pop(call, paged, sequence->number, dropped) : NULL;
}

static Error *check_commit(
    const Paged *paged, const int64_t *seqs, const int64_t *leaves, uint32_t count) {
    uint32_t place;
    for (uint32_t i = 0; i < count; i++) {
        TRY(paged_find(paged, seqs[i], &place));
        const PagedSequence *sequence = &paged->sequences[place];
        if (leaves[i] != -1 && sequence->committed)
            FAIL(CONFLICT, "sequence %" PRIi64 " has no tree to commit", seqs[i]);
        if (leaves[i] < -1 || leaves[i] >= sequence->tree_count)
            FAIL(INVALID, "sequence %" PRIi64 ": leaf %" PRIi64 " of a tree of %u", seqs[i],
                leaves[i], sequence->tree_count);
    }
    return NULL;
}

Error *paged_commit(
    PackedCall *call, Paged *paged, const int64_t *seqs, const int64_t *leaves, uint32_t count) {
    uint32_t place;
    bool open = true;
    Path path;
    TRY(check_commit(paged, seqs, leaves, count));
    for (uint32_t i = 0; i < count && open; i++) {
        TRY(paged_find(paged, seqs[i], &place));
        TRY(find_path(paged, &paged->sequences[place], leaves[i], &path));
        TRY(open_path(call, paged, &path, &open));
    }
    if (!open) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        TRY(paged_find(paged, seqs[i], &place));
        TRY(find_path(paged, &paged->sequences[place], leaves[i], &path));
        TRY(commit_one(call, paged, &paged->sequences[place], &path));
    }
    paged_release_round(paged);
    return NULL;
}

const RelaxSequences relax_paged_sequences = {
    .kind = &relax_paged,
    .clear = paged_clear,
    .add = paged_add,
    .remove = paged_remove,
    .fork = paged_fork,
    .pop = paged_pop,
    .begin = paged_begin,
    .end = paged_end,
};
