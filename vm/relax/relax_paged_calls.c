#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/relax/relax_paged.h"
#include "vm/relax/relax_registry.h"

enum { CREATE_ARGUMENTS = 28 };

/* The arguments of paged_attention_kv_cache_create that are read; TVM's compiled functions are not
 * needed. */
enum {
    ARGUMENT_CONFIG,
    ARGUMENT_LAYERS,
    ARGUMENT_QUERY_HEADS,
    ARGUMENT_KV_HEADS,
    ARGUMENT_KEY_SIZE,
    ARGUMENT_VALUE_SIZE,
    ARGUMENT_KINDS,
    ARGUMENT_TRANSFER,
    ARGUMENT_ROPE,
    ARGUMENT_ROPE_SCALE,
    ARGUMENT_ROPE_THETA,
    ARGUMENT_ROPE_FACTORS,
    ARGUMENT_INITIAL,
};

/* sequences, positions, positions of a round, page size, windows [, window of sliding layers] */
static Error *read_sizes(const PackedCall *call, const Value *argument, PagedConfig *config) {
    int64_t *sizes;
    uint32_t count;
    TRY(relax_ints(call, "the configuration", argument, &sizes, &count));
    OWN_MEMORY(owned) = sizes;
    if (count != 5 && count != 6)
        FAIL(INVALID, "the configuration has %u numbers, not 5 or 6", count);
    config->reserved = sizes[0];
    config->chunk = sizes[2];
    config->page_size = sizes[3];
    config->sliding = sizes[4] != 0;
    config->layer_window = count == 6 ? sizes[5] : 1024;
    if (sizes[1] < 0 || sizes[1] > INT32_MAX || config->page_size < 1 || config->reserved < 0 ||
        config->reserved > PAGED_SEQUENCES_MAX)
        FAIL(INVALID,
            "a cache of %" PRIi64 " positions in pages of %" PRIi64 " for %" PRIi64 " sequences",
            sizes[1], config->page_size, config->reserved);
    config->pages = (sizes[1] + config->page_size - 1) / config->page_size + 1;
    if (config->sliding) config->pages += config->reserved * 2;
    return NULL;
}

static Error *read_layers(const PackedCall *call, const Value *argument, PagedConfig *config) {
    int64_t *bounds;
    uint32_t count;
    TRY(relax_ints(call, "the layers", argument, &bounds, &count));
    OWN_MEMORY(owned) = bounds;
    if (count != 2) FAIL(INVALID, "the layers are given by %u numbers, not 2", count);
    if (bounds[0] < 0 || bounds[0] > PAGED_LAYERS_MAX || bounds[1] < 0 ||
        bounds[1] > PAGED_LAYERS_MAX)
        FAIL(INVALID, "layers from %" PRIi64 " to %" PRIi64, bounds[0], bounds[1]);
    config->layer_begin = bounds[0];
    config->layers = bounds[1] - bounds[0];
    return NULL;
}

/* The attention kinds of this cache's layers. */
static Error *read_kinds(
    const PackedCall *call, const Value *argument, const PagedConfig *config, uint8_t *out_kinds) {
    int64_t *kinds;
    uint32_t count;
    TRY(relax_ints(call, "the attention kinds", argument, &kinds, &count));
    OWN_MEMORY(owned) = kinds;
    if (config->layers < 1 || config->layer_begin + config->layers > count)
        FAIL(INVALID, "%u attention kinds for layers %" PRIi64 " to %" PRIi64, count,
            config->layer_begin, config->layer_begin + config->layers);
    for (int64_t i = 0; i < config->layers; i++) {
        int64_t kind = kinds[config->layer_begin + i];
        if (kind < 0 || kind > PAGED_MHA_SLIDING)
            FAIL(INVALID, "layer %" PRIi64 " is of attention kind %" PRIi64, i, kind);
        out_kinds[i] = (uint8_t)kind;
    }
    return NULL;
}

