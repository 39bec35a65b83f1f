#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/relax/relax_paged.h"

/* Reads a number that must be in least .. most. */
static Error *read_between(
    ByteReader *reader, const char *what, int64_t least, int64_t most, int64_t *out) {
    int64_t value;
    TRY(byte_read_i64(reader, &value));
    if (value < least || value > most)
        FAIL(CORRUPT, "%s is %" PRIi64 "; it may be %" PRIi64 " to %" PRIi64, what, value, least,
            most);
    *out = value;
    return NULL;
}

static Error *read_bool(ByteReader *reader, bool *out) {
    uint8_t value;
    TRY(byte_read_u8(reader, &value));
    if (value > 1) FAIL(CORRUPT, "a bool is %u", value);
    *out = value == 1;
    return NULL;
}

static Error *read_config(ByteReader *reader, Paged **out) {
    PagedConfig config = {0};
    int64_t sliding, rope, dtype, slot;
    int64_t *const numbers[] = {&config.layers, &config.layer_begin, &config.query_heads,
        &config.kv_heads, &config.key_size, &config.value_size, &config.reserved, &config.pages,
        &config.chunk, &config.page_size, &config.layer_window};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        TRY(byte_read_i64(reader, numbers[i]));
    TRY(read_between(reader, "sliding", 0, 1, &sliding));
    TRY(read_between(reader, "the rope mode", 0, PAGED_ROPE_INLINE, &rope));
    TRY(read_between(reader, "the element type", 1, DTYPE_COUNT - 1, &dtype));
    TRY(read_between(reader, "the slot", 0, 1, &slot));
    if (!dtype_is_known((uint32_t)dtype)) FAIL(CORRUPT, "element type %" PRIi64, dtype);
    config.sliding = sliding == 1;
    config.rope = (PagedRope)rope;
    config.dtype = (DType)dtype;
    config.slot = (uint8_t)slot;
    TRY(byte_read_f64(reader, &config.rope_scale));
    TRY(byte_read_f64(reader, &config.rope_theta));
    const uint8_t *kinds;
    if (config.layers < 1) FAIL(CORRUPT, "%" PRIi64 " layers", config.layers);
    TRY(byte_read_view(reader, (size_t)config.layers, &kinds));
    return error_recode(paged_create(&config, kinds, out), ERROR_CORRUPT);
}

static Error *read_sequence(ByteReader *reader, Paged *paged, PagedSequence *sequence) {
    int64_t block, node;
    TRY(read_bool(reader, &sequence->committed));
    TRY(byte_read_i64(reader, &sequence->number));
    TRY(read_between(reader, "a block", 0, paged->block_limit - 1, &block));
    sequence->last_block = (int32_t)block;
    TRY(read_between(reader, "a length", 0, INT32_MAX, &sequence->length));
    TRY(read_between(reader, "a window", -1, INT32_MAX, &sequence->window));
    TRY(read_between(reader, "a sink", 0, INT32_MAX, &sequence->sink));
    if (sequence->window == 0 || (sequence->window > 0 && sequence->sink >= sequence->window))
        FAIL(CORRUPT, "a window of %" PRIi64 " with %" PRIi64 " sinks", sequence->window,
            sequence->sink);
    TRY(byte_read_u32(reader, &sequence->tree_count));
    if (sequence->tree_count > PAGED_TREE_MAX || sequence->tree_count > sequence->length)
        FAIL(CORRUPT, "a tree of %u positions", sequence->tree_count);
    for (uint32_t i = 0; i < sequence->tree_count; i++) {
        TRY(read_between(reader, "a parent", -1, (int64_t)i - 1, &node));
        sequence->parents[i] = (int32_t)node;
        TRY(read_between(reader, "a depth", 0, PAGED_TREE_MAX, &node));
        int64_t depth = sequence->parents[i] == -1 ? 0 : sequence->depths[sequence->parents[i]] + 1;
        if (node != depth) FAIL(CORRUPT, "a depth of %" PRIi64, node);
        sequence->depths[i] = (int32_t)node;
    }
    sequence->used = true;
    return NULL;
}

