#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "vm/relax/relax_paged.h"

static int64_t segments_of(const Paged *paged) {
    return paged->config.layers * paged->segment_count;
}

void paged_destroy(void *state) {
    Paged *paged = state;
    for (uint32_t i = 0; paged->blocks && i < paged->block_limit; i++)
        memory_free(paged->blocks[i].pages);
    paged_release_round(paged);
    memory_free(paged->turns);
    paged_forget_plans(paged);
    for (uint32_t i = 0; i < 2; i++) tensor_release(paged->angles[i]);
    for (int64_t i = 0; paged->segments && i < segments_of(paged); i++)
        value_release(&paged->segments[i]);
    memory_free(paged->kinds);
    memory_free(paged->segments);
    memory_free(paged->free_in_segment);
    memory_free(paged->free_pages);
    memory_free(paged->blocks);
    memory_free(paged->sequences);
    memory_free(paged->imported);
    memory_free(paged);
}

static uint64_t paged_bytes(const void *state) {
    const Paged *paged = state;
    const PagedConfig *config = &paged->config;
    return sizeof(Paged) + (uint64_t)segments_of(paged) * sizeof(Value) +
           (uint64_t)config->pages * 16 + paged->block_limit * sizeof(PagedBlock) +
           paged->places * (sizeof(PagedSequence) + sizeof(PagedTurn)) +
           (uint64_t)config->chunk * 8;
}

static Error *check_range(const char *what, int64_t value, int64_t most) {
    if (value < 1 || value > most)
        FAIL(INVALID, "%s is %" PRIi64 "; it may be 1 to %" PRIi64, what, value, most);
    return NULL;
}

static Error *check_config(const PagedConfig *config) {
    TRY(check_range("the number of layers", config->layers, PAGED_LAYERS_MAX));
    TRY(check_range("the number of query heads", config->query_heads, PAGED_HEADS_MAX));
    TRY(check_range("the number of kv heads", config->kv_heads, PAGED_HEADS_MAX));
    TRY(check_range("the size of a key", config->key_size, PAGED_DIMENSIONS_MAX));
    TRY(check_range("the size of a value", config->value_size, PAGED_DIMENSIONS_MAX));
    TRY(check_range("the number of sequences", config->reserved, PAGED_SEQUENCES_MAX));
    TRY(check_range("the number of pages", config->pages, PAGED_PAGES_MAX));
    TRY(check_range("the positions of a round", config->chunk, INT32_MAX));
    TRY(check_range("the size of a page", config->page_size, PAGED_PAGE_SIZE_MAX));
    TRY(check_range("the window of a layer", config->layer_window, INT64_MAX));
    if (config->pages > INT32_MAX / config->page_size)
        FAIL(INVALID, "%" PRIi64 " pages of %" PRIi64 " positions are too many", config->pages,
            config->page_size);
    if (config->layer_begin < 0 || config->layer_begin > PAGED_LAYERS_MAX)
        FAIL(INVALID, "the first layer is %" PRIi64, config->layer_begin);
    if (config->query_heads % config->kv_heads != 0)
        FAIL(INVALID, "%" PRIi64 " query heads for %" PRIi64 " kv heads", config->query_heads,
            config->kv_heads);
    if ((uint32_t)config->rope > PAGED_ROPE_INLINE)
        FAIL(INVALID, "rope mode %d; the modes are 0 to 2", (int)config->rope);
    if (config->rope != PAGED_ROPE_NONE &&
        (config->key_size % 2 != 0 || !isfinite(config->rope_scale) || !(config->rope_theta > 0) ||
            !isfinite(config->rope_theta)))
        FAIL(INVALID, "rotary keys of %" PRIi64 " elements, scale %g, theta %g", config->key_size,
            config->rope_scale, config->rope_theta);
    if (config->dtype != DTYPE_FLOAT32 && config->dtype != DTYPE_FLOAT16 &&
        config->dtype != DTYPE_BFLOAT16)
        FAIL(UNSUPPORTED, "a cache of %s; it may be of float32, float16 or bfloat16",
            dtype_name(config->dtype));
    return NULL;
}

static Error *check_kinds(const PagedConfig *config, const uint8_t *kinds) {
    for (int64_t i = 0; i < config->layers; i++) {
        if (kinds[i] == PAGED_LINEAR || kinds[i] > PAGED_MHA_SLIDING)
            FAIL(UNSUPPORTED, "layer %" PRIi64 " is of attention kind %u", i, kinds[i]);
        if (kinds[i] == PAGED_MLA && config->sliding)
            FAIL(UNSUPPORTED, "layer %" PRIi64 " is of kind MLA, which has no windows", i);
        if (kinds[i] == PAGED_MLA && config->value_size > config->key_size)
            FAIL(INVALID, "a value of %" PRIi64 " elements in a latent row of %" PRIi64,
                config->value_size, config->key_size);
        if (kinds[i] != PAGED_MLA && config->value_size != config->key_size)
            FAIL(INVALID, "keys of %" PRIi64 " elements and values of %" PRIi64, config->key_size,
                config->value_size);
    }
    return NULL;
}