/* As TVM does: windows of layers replace those of sequences, and windows need inline turning. */
static void settle_windows(PagedConfig *config, const uint8_t *kinds) {
    bool windows = config->sliding;
    for (int64_t i = 0; i < config->layers; i++)
        if (kinds[i] == PAGED_MHA_SLIDING) config->sliding = false;
    if (windows && config->rope != PAGED_ROPE_NONE) config->rope = PAGED_ROPE_INLINE;
}

RELAX(paged_attention_kv_cache_create) {
    RELAX_UNUSED();
    if (count != CREATE_ARGUMENTS && count != CREATE_ARGUMENTS + 1)
        FAIL(INVALID, "%u arguments, not %d or %d", count, CREATE_ARGUMENTS, CREATE_ARGUMENTS + 1);
    const Tensor *initial = arguments[ARGUMENT_INITIAL].tensor;
    int64_t rope = relax_int(&arguments[ARGUMENT_ROPE]);
    PagedConfig config = {.query_heads = relax_int(&arguments[ARGUMENT_QUERY_HEADS]),
        .kv_heads = relax_int(&arguments[ARGUMENT_KV_HEADS]),
        .key_size = relax_int(&arguments[ARGUMENT_KEY_SIZE]),
        .value_size = relax_int(&arguments[ARGUMENT_VALUE_SIZE]),
        .rope = rope < 0 || rope > PAGED_ROPE_INLINE ? PAGED_ROPE_INLINE + 1 : (PagedRope)rope,
        .rope_scale = relax_number(&arguments[ARGUMENT_ROPE_SCALE]),
        .rope_theta = relax_number(&arguments[ARGUMENT_ROPE_THETA]),
        .dtype = initial->dtype,
        .slot = initial->storage->slot};
    if (relax_int(&arguments[ARGUMENT_TRANSFER]) != 0)
        FAIL(UNSUPPORTED, "a cache that sends its pages to other processes");
    if (value_is(&arguments[ARGUMENT_ROPE_FACTORS], OBJECT_TENSOR))
        FAIL(UNSUPPORTED, "a cache with factors for its rotary angles");
    TRY(read_sizes(call, &arguments[ARGUMENT_CONFIG], &config));
    TRY(read_layers(call, &arguments[ARGUMENT_LAYERS], &config));
    uint8_t kinds[PAGED_LAYERS_MAX + 1];
    TRY(read_kinds(call, &arguments[ARGUMENT_KINDS], &config, kinds));
    settle_windows(&config, kinds);
    Paged *paged;
    TRY(paged_create(&config, kinds, &paged));
    Opaque *opaque;
    TRY(opaque_create(call->meter, &relax_paged, paged, &opaque));
    *out_result = value_object(OBJECT_OPAQUE, opaque);
    return NULL;
}

static Error *get_paged(const Value *arguments, Paged **out) {
    void *state;
    TRY(relax_opaque_state(&arguments[0], &relax_paged, &state));
    *out = state;
    return NULL;
}

/* The cache and the layer that arguments 0 and 1 name, with a round under way. */
static Error *get_layer(const Value *arguments, Paged **out, int64_t *out_layer) {
    TRY(get_paged(arguments, out));
    const PagedConfig *config = &(*out)->config;
    int64_t layer = relax_int(&arguments[1]);
    if (layer < config->layer_begin || layer - config->layer_begin >= config->layers)
        FAIL(INVALID, "layer %" PRIi64 "; the cache has %" PRIi64 " to %" PRIi64, layer,
            config->layer_begin, config->layer_begin + config->layers - 1);
    if ((*out)->turn_count == 0) FAIL(CONFLICT, "no round is under way");
    *out_layer = layer - config->layer_begin;
    return NULL;
}