/* Takes a page that is free so far. */
static Error *take_page(uint8_t *taken, int64_t page) {
    if (taken[page]) FAIL(CORRUPT, "page %" PRIi64 " is taken twice", page);
    taken[page] = 1;
    return NULL;
}

static Error *read_pages(ByteReader *reader, Paged *paged, PagedBlock *block, uint8_t *taken) {
    uint32_t count;
    TRY(byte_read_u32(reader, &count));
    if (count > paged->config.pages) FAIL(CORRUPT, "a block of %u pages", count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t page;
        void *pages = block->pages;
        TRY(read_between(reader, "a page", 0, paged->config.pages - 1, &page));
        TRY(take_page(taken, page));
        TRY(memory_grow(&pages, block->page_count, &block->page_capacity, sizeof(int32_t)));
        block->pages = pages;
        block->pages[block->page_count++] = (int32_t)page;
    }
    return NULL;
}

static Error *read_block(ByteReader *reader, Paged *paged, PagedBlock *block, uint8_t *taken) {
    int64_t parent, references;
    TRY(read_between(reader, "a parent block", -1, paged->block_limit - 1, &parent));
    TRY(read_between(reader, "the references", 1, INT32_MAX, &references));
    TRY(read_between(reader, "a length", 0, INT32_MAX, &block->length));
    TRY(read_between(reader, "a start", 0, INT32_MAX, &block->start));
    TRY(read_between(reader, "a sink", 0, INT32_MAX, &block->sink));
    TRY(read_between(reader, "an offset", block->sink, INT32_MAX, &block->offset));
    block->parent = (int32_t)parent;
    block->references = (int32_t)references;
    TRY(read_pages(reader, paged, block, taken));
    int64_t end =
        block->length > block->sink ? block->length - block->sink + block->offset : block->length;
    if (end > (int64_t)block->page_count * paged->config.page_size)
        FAIL(CORRUPT, "%" PRIi64 " positions in %zu pages", end, block->page_count);
    block->used = true;
    return NULL;
}

/* Every block is reached as often as it counts references, and lengths add up. */
static Error *check_blocks(const Paged *paged) {
    OWN_MEMORY(memory) = NULL;
    TRY(memory_alloc(paged->block_limit, sizeof(int32_t), &memory));
    int32_t *references = memory;
    for (uint32_t i = 0; i < paged->block_limit; i++) {
        const PagedBlock *block = &paged->blocks[i];
        if (!block->used || block->parent == -1) continue;
        if (!paged->blocks[block->parent].used) FAIL(CORRUPT, "block %d is free", block->parent);
        references[block->parent]++;
    }
    for (uint32_t i = 0; i < paged->places; i++) {
        const PagedSequence *sequence = &paged->sequences[i];
        if (!sequence->used) continue;
        references[sequence->last_block]++;
        int64_t length = 0;
        uint32_t steps = 0;
        for (int32_t at = sequence->last_block; at != -1; at = paged->blocks[at].parent) {
            if (!paged->blocks[at].used) FAIL(CORRUPT, "block %d is free", at);
            if (steps++ > paged->block_limit) FAIL(CORRUPT, "block %d is its own parent", at);
            length += paged->blocks[at].length;
        }
        if (length != sequence->length)
            FAIL(CORRUPT, "%" PRIi64 " positions in blocks of %" PRIi64, sequence->length, length);
    }
    for (uint32_t i = 0; i < paged->block_limit; i++)
        if (paged->blocks[i].used && paged->blocks[i].references != references[i])
            FAIL(CORRUPT, "block %u has %d references, not %d", i, references[i],
                paged->blocks[i].references);
    return NULL;
}

static Error *read_free_pages(ByteReader *reader, Paged *paged, uint8_t *taken) {
    uint32_t in_use = 0;
    for (int64_t i = 0; i < paged->config.pages; i++) in_use += taken[i];
    TRY(byte_read_u32(reader, &paged->free_count));
    if (paged->free_count > paged->config.pages ||
        paged->free_count + in_use != paged->config.pages)
        FAIL(CORRUPT, "%u pages are free and %u in use, of %" PRIi64, paged->free_count, in_use,
            paged->config.pages);
    for (uint32_t i = 0; i < paged->free_count; i++) {
        int64_t page;
        TRY(read_between(reader, "a free page", 0, paged->config.pages - 1, &page));
        TRY(take_page(taken, page));
        paged->free_pages[i] = (int32_t)page;
    }
    return NULL;
}