static Error *take_memory(uint64_t count, size_t size, void **out) {
    uint64_t bytes;
    if (!checked_mul_u64(count, size, &bytes) || bytes > INT64_MAX)
        FAIL(INVALID, "the cache takes more bytes than can be counted");
    return memory_alloc(count > 0 ? count : 1, size, out);
}

/* How many pages a segment has: those of all layers have the same number. */
static Error *set_segments(Paged *paged) {
    const PagedConfig *config = &paged->config;
    uint64_t largest = 1, bytes;
    for (int64_t i = 0; i < config->layers; i++) {
        bytes = (uint64_t)config->page_size * paged_row_bytes(paged, i);
        if (bytes > largest) largest = bytes;
    }
    const uint64_t pages = (uint64_t)config->pages;
    uint64_t size = (PAGED_SEGMENT_BYTES + largest - 1) / largest;
    if (size > pages) size = pages;
    if (size * PAGED_SEGMENTS_MAX < pages)
        size = (pages + PAGED_SEGMENTS_MAX - 1) / PAGED_SEGMENTS_MAX;
    paged->segment_pages = (uint32_t)size;
    paged->segment_count = (uint32_t)((pages + size - 1) / size);
    if (!checked_mul_u64(largest, size, &bytes) ||
        !checked_mul_u64(bytes, paged->segment_count * (uint64_t)config->layers, &bytes) ||
        bytes > INT64_MAX ||
        size * paged->segment_count > (uint64_t)(INT32_MAX / config->page_size))
        FAIL(INVALID, "the cache takes more bytes than can be counted");
    return NULL;
}

Error *paged_create(const PagedConfig *config, const uint8_t *kinds, Paged **out) {
    TRY(check_config(config));
    TRY(check_kinds(config, kinds));
    void *memory;
    TRY(memory_alloc(1, sizeof(Paged), &memory));
    OWN(OwnedPaged, paged) = memory;
    paged->config = *config;
    paged->places = (uint32_t)config->reserved * 2 + 16;
    paged->block_limit = paged->places * 8 + (uint32_t)config->pages;
    TRY(take_memory((uint64_t)config->layers, 1, &memory));
    paged->kinds = memory;
    memcpy(paged->kinds, kinds, (size_t)config->layers);
    TRY(set_segments(paged));
    TRY(take_memory((uint64_t)segments_of(paged), sizeof(Value), &memory));
    paged->segments = memory;
    TRY(take_memory(paged->segment_count, sizeof(uint32_t), &memory));
    paged->free_in_segment = memory;
    TRY(take_memory((uint64_t)config->pages, sizeof(int32_t), &memory));
    paged->free_pages = memory;
    TRY(take_memory(paged->block_limit, sizeof(PagedBlock), &memory));
    paged->blocks = memory;
    TRY(take_memory(paged->places, sizeof(PagedSequence), &memory));
    paged->sequences = memory;
    TRY(take_memory(paged->places, sizeof(PagedTurn), &memory));
    paged->turns = memory;
    TRY(take_memory((uint64_t)config->layers, 1, &memory));
    paged->imported = memory;
    paged_clear(paged);
    *out = TAKE(paged);
    return NULL;
}

void paged_clear(void *state) {
    Paged *paged = state;
    paged_release_round(paged);
    for (uint32_t i = 0; i < paged->places; i++) paged->sequences[i].used = false;
    for (uint32_t i = 0; i < paged->block_limit; i++) {
        paged->blocks[i].used = false;
        paged->blocks[i].page_count = 0;
    }
    paged->free_count = (uint32_t)paged->config.pages;
    for (uint32_t i = 0; i < paged->free_count; i++)
        paged->free_pages[i] = (int32_t)(paged->free_count - 1 - i);
    paged_drop_segments(paged);
    paged->importing = false;
}

static void save_config(const Paged *paged, ByteWriter *writer) {
    const PagedConfig *config = &paged->config;
    const int64_t numbers[] = {config->layers, config->layer_begin, config->query_heads,
        config->kv_heads, config->key_size, config->value_size, config->reserved, config->pages,
        config->chunk, config->page_size, config->layer_window, config->sliding, config->rope,
        config->dtype, config->slot};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        byte_write_i64(writer, numbers[i]);
    byte_write_f64(writer, config->rope_scale);
    byte_write_f64(writer, config->rope_theta);
    byte_write_bytes(writer, paged->kinds, (size_t)config->layers);
}