/* Checks [rows or more, heads, size] of the cache's type. most: more rows may follow. */
static Error *check_rows(const Paged *paged, const char *name, const Tensor *tensor, bool most,
    int64_t heads, int64_t size) {
    TRY(relax_expect_dtype(name, tensor, paged->config.dtype));
    const int64_t *dims = tensor->shape.dims, rows = paged->round_count;
    if (tensor->shape.rank == 3 && (dims[0] == rows || (most && dims[0] > rows)) &&
        dims[1] == heads && dims[2] == size)
        return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(&tensor->shape, &text);
    FAIL(INVALID, "%s is %s, not [%" PRIi64 ", %" PRIi64 ", %" PRIi64 "]", name,
        text_builder_get(&text), rows, heads, size);
}

/* A tensor in the cache's slot with the bytes; *out NULL: memory is needed. */
static Error *upload(PackedCall *call, const Paged *paged, int64_t heads, int64_t size,
    const void *bytes, Tensor **out) {
    OWN(Tensor, tensor) = NULL;
    const Shape shape = shape_make(3, (int64_t[]){paged->round_count, heads, size});
    TRY(relax_new_tensor(call, paged->config.slot, paged->config.dtype, &shape, &tensor));
    if (!tensor) return NULL;
    TRY(tensor_copy_from_host(tensor, bytes));
    tensor->written = true;
    *out = TAKE(tensor);
    return NULL;
}

/* An argument as an operand: its own bytes, or a copy where it is in the other slot. *out NULL:
 * memory is needed. */
static Error *operand_of(
    PackedCall *call, const Paged *paged, const char *name, const Tensor *tensor, Tensor **out) {
    const void *bytes;
    OWN_MEMORY(copy) = NULL;
    const int64_t *dims = tensor->shape.dims;
    TRY(relax_readable(call, name, tensor));
    if (tensor->storage->slot == paged->config.slot)
        return tensor_create(tensor->storage, tensor->offset, tensor->dtype, &tensor->shape, out);
    TRY(relax_host_bytes(call, name, tensor, &bytes, &copy));
    return upload(call, paged, dims[1], dims[2], bytes, out);
}

/* What one call of attention holds. */
typedef struct Attention {
    PagedQuery query;    /* its tensors are owned */
    Tensor *to, *to_lse; /* borrowed: the arguments that receive the results */
} Attention;

static void attention_close(Attention *attention) {
    PagedQuery *query = &attention->query;
    Tensor *const owned[] = {query->queries, query->keys, query->values, query->out, query->lse};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) tensor_release(owned[i]);
}
#define OWN_ATTENTION(name) __attribute__((cleanup(attention_close))) Attention name

/* lse: NULL, or float32 [rows, heads]. Rows of `out` behind the round's stay as they are. */
static Error *set_outputs(
    const PackedCall *call, const Paged *paged, Tensor *out, Tensor *lse, Attention *attention) {
    const int64_t sums = paged->round_count * attention->query.heads;
    TRY(relax_check_written(call, "the output", out));
    attention->to = out;
    if (!lse) return NULL;
    TRY(relax_expect_dtype("the lse", lse, DTYPE_FLOAT32));
    if (shape_count_unchecked(&lse->shape) != sums)
        FAIL(INVALID, "the lse has %" PRIi64 " elements, not %" PRIi64,
            shape_count_unchecked(&lse->shape), sums);
    TRY(relax_check_written(call, "the lse", lse));
    attention->to_lse = lse;
    return NULL;
}

/* *out_made false: memory is needed. */
static Error *make_outputs(
    PackedCall *call, const Paged *paged, Attention *attention, bool *out_made) {
    PagedQuery *query = &attention->query;
    const uint8_t slot = paged->config.slot;
    const Shape out =
        shape_make(3, (int64_t[]){paged->round_count, query->heads, query->value_size});
    const Shape lse = shape_make(2, out.dims);
    TRY(relax_new_tensor(call, slot, paged->config.dtype, &out, &query->out));
    *out_made = query->out != NULL;
    if (!attention->to_lse || !*out_made) return NULL;
    TRY(relax_new_tensor(call, slot, DTYPE_FLOAT32, &lse, &query->lse));
    *out_made = query->lse != NULL;
    return NULL;
}

