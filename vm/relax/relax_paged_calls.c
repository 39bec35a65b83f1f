#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/scalar/scalar_exponential.h"
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

/* The first `count` elements of a tensor as floats; the caller frees them. */
static Error *floats_of(const PackedCall *call, const char *name, const Tensor *tensor,
    int64_t count, float **out_owned) {
    const void *bytes;
    OWN_MEMORY(copy) = NULL;
    void *memory;
    TRY(relax_host_bytes(call, name, tensor, &bytes, &copy));
    TRY(memory_alloc((size_t)count + 1, sizeof(float), &memory));
    paged_load(tensor->dtype, bytes, count, memory);
    *out_owned = memory;
    return NULL;
}

/* Tensors that attention writes, and the floats for them. */
typedef struct Outputs {
    RelaxBytes out, lse;
    float *out_floats, *lse_floats;
    int64_t out_count, lse_count;
} Outputs;

static void outputs_close(Outputs *outputs) {
    relax_bytes_close(&outputs->out);
    relax_bytes_close(&outputs->lse);
    memory_free(outputs->out_floats);
    memory_free(outputs->lse_floats);
}
#define OWN_OUTPUTS(name) __attribute__((cleanup(outputs_close))) Outputs name

/* lse: NULL, or float32 [rows, heads]. The rows of `out` behind the round's stay as they are. */
static Error *open_outputs(const PackedCall *call, const Paged *paged, Tensor *out, Tensor *lse,
    PagedQuery *query, Outputs *outputs) {
    void *memory;
    bool longer = out->shape.dims[0] > paged->round_count && out->written;
    outputs->out_count = paged->round_count * query->heads * query->value_size;
    outputs->lse_count = paged->round_count * query->heads;
    TRY(relax_open_written(call, "the output", out, longer, &outputs->out));
    TRY(memory_alloc((size_t)outputs->out_count + 1, sizeof(float), &memory));
    query->out = outputs->out_floats = memory;
    if (!lse) return NULL;
    TRY(relax_expect_dtype("the lse", lse, DTYPE_FLOAT32));
    if (shape_count_unchecked(&lse->shape) != outputs->lse_count)
        FAIL(INVALID, "the lse has %" PRIi64 " elements, not %" PRIi64,
            shape_count_unchecked(&lse->shape), outputs->lse_count);
    TRY(relax_open_written(call, "the lse", lse, false, &outputs->lse));
    TRY(memory_alloc((size_t)outputs->lse_count + 1, sizeof(float), &memory));
    query->lse = outputs->lse_floats = memory;
    return NULL;
}

static Error *store_outputs(const Outputs *outputs) {
    const Tensor *out = outputs->out.tensor;
    paged_store(out->dtype, outputs->out_floats, outputs->out_count, outputs->out.bytes);
    TRY(relax_store(&outputs->out));
    if (!outputs->lse.tensor) return NULL;
    paged_store(DTYPE_FLOAT32, outputs->lse_floats, outputs->lse_count, outputs->lse.bytes);
    return relax_store(&outputs->lse);
}

/* Splits [rows, query + kv + kv heads, size] into three, and turns queries and keys. The numbers
 * are rounded to the cache's type, as they would be in tensors of it. */
static void split_fused(
    const Paged *paged, const uint8_t *fused, float *queries, float *keys, float *values) {
    const PagedConfig *config = &paged->config;
    int64_t size = config->key_size, heads = config->query_heads, kv = config->kv_heads;
    uint64_t bytes = (uint64_t)size * paged_element(paged);
    for (int64_t row = 0; row < paged->round_count; row++) {
        for (int64_t head = 0; head < heads + 2 * kv; head++) {
            float *to = head < heads        ? queries + (row * heads + head) * size
                        : head < heads + kv ? keys + (row * kv + head - heads) * size
                                            : values + (row * kv + head - heads - kv) * size;
            paged_load(
                config->dtype, fused + (uint64_t)(row * (heads + 2 * kv) + head) * bytes, size, to);
            if (config->rope != PAGED_ROPE_NORMAL || head >= heads + kv) continue;
            paged_turn(config, size, paged->positions[row], to);
            uint16_t rounded[PAGED_DIMENSIONS_MAX];
            if (config->dtype == DTYPE_FLOAT32) continue;
            paged_store(config->dtype, to, size, rounded);
            paged_load(config->dtype, rounded, size, to);
        }
    }
}

static void append_rows(Paged *paged, int64_t layer, const float *keys, const float *values) {
    const PagedConfig *config = &paged->config;
    for (int64_t i = 0; i < paged->round_count; i++) {
        if (paged->rows[i] == PAGED_PINNED) continue;
        for (int64_t head = 0; head < config->kv_heads; head++) {
            int64_t from = (i * config->kv_heads + head) * config->key_size;
            paged_store(config->dtype, keys + from, config->key_size,
                paged_cell(paged, layer, paged->rows[i], 0, head));
            paged_store(config->dtype, values + from, config->key_size,
                paged_cell(paged, layer, paged->rows[i], 1, head));
        }
    }
}