static Error *read_turn(ByteReader *reader, Paged *paged, PagedTurn *turn) {
    int64_t rows = paged->config.pages * paged->config.page_size, row;
    bool context;
    TRY(byte_read_u32(reader, &turn->place));
    if (turn->place >= paged->places) FAIL(CORRUPT, "place %u in a round", turn->place);
    TRY(read_between(reader, "the positions", 1, paged->config.chunk, &turn->appended));
    TRY(read_between(reader, "the positions before", 0, rows, &turn->before));
    TRY(read_bool(reader, &context));
    turn->first = paged->round_count;
    paged->round_count += turn->appended;
    paged->turn_count++;
    if (!context) return NULL;
    void *memory;
    if ((uint64_t)turn->before * 8 > byte_reader_left(reader))
        FAIL(CORRUPT, "%" PRIi64 " rows before a round", turn->before);
    TRY(memory_alloc((size_t)turn->before + 1, sizeof(int32_t), &memory));
    turn->context = memory;
    turn->context_count = turn->before;
    for (int64_t i = 0; i < turn->before; i++) {
        TRY(read_between(reader, "a row", 0, rows - 1, &row));
        turn->context[i] = (int32_t)row;
    }
    return NULL;
}

static Error *read_round(ByteReader *reader, Paged *paged) {
    uint32_t turns;
    int64_t rows = paged->config.pages * paged->config.page_size, value;
    TRY(read_bool(reader, &paged->includes_round));
    TRY(byte_read_u32(reader, &turns));
    if (turns > paged->places) FAIL(CORRUPT, "a round of %u sequences", turns);
    for (uint32_t i = 0; i < turns; i++) TRY(read_turn(reader, paged, &paged->turns[i]));
    if (paged->round_count > paged->config.chunk ||
        (uint64_t)paged->round_count * 16 > byte_reader_left(reader))
        FAIL(CORRUPT, "a round of %" PRIi64 " positions", paged->round_count);
    void *memory;
    TRY(memory_alloc((size_t)paged->round_count + 1, sizeof(int32_t), &memory));
    paged->rows = memory;
    TRY(memory_alloc((size_t)paged->round_count + 1, sizeof(int32_t), &memory));
    paged->positions = memory;
    for (int64_t i = 0; i < paged->round_count; i++) {
        TRY(read_between(reader, "a row", PAGED_PINNED, rows - 1, &value));
        paged->rows[i] = (int32_t)value;
        TRY(read_between(reader, "a position", 0, INT32_MAX, &value));
        paged->positions[i] = (int32_t)value;
    }
    return NULL;
}

Error *paged_read(ByteReader *reader, void **out) {
    OWN(OwnedPaged, paged) = NULL;
    OWN_MEMORY(taken) = NULL;
    TRY(read_config(reader, &paged));
    TRY(memory_alloc((size_t)paged->config.pages, 1, &taken));
    for (uint32_t i = 0; i < paged->places; i++) {
        bool used;
        TRY(read_bool(reader, &used));
        if (used) TRY(read_sequence(reader, paged, &paged->sequences[i]));
    }
    for (uint32_t i = 0; i < paged->block_limit; i++) {
        bool used;
        TRY(read_bool(reader, &used));
        if (used) TRY(read_block(reader, paged, &paged->blocks[i], taken));
    }
    TRY(read_free_pages(reader, paged, taken));
    TRY(check_blocks(paged));
    TRY(read_round(reader, paged));
    TRY(read_bool(reader, &paged->importing));
    const uint8_t *imported;
    TRY(byte_read_view(reader, (size_t)paged->config.layers, &imported));
    memcpy(paged->imported, imported, (size_t)paged->config.layers);
    *out = TAKE(paged);
    return NULL;
}
