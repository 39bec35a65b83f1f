#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/relax/relax_paged.h"

Error *paged_find(const Paged *paged, int64_t number, uint32_t *out_place) {
    for (uint32_t i = 0; i < paged->places; i++) {
        if (!paged->sequences[i].used || paged->sequences[i].number != number) continue;
        *out_place = i;
        return NULL;
    }
    FAIL(NOT_FOUND, "there is no sequence %" PRIi64, number);
}

static Error *take_place(const Paged *paged, int64_t number, uint32_t *out_place) {
    *out_place = UINT32_MAX;
    for (uint32_t i = paged->places; i > 0; i--) {
        const PagedSequence *sequence = &paged->sequences[i - 1];
        if (!sequence->used) *out_place = i - 1;
        if (sequence->used && sequence->number == number)
            FAIL(CONFLICT, "there is a sequence %" PRIi64 " already", number);
    }
    if (*out_place == UINT32_MAX)
        FAIL(EXHAUSTED, "sequence %" PRIi64 ": all %u places are taken", number, paged->places);
    return NULL;
}

/* Fails unless that many blocks are free, so that a function changes nothing before. */
static Error *expect_blocks(const Paged *paged, uint32_t count) {
    for (uint32_t i = 0; i < paged->block_limit && count > 0; i++)
        if (!paged->blocks[i].used) count--;
    if (count > 0) FAIL(EXHAUSTED, "all %u blocks of the cache are in use", paged->block_limit);
    return NULL;
}

/* A block without pages; expect_blocks has found one. */
static int32_t take_block(Paged *paged) {
    uint32_t index = 0;
    while (paged->blocks[index].used) index++;
    PagedBlock *block = &paged->blocks[index];
    int32_t *pages = block->pages;
    size_t capacity = block->page_capacity;
    *block = (PagedBlock){.used = true, .parent = -1, .pages = pages, .page_capacity = capacity};
    return (int32_t)index;
}

static Error *push_page(PagedBlock *block, int32_t page) {
    void *pages = block->pages;
    TRY(memory_grow(&pages, block->page_count, &block->page_capacity, sizeof(int32_t)));
    block->pages = pages;
    block->pages[block->page_count++] = page;
    return NULL;
}

static void free_page(Paged *paged, int32_t page) {
    if (page != PAGED_NO_PAGE) paged->free_pages[paged->free_count++] = page;
}

static void free_block(Paged *paged, PagedBlock *block) {
    for (size_t i = 0; i < block->page_count; i++) free_page(paged, block->pages[i]);
    block->page_count = 0;
    block->used = false;
}

/* A sequence whose last block is that one; its length is that of the blocks. */
static void set_sequence(Paged *paged, uint32_t place, int64_t number, int32_t last_block) {
    PagedSequence *sequence = &paged->sequences[place];
    *sequence = (PagedSequence){
        .used = true, .committed = true, .number = number, .last_block = last_block, .window = -1};
    paged->blocks[last_block].references++;
    for (int32_t i = last_block; i != -1; i = paged->blocks[i].parent)
        sequence->length += paged->blocks[i].length;
}

Error *paged_add(void *state, int64_t number) {
    Paged *paged = state;
    uint32_t place;
    TRY(take_place(paged, number, &place));
    TRY(expect_blocks(paged, 1));
    set_sequence(paged, place, number, take_block(paged));
    return NULL;
}

static void drop_sequence(Paged *paged, PagedSequence *sequence) {
    paged_forget_tables(paged);
    int32_t index = sequence->last_block;
    while (index != -1 && paged->blocks[index].references == 1) {
        int32_t parent = paged->blocks[index].parent;
        free_block(paged, &paged->blocks[index]);
        index = parent;
    }
    if (index != -1) paged->blocks[index].references--;
    sequence->used = false;
}

Error *paged_remove(void *state, int64_t number) {
    Paged *paged = state;
    uint32_t place;
    TRY(paged_find(paged, number, &place));
    drop_sequence(paged, &paged->sequences[place]);
    return NULL;
}