static void save_sequences(const Paged *paged, ByteWriter *writer) {
    for (uint32_t i = 0; i < paged->places; i++) {
        const PagedSequence *sequence = &paged->sequences[i];
        byte_write_u8(writer, sequence->used);
        if (!sequence->used) continue;
        byte_write_u8(writer, sequence->committed);
        byte_write_i64(writer, sequence->number);
        byte_write_i64(writer, sequence->last_block);
        byte_write_i64(writer, sequence->length);
        byte_write_i64(writer, sequence->window);
        byte_write_i64(writer, sequence->sink);
        byte_write_u32(writer, sequence->tree_count);
        for (uint32_t n = 0; n < sequence->tree_count; n++) {
            byte_write_i64(writer, sequence->parents[n]);
            byte_write_i64(writer, sequence->depths[n]);
        }
    }
}

static void save_block(const PagedBlock *block, ByteWriter *writer) {
    byte_write_i64(writer, block->parent);
    byte_write_i64(writer, block->references);
    byte_write_i64(writer, block->length);
    byte_write_i64(writer, block->start);
    byte_write_i64(writer, block->sink);
    byte_write_i64(writer, block->offset);
    byte_write_u32(writer, (uint32_t)block->page_count);
    for (size_t i = 0; i < block->page_count; i++) byte_write_i64(writer, block->pages[i]);
}

static void save_round(const Paged *paged, ByteWriter *writer) {
    byte_write_u8(writer, paged->includes_round);
    byte_write_u32(writer, paged->turn_count);
    for (uint32_t i = 0; i < paged->turn_count; i++) {
        const PagedTurn *turn = &paged->turns[i];
        byte_write_u32(writer, turn->place);
        byte_write_i64(writer, turn->appended);
        byte_write_i64(writer, turn->before);
        byte_write_u8(writer, turn->context != NULL);
        for (int64_t n = 0; turn->context && n < turn->context_count; n++)
            byte_write_i64(writer, turn->context[n]);
    }
    for (int64_t i = 0; i < paged->round_count; i++) {
        byte_write_i64(writer, paged->rows[i]);
        byte_write_i64(writer, paged->positions[i]);
    }
}

static Error *paged_save(const void *state, ByteWriter *writer) {
    const Paged *paged = state;
    save_config(paged, writer);
    save_sequences(paged, writer);
    for (uint32_t i = 0; i < paged->block_limit; i++) {
        byte_write_u8(writer, paged->blocks[i].used);
        if (paged->blocks[i].used) save_block(&paged->blocks[i], writer);
    }
    /* the order in which free pages are taken */
    byte_write_u32(writer, paged->free_count);
    for (uint32_t i = 0; i < paged->free_count; i++) byte_write_i64(writer, paged->free_pages[i]);
    save_round(paged, writer);
    byte_write_u8(writer, paged->importing);
    byte_write_bytes(writer, paged->imported, (size_t)paged->config.layers);
    return byte_writer_check(writer);
}

static Error *paged_copy(const void *state, void **out) {
    const Paged *from = state;
    ByteWriter OWN_BYTES(bytes) = {0};
    TRY(paged_save(from, &bytes));
    TRY(byte_writer_check(&bytes));
    ByteReader reader = byte_reader(bytes.data, bytes.size);
    TRY(relax_paged.load(&reader, out));
    const Paged *to = *out;
    for (int64_t i = 0; i < segments_of(from); i++) to->segments[i] = value_copy(from->segments[i]);
    return NULL;
}

static Value *paged_values(void *state, uint32_t *out_count) {
    const Paged *paged = state;
    *out_count = (uint32_t)segments_of(paged);
    return paged->segments;
}

static Error *paged_check_values(const void *state) {
    const Paged *paged = state;
    for (int64_t i = 0; i < segments_of(paged); i++) {
        const Value *segment = &paged->segments[i];
        if (segment->tag == VALUE_NIL) continue;
        if (!value_is(segment, OBJECT_TENSOR))
            FAIL(CORRUPT, "segment %" PRIi64 " is a %s", i, value_kind_name(segment));
        const Shape shape = paged_segment_shape(paged, i / paged->segment_count);
        const Tensor *tensor = segment->tensor;
        if (!tensor->written || tensor->dtype != paged->config.dtype ||
            tensor->storage->slot != paged->config.slot || !shape_equal(&tensor->shape, &shape))
            FAIL(CORRUPT, "segment %" PRIi64 " is another tensor than the cache's", i);
    }
    return NULL;
}

static void paged_print(const void *state, TextBuilder *out) {
    const Paged *paged = state;
    text_appendf(out, "of %" PRIi64 " pages, %u free", paged->config.pages, paged->free_count);
}

const OpaqueKind relax_paged = {
    .name = "relax.paged_kv_cache.2",
    .destroy = paged_destroy,
    .bytes = paged_bytes,
    .copy = paged_copy,
    .save = paged_save,
    .load = paged_read,
    .values = paged_values,
    .check_values = paged_check_values,
    .print = paged_print,
};
