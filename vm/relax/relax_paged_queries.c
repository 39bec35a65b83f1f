#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/scalar/scalar_exponential.h"
#include "vm/relax/relax_paged.h"
#include "vm/relax/relax_registry.h"

static Error *get_paged(const Value *arguments, Paged **out) {
    void *state;
    TRY(relax_opaque_state(&arguments[0], &relax_paged, &state));
    *out = state;
    return NULL;
}

RELAX(attention_kv_cache_enable_sliding_window_for_seq) {
    RELAX_UNUSED();
    Paged *paged;
    uint32_t place;
    int64_t window = relax_int(&arguments[2]), sink = relax_int(&arguments[3]);
    TRY(get_paged(arguments, &paged));
    bool layers = false;
    for (int64_t i = 0; i < paged->config.layers; i++)
        layers = layers || paged->kinds[i] == PAGED_MHA_SLIDING;
    if (!paged->config.sliding && !layers) FAIL(INVALID, "the cache has no windows");
    TRY(paged_find(paged, relax_int(&arguments[1]), &place));
    PagedSequence *sequence = &paged->sequences[place];
    if (window < 1 || window > INT32_MAX || sink < 0 || sink >= window)
        FAIL(INVALID, "a window of %" PRIi64 " with %" PRIi64 " sinks", window, sink);
    if (sequence->window != -1)
        FAIL(CONFLICT, "sequence %" PRIi64 " has a window already", sequence->number);
    /* positions that the sequence shares never slide, and are sinks already */
    int64_t shared = sequence->length - paged->blocks[sequence->last_block].length;
    sequence->sink = sink > shared ? sink - shared : 0;
    sequence->window = window;
    return NULL;
}

RELAX(attention_kv_cache_commit_accepted_token_tree_nodes) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t *seqs, *leaves;
    uint32_t seq_count, leaf_count;
    TRY(get_paged(arguments, &paged));
    TRY(relax_ints(call, "the sequences", &arguments[1], &seqs, &seq_count));
    OWN_MEMORY(owned_seqs) = seqs;
    TRY(relax_ints(call, "the leaves", &arguments[2], &leaves, &leaf_count));
    OWN_MEMORY(owned_leaves) = leaves;
    if (seq_count != leaf_count) FAIL(INVALID, "%u sequences and %u leaves", seq_count, leaf_count);
    return paged_commit(call, paged, seqs, leaves, seq_count);
}

RELAX(attention_kv_cache_empty) {
    RELAX_UNUSED();
    Paged *paged;
    TRY(get_paged(arguments, &paged));
    bool empty = paged->free_count == paged->config.pages;
    for (uint32_t i = 0; i < paged->places; i++) empty = empty && !paged->sequences[i].used;
    *out_result = value_bool(empty);
    return NULL;
}

RELAX(attention_kv_cache_get_num_available_pages) {
    RELAX_UNUSED();
    Paged *paged;
    TRY(get_paged(arguments, &paged));
    *out_result = value_int(paged->free_count);
    return NULL;
}

RELAX(attention_kv_cache_get_total_sequence_length) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t total = 0;
    TRY(get_paged(arguments, &paged));
    for (uint32_t i = 0; i < paged->places; i++)
        if (paged->sequences[i].used) total += paged->sequences[i].length;
    *out_result = value_int(total);
    return NULL;
}

RELAX(attention_kv_cache_get_sequence_length) {
    RELAX_UNUSED();
    Paged *paged;
    uint32_t place;
    TRY(get_paged(arguments, &paged));
    if (paged->importing) FAIL(CONFLICT, "an import is not finished");
    TRY(paged_find(paged, relax_int(&arguments[1]), &place));
    *out_result = value_int(paged->sequences[place].length);
    return NULL;
}

RELAX(attention_kv_cache_get_query_positions) {
    RELAX_UNUSED();
    Paged *paged;
    TRY(get_paged(arguments, &paged));
    if (paged->turn_count == 0) FAIL(CONFLICT, "no round is under way");
    Shape shape = shape_make(1, &paged->round_count);
    Tensor *tensor;
    TRY(relax_new_tensor(call, paged->config.slot, DTYPE_INT32, &shape, &tensor));
    if (!tensor) return NULL;
    *out_result = value_object(OBJECT_TENSOR, tensor);
    return tensor_copy_from_host(tensor, paged->positions);
}