static Error *give(const PackedCall *call, Tensor *to, const Tensor *from) {
    storage_forget_annotation(to->storage);
    TRY(device_transfer(tensor_place(to), tensor_place(from), tensor_bytes(from)));
    packed_mark_written(call, to);
    return NULL;
}

/* The operands are there: computes, and gives the results to the arguments. *out_done false: memory
 * is needed. */
static Error *attend(PackedCall *call, Paged *paged, Attention *attention, bool *out_done) {
    TRY(make_outputs(call, paged, attention, out_done));
    if (*out_done) TRY(paged_attend(call, paged, &attention->query, out_done));
    if (!*out_done) return NULL;
    TRY(give(call, attention->to, attention->query.out));
    if (attention->to_lse) TRY(give(call, attention->to_lse, attention->query.lse));
    return NULL;
}

/* The parts of [rows, query + kv + kv heads, size], compact. */
typedef struct Fused {
    uint8_t *queries, *keys, *values;
    uint8_t *pairs; /* [rows, kv + kv heads, size]: what the cache keeps */
} Fused;

/* Splits the fused tensor, and turns queries and keys. Turned numbers are rounded to the cache's
 * type, as they would be in tensors of it. */
static void split_fused(const Paged *paged, const uint8_t *fused, const Fused *to) {
    const PagedConfig *config = &paged->config;
    const int64_t heads = config->query_heads, kv = config->kv_heads;
    const uint64_t head = (uint64_t)config->key_size * paged_element(paged);
    const uint64_t query_bytes = (uint64_t)heads * head, key_bytes = (uint64_t)kv * head;
    float turned[PAGED_DIMENSIONS_MAX];
    for (int64_t row = 0; row < paged->round_count; row++) {
        const uint64_t at = (uint64_t)row;
        const uint8_t *from = fused + at * (query_bytes + 2 * key_bytes);
        uint8_t *pair = to->pairs + at * 2 * key_bytes;
        memcpy(to->queries + at * query_bytes, from, query_bytes);
        memcpy(pair, from + query_bytes, 2 * key_bytes);
        for (int64_t i = 0; config->rope == PAGED_ROPE_NORMAL && i < heads + kv; i++) {
            uint8_t *bytes = i < heads ? to->queries + at * query_bytes + (uint64_t)i * head
                                       : pair + (uint64_t)(i - heads) * head;
            paged_load(config->dtype, bytes, config->key_size, turned);
            paged_turn(config, config->key_size, paged->positions[row], turned);
            paged_store(config->dtype, turned, config->key_size, bytes);
        }
        memcpy(to->keys + at * key_bytes, pair, key_bytes);
        memcpy(to->values + at * key_bytes, pair + key_bytes, key_bytes);
    }
}

static Error *expect_kind(const Paged *paged, int64_t layer, bool latent) {
    if ((paged->kinds[layer] == PAGED_MLA) == latent) return NULL;
    FAIL(INVALID, "layer %" PRIi64 " is of attention kind %u", layer + paged->config.layer_begin,
        paged->kinds[layer]);
}

/* The fused tensor's parts as operands. *out_made false: memory is needed. */
static Error *upload_fused(
    PackedCall *call, const Paged *paged, const Fused *fused, PagedQuery *query, bool *out_made) {
    const PagedConfig *config = &paged->config;
    const int64_t size = config->key_size;
    TRY(upload(call, paged, config->query_heads, size, fused->queries, &query->queries));
    if (query->queries) TRY(upload(call, paged, config->kv_heads, size, fused->keys, &query->keys));
    if (query->keys)
        TRY(upload(call, paged, config->kv_heads, size, fused->values, &query->values));
    *out_made = query->values != NULL;
    return NULL;
}

static Fused lay_out_fused(const Paged *paged, void *memory) {
    const PagedConfig *config = &paged->config;
    const uint64_t head = (uint64_t)(paged->round_count * config->key_size) * paged_element(paged);
    Fused fused = {.queries = memory};
    fused.keys = fused.queries + (uint64_t)config->query_heads * head;
    fused.values = fused.keys + (uint64_t)config->kv_heads * head;
    fused.pairs = fused.values + (uint64_t)config->kv_heads * head;
    return fused;
}