/* Moves the first pages of a block to a new block, its parent, which the child shares. */
static Error *split_block(
    Paged *paged, PagedSequence *sequence, int32_t index, int32_t child, int64_t pages) {
    int32_t upper = take_block(paged);
    PagedBlock *parent = &paged->blocks[upper], *block = &paged->blocks[index];
    for (int64_t i = 0; i < pages; i++) {
        Error *error = push_page(parent, block->pages[i]);
        if (!error) continue;
        parent->page_count = 0;
        parent->used = false;
        return error;
    }
    int64_t moved = pages * paged->config.page_size;
    memmove(block->pages, block->pages + pages,
        (block->page_count - (size_t)pages) * sizeof *block->pages);
    block->page_count -= (size_t)pages;
    parent->parent = block->parent;
    parent->references = 2;
    parent->start = block->start;
    parent->length = moved;
    block->parent = upper;
    block->start += moved;
    block->length -= moved;
    if (sequence->window != -1 && index == sequence->last_block) sequence->sink -= moved;
    paged->blocks[child].parent = upper;
    return NULL;
}

/* The block of a sequence that has a position, and the position in it. The last block has all
 * positions behind it. */
static int32_t find_block(
    const Paged *paged, const PagedSequence *sequence, int64_t position, int64_t *out_in_block) {
    int32_t index = sequence->last_block;
    int64_t begin = sequence->length - paged->blocks[index].length;
    while (position < begin) {
        index = paged->blocks[index].parent;
        begin -= paged->blocks[index].length;
    }
    *out_in_block = position - begin;
    return index;
}

/* Gives a child block the positions of a sequence before `position`: whole pages are shared by a
 * common parent, the rest of a page is copied. */
static Error *link_child(Paged *paged, PagedSequence *sequence, int64_t position, int32_t child) {
    int64_t in_block, page_size = paged->config.page_size;
    int32_t index = find_block(paged, sequence, position, &in_block);
    int64_t rest = in_block % page_size, pages = in_block / page_size;
    if (rest > 0 && paged->free_count == 0) FAIL(EXHAUSTED, "no page of the cache is free");
    if (pages > 0) {
        TRY(split_block(paged, sequence, index, child, pages));
    } else {
        int32_t parent = paged->blocks[index].parent;
        if (parent != -1) paged->blocks[parent].references++;
        paged->blocks[child].parent = parent;
    }
    paged->blocks[child].start = position - rest;
    paged->blocks[child].length = rest;
    if (rest == 0) return NULL;
    int32_t to = paged->free_pages[paged->free_count - 1];
    TRY(push_page(&paged->blocks[child], to));
    paged->free_count--;
    return paged_copy_page(paged, paged->blocks[index].pages[0], to);
}

/* Whether link_child copies a page: then the page is made writable, before anything changes. */
static Error *open_copied_page(PackedCall *call, Paged *paged, const PagedSequence *sequence,
    int64_t position, bool *out_open) {
    int64_t in_block;
    *out_open = true;
    (void)find_block(paged, sequence, position, &in_block);
    if (in_block % paged->config.page_size == 0 || paged->free_count == 0) return NULL;
    return paged_open_page(call, paged, paged->free_pages[paged->free_count - 1], out_open);
}

static Error *check_fork(const Paged *paged, const PagedSequence *parent, int64_t position) {
    if (position < 0 || position > parent->length)
        FAIL(INVALID, "a fork at position %" PRIi64 " of %" PRIi64, position, parent->length);
    if (!parent->committed)
        FAIL(CONFLICT, "sequence %" PRIi64 " has a token tree that is not committed",
            parent->number);
    if (parent->window == -1) return NULL;
    int64_t sinks = parent->length - paged->blocks[parent->last_block].length + parent->sink;
    if (position > sinks)
        FAIL(INVALID,
            "sequence %" PRIi64 " has a window and forks within its first %" PRIi64
            " positions only, not at %" PRIi64,
            parent->number, sinks, position);
    return NULL;
}