/* A range of a sequence's positions for debug_get_*: its rows, which the caller frees. */
static Error *range_rows(
    const Paged *paged, const Value *arguments, int32_t **out_rows, int64_t *out_count) {
    uint32_t place;
    TRY(paged_find(paged, relax_int(&arguments[1]), &place));
    const PagedSequence *sequence = &paged->sequences[place];
    int64_t begin = relax_int(&arguments[2]), end = relax_int(&arguments[3]);
    if (begin < 0 || end > sequence->length || begin >= end)
        FAIL(INVALID, "positions %" PRIi64 " to %" PRIi64 " of %" PRIi64, begin, end,
            sequence->length);
    void *memory;
    TRY(memory_alloc((size_t)sequence->length, sizeof(int32_t), &memory));
    int32_t *rows = memory;
    paged_rows(paged, sequence, rows);
    memmove(rows, rows + begin, (size_t)(end - begin) * sizeof *rows);
    *out_rows = rows;
    *out_count = end - begin;
    return NULL;
}

static Error *check_shape(const Paged *paged, const char *name, const Tensor *tensor, uint32_t rank,
    const int64_t *dims) {
    TRY(relax_expect_dtype(name, tensor, paged->config.dtype));
    Shape wanted = shape_make(rank, dims);
    if (shape_equal(&wanted, &tensor->shape)) return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(&tensor->shape, &text);
    text_append(&text, ", not ");
    shape_print(&wanted, &text);
    FAIL(INVALID, "%s is %s", name, text_builder_get(&text));
}

static Error *expect_layers(const Paged *paged, bool latent) {
    for (int64_t i = 0; i < paged->config.layers; i++)
        if (paged->kinds[i] != (latent ? PAGED_MLA : PAGED_MHA))
            FAIL(INVALID, "layer %" PRIi64 " is of attention kind %u", i, paged->kinds[i]);
    return NULL;
}

/* Writes a part of each row of all layers, [layers, rows, part], into a tensor. */
static Error *write_parts(const PackedCall *call, const Paged *paged, const char *name,
    Tensor *tensor, const int32_t *rows, int64_t count, uint64_t from, uint64_t size) {
    const uint64_t row_bytes = paged_row_bytes(paged, 0);
    OWN_MEMORY(memory) = NULL;
    OWN_TENSOR_BYTES(out) = {0};
    TRY(relax_open_written(call, name, tensor, false, &out));
    TRY(memory_alloc((size_t)count, row_bytes, &memory));
    uint8_t *to = out.bytes;
    for (int64_t layer = 0; layer < paged->config.layers; layer++) {
        TRY(paged_read_rows(paged, layer, rows, count, memory));
        for (int64_t i = 0; i < count; i++, to += size)
            memcpy(to, (const uint8_t *)memory + (uint64_t)i * row_bytes + from, size);
    }
    return relax_store(call, &out);
}

RELAX(attention_kv_cache_debug_get_kv) {
    RELAX_UNUSED();
    Paged *paged;
    int32_t *rows;
    int64_t positions;
    TRY(get_paged(arguments, &paged));
    const PagedConfig *config = &paged->config;
    TRY(expect_layers(paged, false));
    TRY(range_rows(paged, arguments, &rows, &positions));
    OWN_MEMORY(owned) = rows;
    const int64_t dims[] = {config->layers, positions, config->kv_heads, config->key_size};
    const uint64_t size = paged_row_bytes(paged, 0) / 2;
    for (uint32_t which = 0; which < 2; which++)
        TRY(check_shape(
            paged, which ? "the values" : "the keys", arguments[4 + which].tensor, 4, dims));
    for (uint32_t which = 0; which < 2; which++)
        TRY(write_parts(call, paged, which ? "the values" : "the keys", arguments[4 + which].tensor,
            rows, positions, which * size, size));
    return NULL;
}

RELAX(attention_kv_cache_debug_get_kv_mla) {
    RELAX_UNUSED();
    Paged *paged;
    int32_t *rows;
    int64_t positions;
    TRY(get_paged(arguments, &paged));
    const PagedConfig *config = &paged->config;
    TRY(expect_layers(paged, true));
    TRY(range_rows(paged, arguments, &rows, &positions));
    OWN_MEMORY(owned) = rows;
    const int64_t dims[] = {config->layers, positions, config->key_size};
    TRY(check_shape(paged, "the rows", arguments[4].tensor, 3, dims));
    return write_parts(call, paged, "the rows", arguments[4].tensor, rows, positions, 0,
        paged_row_bytes(paged, 0));
}