/* Attention first: what a window leaves in this round is still read. */
static Error *attend_fused(
    PackedCall *call, Paged *paged, const uint8_t *bytes, Attention *attention) {
    const PagedConfig *config = &paged->config;
    const int64_t layer = attention->query.layer;
    OWN_MEMORY(memory) = NULL;
    bool done;
    TRY(memory_alloc((size_t)(paged->round_count * (config->query_heads + 4 * config->kv_heads)),
        (size_t)config->key_size * paged_element(paged), &memory));
    const Fused fused = lay_out_fused(paged, memory);
    split_fused(paged, bytes, &fused);
    TRY(paged_open_rows(call, paged, layer, paged->rows, paged->round_count, &done));
    if (done) TRY(upload_fused(call, paged, &fused, &attention->query, &done));
    if (done) TRY(attend(call, paged, attention, &done));
    if (!done) return NULL;
    return paged_write_rows(paged, layer, paged->rows, paged->round_count, fused.pairs);
}

RELAX(attention_kv_cache_attention_with_fused_qkv) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t layer;
    TRY(get_layer(arguments, &paged, &layer));
    TRY(expect_kind(paged, layer, false));
    const PagedConfig *config = &paged->config;
    const Tensor *fused = arguments[3].tensor;
    Tensor *out = arguments[4].tensor;
    int64_t all_heads = config->query_heads + 2 * config->kv_heads;
    TRY(check_rows(paged, "the fused tensor", fused, true, all_heads, config->key_size));
    TRY(check_rows(paged, "the output", out, true, config->query_heads, config->key_size));
    const void *bytes;
    OWN_MEMORY(copy) = NULL;
    TRY(relax_host_bytes(call, "the fused tensor", fused, &bytes, &copy));
    OWN_ATTENTION(attention) = {.query = {.heads = config->query_heads,
                                    .kv_heads = config->kv_heads,
                                    .key_size = config->key_size,
                                    .value_size = config->key_size,
                                    .scale = relax_number(&arguments[2]),
                                    .layer = layer,
                                    .context = true}};
    TRY(set_outputs(call, paged, out, NULL, &attention));
    return attend_fused(call, paged, bytes, &attention);
}

/* Checks the tensors of attend_given, and reads their sizes. */
static Error *read_given(const Paged *paged, const Value *arguments, PagedQuery *query) {
    const Tensor *tensors[] = {arguments[3].tensor, arguments[4].tensor, arguments[5].tensor};
    const char *const names[] = {"the queries", "the keys", "the values"};
    const PagedConfig *config = &paged->config;
    for (uint32_t i = 0; i < 3; i++)
        if (tensors[i]->shape.rank != 3)
            FAIL(INVALID, "%s have %u dimensions, not 3", names[i], tensors[i]->shape.rank);
    query->heads = tensors[0]->shape.dims[1];
    query->kv_heads = tensors[1]->shape.dims[1];
    query->key_size = tensors[0]->shape.dims[2];
    query->value_size = tensors[2]->shape.dims[2];
    if (query->context &&
        (query->heads != config->query_heads || query->kv_heads != config->kv_heads ||
            query->key_size != config->key_size))
        FAIL(INVALID,
            "%" PRIi64 " and %" PRIi64 " heads of %" PRIi64 ", and the cache has %" PRIi64
            " and %" PRIi64 " of %" PRIi64,
            query->heads, query->kv_heads, query->key_size, config->query_heads, config->kv_heads,
            config->key_size);
    if (query->kv_heads == 0 || query->heads == 0 || query->heads % query->kv_heads != 0 ||
        query->key_size == 0 || query->key_size % 2 != 0 || query->value_size == 0)
        FAIL(INVALID, "%" PRIi64 " query heads of %" PRIi64 " for %" PRIi64 " kv heads",
            query->heads, query->key_size, query->kv_heads);
    const int64_t heads[] = {query->heads, query->kv_heads, query->kv_heads};
    const int64_t sizes[] = {query->key_size, query->key_size, query->value_size};
    for (uint32_t i = 0; i < 3; i++)
        TRY(check_rows(paged, names[i], tensors[i], false, heads[i], sizes[i]));
    return check_rows(
        paged, "the output", arguments[6].tensor, false, query->heads, query->value_size);
}