/* What is appended to the parent later goes to a block of its own. */
static void close_last_block(Paged *paged, PagedSequence *sequence) {
    int32_t index = take_block(paged);
    PagedBlock *block = &paged->blocks[index];
    block->start = sequence->length;
    block->parent = sequence->last_block;
    block->references = 1;
    sequence->last_block = index;
}

static Error *fork_at(
    Paged *paged, PagedSequence *parent, uint32_t place, int64_t number, int64_t position) {
    TRY(expect_blocks(paged, 3));
    if (position == parent->length && position % paged->config.page_size == 0 &&
        paged->blocks[parent->last_block].length > 0)
        close_last_block(paged, parent);
    int32_t child = take_block(paged);
    Error *error = link_child(paged, parent, position, child);
    if (error) {
        paged->blocks[child].used = false;
        return error;
    }
    set_sequence(paged, place, number, child);
    return NULL;
}

Error *paged_fork(PackedCall *call, void *state, int64_t parent, int64_t child, int64_t position) {
    Paged *paged = state;
    uint32_t from, to;
    bool open;
    TRY(paged_find(paged, parent, &from));
    TRY(take_place(paged, child, &to));
    if (position == -1) position = paged->sequences[from].length;
    TRY(check_fork(paged, &paged->sequences[from], position));
    TRY(open_copied_page(call, paged, &paged->sequences[from], position, &open));
    if (!open) return NULL;
    paged_forget_tables(paged);
    return fork_at(paged, &paged->sequences[from], to, child, position);
}

/* Drops positions from blocks that only this sequence has; the number left to drop. */
static int64_t pop_own_blocks(Paged *paged, PagedSequence *sequence, int64_t count) {
    while (sequence->last_block != -1 && count > 0) {
        PagedBlock *block = &paged->blocks[sequence->last_block];
        if (block->references != 1) break;
        if (count > block->length) {
            count -= block->length;
            sequence->length -= block->length;
            sequence->last_block = block->parent;
            free_block(paged, block);
            continue;
        }
        int64_t kept = block->length - count;
        int64_t end = kept > block->sink ? kept - block->sink + block->offset : kept;
        size_t pages = (size_t)((end + paged->config.page_size - 1) / paged->config.page_size);
        while (block->page_count > pages) free_page(paged, block->pages[--block->page_count]);
        block->length = kept;
        sequence->length -= count;
        count = 0;
    }
    return count;
}

/* Whether the fork of paged_pop copies a page. Blocks that are popped first give their pages back,
 * the last one of which is taken then. */
static Error *open_page_after_pop(
    PackedCall *call, Paged *paged, const PagedSequence *sequence, int64_t count, bool *out_open) {
    const PagedConfig *config = &paged->config;
    int32_t page = paged->free_count > 0 ? paged->free_pages[paged->free_count - 1] : PAGED_NO_PAGE;
    int32_t index = sequence->last_block;
    *out_open = true;
    while (index != -1 && paged->blocks[index].references == 1) {
        const PagedBlock *block = &paged->blocks[index];
        if (count <= block->length) return NULL; /* nothing is forked */
        count -= block->length;
        if (block->page_count > 0) page = block->pages[block->page_count - 1];
        index = block->parent;
    }
    if (index == -1 || count == 0 || page == PAGED_NO_PAGE) return NULL;
    int64_t kept = -count;
    for (int32_t at = index; at != -1; at = paged->blocks[at].parent)
        kept += paged->blocks[at].length;
    int64_t begin = 0;
    for (int32_t at = paged->blocks[index].parent; at != -1; at = paged->blocks[at].parent)
        begin += paged->blocks[at].length;
    while (kept < begin) {
        index = paged->blocks[index].parent;
        begin -= paged->blocks[index].length;
    }
    if ((kept - begin) % config->page_size == 0) return NULL;
    return paged_open_page(call, paged, page, out_open);
}