static void merge(float *out, float *lse, const float *other, const float *other_lse, int64_t rows,
    int64_t size) {
    const float ln2 = 0.693147181f;
    for (int64_t i = 0; i < rows; i++) {
        float largest = lse[i] > other_lse[i] ? lse[i] : other_lse[i];
        float a = scalar_exp_f32((lse[i] - largest) * ln2);
        float b = scalar_exp_f32((other_lse[i] - largest) * ln2);
        for (int64_t c = 0; c < size; c++)
            out[i * size + c] = (out[i * size + c] * a + other[i * size + c] * b) / (a + b);
        lse[i] = largest + scalar_log_f32(a + b) * 1.44269504f;
    }
}

/* Arguments: cache, output and lse that change, output and lse of the other part. */
RELAX(attention_kv_cache_merge_attn_output_inplace) {
    RELAX_UNUSED();
    Paged *paged;
    TRY(get_paged(arguments, &paged));
    const Tensor *out = arguments[1].tensor, *lse = arguments[2].tensor;
    const Tensor *other = arguments[3].tensor, *other_lse = arguments[4].tensor;
    int64_t rows = shape_count_unchecked(&lse->shape), all = shape_count_unchecked(&out->shape);
    TRY(relax_expect_dtype("the outputs", out, paged->config.dtype));
    TRY(relax_expect_dtype("the other outputs", other, paged->config.dtype));
    TRY(relax_expect_dtype("the lse", lse, DTYPE_FLOAT32));
    TRY(relax_expect_dtype("the other lse", other_lse, DTYPE_FLOAT32));
    if (!shape_equal(&out->shape, &other->shape) || !shape_equal(&lse->shape, &other_lse->shape) ||
        rows == 0 || all % rows != 0)
        FAIL(INVALID, "outputs of %" PRIi64 " and %" PRIi64 " elements with lse of %" PRIi64, all,
            shape_count_unchecked(&other->shape), rows);
    const void *other_bytes, *other_lse_bytes;
    OWN_MEMORY(copy) = NULL;
    OWN_MEMORY(copy_lse) = NULL;
    OWN_MEMORY(memory) = NULL;
    OWN_TENSOR_BYTES(out_bytes) = {0};
    OWN_TENSOR_BYTES(lse_bytes) = {0};
    TRY(relax_host_bytes(call, "the other outputs", other, &other_bytes, &copy));
    TRY(relax_host_bytes(call, "the other lse", other_lse, &other_lse_bytes, &copy_lse));
    TRY(relax_open_written(call, "the outputs", arguments[1].tensor, true, &out_bytes));
    TRY(relax_open_written(call, "the lse", arguments[2].tensor, true, &lse_bytes));
    TRY(memory_alloc((size_t)all * 2, sizeof(float), &memory));
    float *floats = memory, *others = floats + all;
    paged_load(out->dtype, out_bytes.bytes, all, floats);
    paged_load(out->dtype, other_bytes, all, others);
    merge(floats, lse_bytes.bytes, others, other_lse_bytes, rows, all / rows);
    paged_store(out->dtype, floats, all, out_bytes.bytes);
    TRY(relax_store(call, &out_bytes));
    TRY(relax_store(call, &lse_bytes));
    Adt *pair;
    TRY(adt_create(call->meter, 0, 2, &pair));
    for (uint32_t i = 0; i < 2; i++) pair->fields[i] = value_copy(arguments[1 + i]);
    *out_result = value_object(OBJECT_ADT, pair);
    return NULL;
}

/* The round's rows as [n, begin 1, length 1, ..., begin n, length n]. */
RELAX(kv_cache_disagg_prepare_recv) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t seq = relax_int(&arguments[1]), length = relax_int(&arguments[2]);
    TRY(get_paged(arguments, &paged));
    TRY(paged_begin(paged, &seq, &length, 1, NULL, 0));
    OWN_MEMORY(memory) = NULL;
    TRY(memory_alloc((size_t)length * 2 + 1, sizeof(int64_t), &memory));
    int64_t *packed = memory;
    for (int64_t i = 0; i < length; i++) {
        if (i == 0 || paged->rows[i] != paged->rows[i - 1] + 1) {
            packed[1 + 2 * packed[0]] = paged->rows[i];
            packed[0]++;
        }
        packed[2 * packed[0]]++;
    }
    return relax_new_ints(call, packed, 1 + 2 * (uint64_t)packed[0], out_result);
}

RELAX(kv_cache_disagg_mark_send) {
    RELAX_UNUSED();
    FAIL(UNSUPPORTED, "a cache that sends its pages to other processes");
}