/* Attention over given keys and values of the round, and with `context` the rows before it. */
static Error *attend_given(PackedCall *call, const Value *arguments, bool context, Tensor *lse) {
    Paged *paged;
    int64_t layer;
    bool done;
    TRY(get_layer(arguments, &paged, &layer));
    if (context) TRY(expect_kind(paged, layer, false));
    OWN_ATTENTION(attention) = {
        .query = {.scale = relax_number(&arguments[2]), .layer = layer, .context = context}};
    PagedQuery *query = &attention.query;
    TRY(read_given(paged, arguments, query));
    TRY(set_outputs(call, paged, arguments[6].tensor, lse, &attention));
    TRY(operand_of(call, paged, "the queries", arguments[3].tensor, &query->queries));
    if (query->queries) TRY(operand_of(call, paged, "the keys", arguments[4].tensor, &query->keys));
    if (query->keys)
        TRY(operand_of(call, paged, "the values", arguments[5].tensor, &query->values));
    return query->values ? attend(call, paged, &attention, &done) : NULL;
}

RELAX(attention_kv_cache_self_attention) {
    RELAX_UNUSED();
    return attend_given(call, arguments, false, arguments[7].tensor);
}

RELAX(attention_kv_cache_attention_with_shared_kv) {
    RELAX_UNUSED();
    return attend_given(call, arguments, true, NULL);
}

RELAX(attention_kv_cache_cross_attention) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t layer;
    bool done;
    TRY(get_layer(arguments, &paged, &layer));
    const PagedConfig *config = &paged->config;
    const Tensor *queries = arguments[3].tensor;
    TRY(check_rows(paged, "the queries", queries, false, config->query_heads, config->key_size));
    TRY(check_rows(
        paged, "the output", arguments[4].tensor, false, config->query_heads, config->value_size));
    OWN_ATTENTION(attention) = {
        .query = {.heads = config->query_heads,
            .kv_heads = paged->kinds[layer] == PAGED_MLA ? 1 : config->kv_heads,
            .key_size = config->key_size,
            .value_size = config->value_size,
            .scale = relax_number(&arguments[2]),
            .layer = layer,
            .context = true,
            .from_rows = paged->includes_round}};
    TRY(set_outputs(call, paged, arguments[4].tensor, arguments[5].tensor, &attention));
    TRY(operand_of(call, paged, "the queries", queries, &attention.query.queries));
    return attention.query.queries ? attend(call, paged, &attention, &done) : NULL;
}

RELAX(attention_kv_cache_append_mla_kv) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t layer;
    bool open;
    TRY(get_layer(arguments, &paged, &layer));
    TRY(expect_kind(paged, layer, true));
    const Tensor *rows = arguments[2].tensor;
    int64_t size = paged->config.key_size;
    TRY(relax_expect_dtype("the rows", rows, paged->config.dtype));
    if (rows->shape.rank != 2 || rows->shape.dims[0] > paged->round_count ||
        rows->shape.dims[1] != size)
        FAIL(INVALID, "the rows are not [%" PRIi64 ", %" PRIi64 "]", paged->round_count, size);
    const void *bytes;
    OWN_MEMORY(copy) = NULL;
    TRY(relax_host_bytes(call, "the rows", rows, &bytes, &copy));
    TRY(paged_open_rows(call, paged, layer, paged->rows, rows->shape.dims[0], &open));
    if (!open) return NULL;
    TRY(paged_write_rows(paged, layer, paged->rows, rows->shape.dims[0], bytes));
    *out_result = value_copy(arguments[0]);
    return NULL;
}