static Error *expect_kind(const Paged *paged, int64_t layer, bool latent) {
    if ((paged->kinds[layer] == PAGED_MLA) == latent) return NULL;
    FAIL(INVALID, "layer %" PRIi64 " is of attention kind %u", layer + paged->config.layer_begin,
        paged->kinds[layer]);
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
    OWN_MEMORY(memory) = NULL;
    TRY(relax_host_bytes(call, "the fused tensor", fused, &bytes, &copy));
    TRY(memory_alloc(
        (size_t)(paged->round_count * all_heads * config->key_size), sizeof(float), &memory));
    float *queries = memory,
          *keys = queries + paged->round_count * config->query_heads * config->key_size;
    float *values = keys + paged->round_count * config->kv_heads * config->key_size;
    split_fused(paged, bytes, queries, keys, values);
    PagedQuery query = {.queries = queries,
        .keys = keys,
        .values = values,
        .heads = config->query_heads,
        .kv_heads = config->kv_heads,
        .key_size = config->key_size,
        .value_size = config->key_size,
        .scale = relax_number(&arguments[2]),
        .layer = layer,
        .context = true};
    OWN_OUTPUTS(outputs) = {0};
    TRY(open_outputs(call, paged, out, NULL, &query, &outputs));
    TRY(paged_attend(paged, &query));
    append_rows(paged, layer, keys, values);
    return store_outputs(&outputs);
}

/* Attention over given keys and values of the round, and with `context` the rows before it. */
static Error *attend_given(
    const PackedCall *call, const Value *arguments, bool context, Tensor *lse) {
    Paged *paged;
    int64_t layer;
    TRY(get_layer(arguments, &paged, &layer));
    if (context) TRY(expect_kind(paged, layer, false));
    const Tensor *tensors[] = {arguments[3].tensor, arguments[4].tensor, arguments[5].tensor};
    const char *const names[] = {"the queries", "the keys", "the values"};
    for (uint32_t i = 0; i < 3; i++)
        if (tensors[i]->shape.rank != 3)
            FAIL(INVALID, "%s have %u dimensions, not 3", names[i], tensors[i]->shape.rank);
    PagedQuery query = {.heads = tensors[0]->shape.dims[1],
        .kv_heads = tensors[1]->shape.dims[1],
        .key_size = tensors[0]->shape.dims[2],
        .value_size = tensors[2]->shape.dims[2],
        .scale = relax_number(&arguments[2]),
        .layer = layer,
        .context = context};
    const PagedConfig *config = &paged->config;
    if (context && (query.heads != config->query_heads || query.kv_heads != config->kv_heads ||
                       query.key_size != config->key_size))
        FAIL(INVALID,
            "%" PRIi64 " and %" PRIi64 " heads of %" PRIi64 ", and the cache has %" PRIi64
            " and %" PRIi64 " of %" PRIi64,
            query.heads, query.kv_heads, query.key_size, config->query_heads, config->kv_heads,
            config->key_size);
    if (query.kv_heads == 0 || query.heads % query.kv_heads != 0 || query.key_size % 2 != 0)
        FAIL(INVALID, "%" PRIi64 " query heads of %" PRIi64 " for %" PRIi64 " kv heads",
            query.heads, query.key_size, query.kv_heads);
    TRY(check_rows(paged, names[0], tensors[0], false, query.heads, query.key_size));
    TRY(check_rows(paged, names[1], tensors[1], false, query.kv_heads, query.key_size));
    TRY(check_rows(paged, names[2], tensors[2], false, query.kv_heads, query.value_size));
    TRY(check_rows(paged, "the output", arguments[6].tensor, false, query.heads, query.value_size));
    float *floats[3];
    OWN_MEMORY(owned_queries) = NULL;
    OWN_MEMORY(owned_keys) = NULL;
    OWN_MEMORY(owned_values) = NULL;
    void **const owned[] = {&owned_queries, &owned_keys, &owned_values};
    for (uint32_t i = 0; i < 3; i++) {
        TRY(floats_of(
            call, names[i], tensors[i], shape_count_unchecked(&tensors[i]->shape), &floats[i]));
        *owned[i] = floats[i];
    }
    query.queries = floats[0];
    query.keys = floats[1];
    query.values = floats[2];
    OWN_OUTPUTS(outputs) = {0};
    TRY(open_outputs(call, paged, arguments[6].tensor, lse, &query, &outputs));
    TRY(paged_attend(paged, &query));
    return store_outputs(&outputs);
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
    TRY(get_layer(arguments, &paged, &layer));
    const PagedConfig *config = &paged->config;
    const Tensor *queries = arguments[3].tensor;
    TRY(check_rows(paged, "the queries", queries, false, config->query_heads, config->key_size));
    TRY(check_rows(
        paged, "the output", arguments[4].tensor, false, config->query_heads, config->value_size));
    float *floats;
    TRY(floats_of(call, "the queries", queries, shape_count_unchecked(&queries->shape), &floats));
    OWN_MEMORY(owned) = floats;
    PagedQuery query = {.queries = floats,
        .heads = config->query_heads,
        .kv_heads = paged->kinds[layer] == PAGED_MLA ? 1 : config->kv_heads,
        .key_size = config->key_size,
        .value_size = config->value_size,
        .scale = relax_number(&arguments[2]),
        .layer = layer,
        .context = true,
        .from_rows = paged->includes_round};
    OWN_OUTPUTS(outputs) = {0};
    TRY(open_outputs(call, paged, arguments[4].tensor, arguments[5].tensor, &query, &outputs));
    TRY(paged_attend(paged, &query));
    return store_outputs(&outputs);
}

RELAX(attention_kv_cache_append_mla_kv) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t layer;
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
    uint64_t row_bytes = (uint64_t)size * paged_element(paged);
    for (int64_t i = 0; i < rows->shape.dims[0]; i++)
        if (paged->rows[i] != PAGED_PINNED)
            memcpy(paged_latent(paged, layer, paged->rows[i]),
                (const uint8_t *)bytes + (uint64_t)i * row_bytes, row_bytes);
    *out_result = value_copy(arguments[0]);
    return NULL;
}