/* Positions that other sequences share are dropped by a fork that takes the sequence's place. */
Error *paged_pop(PackedCall *call, void *state, int64_t number, int64_t count) {
    Paged *paged = state;
    uint32_t place, to = UINT32_MAX;
    TRY(paged_find(paged, number, &place));
    PagedSequence *sequence = &paged->sequences[place];
    if (count < 0 || count > sequence->length)
        FAIL(INVALID,
            "sequence %" PRIi64 " has %" PRIi64 " positions, and %" PRIi64 " are to be dropped",
            number, sequence->length, count);
    for (uint32_t i = 0; i < paged->places && to == UINT32_MAX; i++)
        if (!paged->sequences[i].used) to = i;
    if (to == UINT32_MAX) FAIL(EXHAUSTED, "all %u places are taken", paged->places);
    TRY(expect_blocks(paged, 3));
    bool open;
    TRY(open_page_after_pop(call, paged, sequence, count, &open));
    if (!open) return NULL;
    paged_forget_tables(paged);
    count = pop_own_blocks(paged, sequence, count);
    if (count == 0) return NULL;
    TRY(fork_at(paged, sequence, to, number, sequence->length - count));
    PagedSequence popped = paged->sequences[to];
    paged->sequences[to].used = false;
    popped.committed = sequence->committed;
    drop_sequence(paged, sequence);
    *sequence = popped;
    return NULL;
}

/* Frees the pages that the window has left. The window's first page may be the sinks' last one. */
static void slide(Paged *paged, PagedSequence *sequence) {
    if (sequence->window == -1 || !paged->config.sliding) return;
    if (sequence->length <= sequence->window) return;
    int64_t page_size = paged->config.page_size, slid = sequence->length - sequence->window;
    PagedBlock *block = &paged->blocks[sequence->last_block];
    if (sequence->sink > 0 && block->sink == 0) block->sink = block->offset = sequence->sink;
    int64_t sink_pages = (block->sink + page_size - 1) / page_size;
    int64_t page = (block->offset + slid) / page_size;
    int64_t in_page = (block->offset + slid) % page_size;
    for (; page > sink_pages; page--) {
        free_page(paged, block->pages[sink_pages]);
        memmove(block->pages + sink_pages, block->pages + sink_pages + 1,
            (block->page_count - (size_t)sink_pages - 1) * sizeof *block->pages);
        block->page_count--;
    }
    sequence->length = sequence->window;
    block->length -= slid;
    block->offset = page * page_size + in_page;
}

Error *paged_reserve(Paged *paged, PagedSequence *sequence, int64_t count) {
    PagedBlock *block = &paged->blocks[sequence->last_block];
    int64_t page_size = paged->config.page_size;
    bool lends = sequence->window != -1 && paged->config.sliding;
    int64_t wanted =
        (block->length - block->sink + block->offset + count + page_size - 1) / page_size;
    while ((int64_t)block->page_count < wanted) {
        if (paged->free_count == 0 && !lends) FAIL(EXHAUSTED, "no page of the cache is free");
        int32_t page =
            paged->free_count > 0 ? paged->free_pages[paged->free_count - 1] : PAGED_NO_PAGE;
        TRY(push_page(block, page));
        if (page != PAGED_NO_PAGE) paged->free_count--;
    }
    block->length += count;
    sequence->length += count;
    slide(paged, sequence);
    for (size_t i = 0; i < block->page_count; i++) {
        if (block->pages[i] != PAGED_NO_PAGE) continue;
        if (paged->free_count == 0) FAIL(EXHAUSTED, "no page of the cache is free");
        block->pages[i] = paged->free_pages[--paged->free_count];
    }
    return NULL;
}

int32_t paged_block_row(const Paged *paged, const PagedBlock *block, int64_t i) {
    int64_t offset = i < block->sink ? i : i - block->sink + block->offset;
    int64_t page_size = paged->config.page_size;
    return (int32_t)(block->pages[offset / page_size] * page_size + offset % page_size);
}

void paged_rows(const Paged *paged, const PagedSequence *sequence, int32_t *out_rows) {
    int64_t end = sequence->length;
    for (int32_t index = sequence->last_block; index != -1; index = paged->blocks[index].parent) {
        const PagedBlock *block = &paged->blocks[index];
        for (int64_t i = 0; i < block->length; i++)
            out_rows[end - block->length + i] = paged_block_row(paged, block, i);
        end -= block->length;
    }
}
