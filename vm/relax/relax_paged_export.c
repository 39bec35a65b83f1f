#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/objects/string_object.h"
#include "vm/relax/relax_json.h"
#include "vm/relax/relax_paged.h"
#include "vm/relax/relax_registry.h"

#define CACHE_TYPE "relax.vm.PagedAttentionKVCache"
#define GROUP_LAYOUT "1,num_logical_pages,2,num_kv_heads,page_size,qk_head_dim"
enum { FORMAT_VERSION = 1, HASH_SIZE = 17 };

static const char *rope_name(PagedRope rope) {
    static const char *const names[] = {"none", "normal", "inline"};
    return names[rope];
}

/* 17 digits, and a point or an exponent. */
static void append_double(TextBuilder *out, double value, bool json) {
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", value);
    text_append(out, text);
    if (json && !strpbrk(text, ".e")) text_append(out, ".0");
}

/* Only caches that keep every position in full can be exported. */
static Error *check_layout(const Paged *paged) {
    for (int64_t i = 0; i < paged->config.layers; i++)
        if (paged->kinds[i] != PAGED_MHA)
            FAIL(UNSUPPORTED, "layer %" PRIi64 " is of attention kind %u, which is not exported", i,
                paged->kinds[i]);
    if (paged->config.sliding) FAIL(UNSUPPORTED, "a cache with windows is not exported");
    return NULL;
}

/* 0 is the only sequence that TVM exports. */
static Error *get_exported(const Paged *paged, int64_t number, const PagedSequence **out) {
    uint32_t place;
    if (number != 0) FAIL(UNSUPPORTED, "sequence %" PRIi64 "; only sequence 0 is exported", number);
    TRY(paged_find(paged, number, &place));
    const PagedSequence *sequence = &paged->sequences[place];
    if (!sequence->committed) FAIL(CONFLICT, "sequence 0 has a token tree that is not committed");
    *out = sequence;
    return NULL;
}

static int64_t pages_of(const Paged *paged, int64_t length) {
    return (length + paged->config.page_size - 1) / paged->config.page_size;
}

static Error *layout_hash(const Paged *paged, char out[HASH_SIZE]) {
    const PagedConfig *config = &paged->config;
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text,
        "format_version=%d;cache_type=" CACHE_TYPE ";page_size=%" PRIi64 ";num_layers=%" PRIi64
        ";layer_begin=%" PRIi64 ";layer_end=%" PRIi64 ";num_qo_heads=%" PRIi64
        ";num_kv_heads=%" PRIi64 ";qk_head_dim=%" PRIi64 ";v_head_dim=%" PRIi64
        ";dtype=%s;rope_mode=%s;rotary_scale=",
        FORMAT_VERSION, config->page_size, config->layers, config->layer_begin,
        config->layer_begin + config->layers, config->query_heads, config->kv_heads,
        config->key_size, config->value_size, dtype_name(config->dtype), rope_name(config->rope));
    append_double(&text, config->rope_scale, false);
    text_append(&text, ";rotary_theta=");
    append_double(&text, config->rope_theta, false);
    text_append(&text,
        ";has_rope_ext_factors=0;support_sliding_window=0;"
        "support_layer_sliding_window=0;page_group_layout=" GROUP_LAYOUT ";attn_kinds=");
    for (int64_t i = 0; i < config->layers; i++) text_append(&text, i ? ",mha" : "mha");
    TRY(text_builder_check(&text));
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (const char *c = text_builder_get(&text); *c; c++)
        hash = (hash ^ (uint8_t)*c) * UINT64_C(1099511628211);
    (void)snprintf(out, HASH_SIZE, "%016" PRIx64, hash);
    return NULL;
}

static void append_layout(const Paged *paged, TextBuilder *out) {
    const PagedConfig *config = &paged->config;
    text_appendf(out,
        "{\"format_version\":%d,\"cache_type\":\"" CACHE_TYPE "\",\"page_size\":%" PRIi64
        ",\"num_layers\":%" PRIi64 ",\"layer_begin\":%" PRIi64 ",\"layer_end\":%" PRIi64
        ",\"num_qo_heads\":%" PRIi64 ",\"num_kv_heads\":%" PRIi64 ",\"qk_head_dim\":%" PRIi64
        ",\"v_head_dim\":%" PRIi64 ",\"reserved_num_seqs\":%" PRIi64 ",\"num_total_pages\":%" PRIi64
        ",\"prefill_chunk_size\":%" PRIi64 ",\"dtype\":\"%s\",\"attn_kinds\":[",
        FORMAT_VERSION, config->page_size, config->layers, config->layer_begin,
        config->layer_begin + config->layers, config->query_heads, config->kv_heads,
        config->key_size, config->value_size, config->reserved, config->pages, config->chunk,
        dtype_name(config->dtype));
    for (int64_t i = 0; i < config->layers; i++) text_append(out, i ? ",\"mha\"" : "\"mha\"");
    text_appendf(out, "],\"rope_mode\":\"%s\",\"rotary_scale\":", rope_name(config->rope));
    append_double(out, config->rope_scale, true);
    text_append(out, ",\"rotary_theta\":");
    append_double(out, config->rope_theta, true);
    text_append(out,
        ",\"has_rope_ext_factors\":false,\"support_sliding_window\":false,"
        "\"support_layer_sliding_window\":false,\"page_group_layout\":\"" GROUP_LAYOUT "\"");
}

static uint64_t group_bytes(const Paged *paged, int64_t pages) {
    return (uint64_t)(pages * paged->config.page_size) * paged_row_bytes(paged, 0);
}

static void append_groups(const Paged *paged, int64_t pages, TextBuilder *out) {
    const PagedConfig *config = &paged->config;
    for (int64_t i = 0; i < config->layers; i++)
        text_appendf(out,
            "%s{\"group_index\":%" PRIi64 ",\"layer_begin\":%" PRIi64 ",\"layer_end\":%" PRIi64
            ",\"num_logical_pages\":%" PRIi64 ",\"dtype\":\"%s\",\"shape\":[1,%" PRIi64
            ",2,%" PRIi64 ",%" PRIi64 ",%" PRIi64 "],\"nbytes\":%" PRIu64 "}",
            i ? "," : "", i, config->layer_begin + i, config->layer_begin + i + 1, pages,
            dtype_name(config->dtype), pages, config->kv_heads, config->page_size, config->key_size,
            group_bytes(paged, pages));
}

static Error *get_paged(const Value *arguments, Paged **out) {
    void *state;
    TRY(relax_opaque_state(&arguments[0], &relax_paged, &state));
    *out = state;
    return check_layout(*out);
}

static Error *give_text(const PackedCall *call, const char *text, size_t size, Value *out_result) {
    StringObject *string;
    TRY(string_object_create(call->meter, text, size, &string));
    *out_result = value_object(OBJECT_STRING, string);
    return NULL;
}

RELAX(attention_kv_cache_get_layout_hash) {
    RELAX_UNUSED();
    Paged *paged;
    char hash[HASH_SIZE];
    TRY(get_paged(arguments, &paged));
    TRY(layout_hash(paged, hash));
    return give_text(call, hash, HASH_SIZE - 1, out_result);
}

RELAX(attention_kv_cache_get_checkpoint_metadata) {
    RELAX_UNUSED();
    Paged *paged;
    const PagedSequence *sequence;
    char hash[HASH_SIZE];
    TRY(get_paged(arguments, &paged));
    if (paged->importing) FAIL(CONFLICT, "an import is not finished");
    TRY(get_exported(paged, relax_int(&arguments[1]), &sequence));
    TRY(layout_hash(paged, hash));
    TextBuilder OWN_TEXT(text) = {0};
    append_layout(paged, &text);
    text_appendf(&text,
        ",\"layout_hash\":\"%s\",\"seq_id\":0,\"seq_length\":%" PRIi64 ",\"logical_pages\":[", hash,
        sequence->length);
    int64_t pages = pages_of(paged, sequence->length), size = paged->config.page_size;
    for (int64_t i = 0; i < pages; i++) {
        int64_t left = sequence->length - i * size;
        text_appendf(&text,
            "%s{\"logical_page_index\":%" PRIi64 ",\"start_pos\":%" PRIi64 ",\"length\":%" PRIi64
            "}",
            i ? "," : "", i, i * size, left < size ? left : size);
    }
    text_append(&text, "],\"groups\":[");
    append_groups(paged, pages, &text);
    text_append(&text, "]}");
    TRY(text_builder_check(&text));
    return give_text(call, text_builder_get(&text), text.size, out_result);
}

/* The group that is a layer, and the tensor [1, pages, 2, kv heads, page size, size] for it. */
static Error *get_group(const Paged *paged, const PagedSequence *sequence, const Value *arguments,
    int64_t *out_layer, int32_t **out_rows) {
    const PagedConfig *config = &paged->config;
    const Tensor *tensor = arguments[3].tensor;
    uint64_t layer;
    TRY(relax_index(&arguments[2], "group", (uint64_t)config->layers, &layer));
    TRY(relax_expect_dtype("the pages", tensor, config->dtype));
    Shape wanted = shape_make(6, (int64_t[]){1, pages_of(paged, sequence->length), 2,
                                     config->kv_heads, config->page_size, config->key_size});
    if (!shape_equal(&wanted, &tensor->shape)) {
        TextBuilder OWN_TEXT(text) = {0};
        shape_print(&tensor->shape, &text);
        text_append(&text, ", not ");
        shape_print(&wanted, &text);
        FAIL(INVALID, "the pages are %s", text_builder_get(&text));
    }
    void *memory;
    TRY(memory_alloc((size_t)sequence->length + 1, sizeof(int32_t), &memory));
    *out_rows = memory;
    paged_rows(paged, sequence, memory);
    *out_layer = (int64_t)layer;
    return NULL;
}

/* Copies a row between the order of the cache, [2, kv heads, size], and that of pages, [pages, 2,
 * kv heads, page size, size]. */
static void copy_row(
    const Paged *paged, int64_t position, uint8_t *row, uint8_t *pages, bool import) {
    const PagedConfig *config = &paged->config;
    const uint64_t size = (uint64_t)config->key_size * paged_element(paged);
    uint8_t *page = pages + (uint64_t)(position / config->page_size) * group_bytes(paged, 1);
    for (int64_t head = 0; head < 2 * config->kv_heads; head++) {
        const int64_t at = head * config->page_size + position % config->page_size;
        uint8_t *cell = row + (uint64_t)head * size, *other = page + (uint64_t)at * size;
        memcpy(import ? cell : other, import ? other : cell, size);
    }
}

/* Places behind the sequence's end are 0. */
RELAX(attention_kv_cache_export_page_group) {
    RELAX_UNUSED();
    Paged *paged;
    const PagedSequence *sequence;
    int64_t layer;
    int32_t *rows;
    OWN_TENSOR_BYTES(pages) = {0};
    TRY(get_paged(arguments, &paged));
    if (paged->importing) FAIL(CONFLICT, "an import is not finished");
    TRY(get_exported(paged, relax_int(&arguments[1]), &sequence));
    TRY(get_group(paged, sequence, arguments, &layer, &rows));
    OWN_MEMORY(owned) = rows;
    TRY(relax_open_written(call, "the pages", arguments[3].tensor, false, &pages));
    const uint64_t row_bytes = paged_row_bytes(paged, layer);
    OWN_MEMORY(memory) = NULL;
    TRY(memory_alloc((size_t)sequence->length + 1, row_bytes, &memory));
    TRY(paged_read_rows(paged, layer, rows, sequence->length, memory));
    if (sequence->length > 0)
        memset(pages.bytes, 0, group_bytes(paged, pages_of(paged, sequence->length)));
    for (int64_t i = 0; i < sequence->length; i++)
        copy_row(paged, i, (uint8_t *)memory + (uint64_t)i * row_bytes, pages.bytes, false);
    return relax_store(call, &pages);
}

/* A member that must be there; TRY gives its value. */
static Error *member(JsonSpan object, const char *name, JsonSpan *out) {
    if (json_member(object, name, out)) return NULL;
    FAIL(INVALID, "the metadata has no %s", name);
}

static Error *expect_int(JsonSpan object, const char *name, int64_t wanted) {
    JsonSpan value;
    int64_t found;
    TRY(member(object, name, &value));
    if (!json_int(value, &found) || found != wanted)
        FAIL(INVALID, "%s of the metadata is %.*s, not %" PRIi64, name,
            (int)(value.size < 40 ? value.size : 40), value.at, wanted);
    return NULL;
}

static Error *expect_text(JsonSpan object, const char *name, const char *wanted) {
    JsonSpan value;
    TRY(member(object, name, &value));
    if (!json_is_string(value, wanted))
        FAIL(INVALID, "%s of the metadata is %.*s, not %s", name,
            (int)(value.size < 80 ? value.size : 80), value.at, wanted);
    return NULL;
}

static Error *expect_bool_false(JsonSpan object, const char *name) {
    JsonSpan value;
    bool found;
    TRY(member(object, name, &value));
    if (!json_bool(value, &found) || found) FAIL(INVALID, "%s of the metadata is not false", name);
    return NULL;
}

static Error *expect_number(JsonSpan object, const char *name, double wanted) {
    JsonSpan value;
    double found;
    TRY(member(object, name, &value));
    if (!json_number(value, &found) || found != wanted)
        FAIL(INVALID, "%s of the metadata is not %g", name, wanted);
    return NULL;
}

/* An int of at least `least`, which this cache need not share. */
static Error *read_count(JsonSpan object, const char *name, int64_t least, int64_t *out) {
    JsonSpan value;
    TRY(member(object, name, &value));
    if (!json_int(value, out) || *out < least)
        FAIL(INVALID, "%s of the metadata is %.*s", name, (int)(value.size < 40 ? value.size : 40),
            value.at);
    return NULL;
}

static Error *check_metadata_layout(const Paged *paged, JsonSpan metadata) {
    const PagedConfig *config = &paged->config;
    const struct {
        const char *name;
        int64_t wanted;
    } numbers[] = {{"format_version", FORMAT_VERSION}, {"page_size", config->page_size},
        {"num_layers", config->layers}, {"layer_begin", config->layer_begin},
        {"layer_end", config->layer_begin + config->layers}, {"num_qo_heads", config->query_heads},
        {"num_kv_heads", config->kv_heads}, {"qk_head_dim", config->key_size},
        {"v_head_dim", config->value_size}, {"seq_id", 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        TRY(expect_int(metadata, numbers[i].name, numbers[i].wanted));
    char hash[HASH_SIZE];
    TRY(layout_hash(paged, hash));
    const char *const texts[][2] = {{"cache_type", CACHE_TYPE},
        {"dtype", dtype_name(config->dtype)}, {"rope_mode", rope_name(config->rope)},
        {"page_group_layout", GROUP_LAYOUT}, {"layout_hash", hash}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        TRY(expect_text(metadata, texts[i][0], texts[i][1]));
    TRY(expect_number(metadata, "rotary_scale", config->rope_scale));
    TRY(expect_number(metadata, "rotary_theta", config->rope_theta));
    TRY(expect_bool_false(metadata, "has_rope_ext_factors"));
    TRY(expect_bool_false(metadata, "support_sliding_window"));
    TRY(expect_bool_false(metadata, "support_layer_sliding_window"));
    JsonSpan kinds, kind;
    int64_t layers = 0;
    TRY(member(metadata, "attn_kinds", &kinds));
    if (!json_items(kinds, &kinds)) FAIL(INVALID, "attn_kinds of the metadata is no array");
    for (; json_next(&kinds, &kind); layers++)
        if (!json_is_string(kind, "mha")) FAIL(INVALID, "layer %" PRIi64 " is not mha", layers);
    if (layers != config->layers)
        FAIL(INVALID, "%" PRIi64 " attention kinds for %" PRIi64 " layers", layers, config->layers);
    return NULL;
}

static Error *check_metadata_pages(const Paged *paged, JsonSpan metadata, int64_t length) {
    JsonSpan pages, page;
    int64_t index = 0, start = 0, size = paged->config.page_size;
    TRY(member(metadata, "logical_pages", &pages));
    if (!json_items(pages, &pages)) FAIL(INVALID, "logical_pages of the metadata is no array");
    for (; json_next(&pages, &page); index++) {
        int64_t left = length - start, expected = left < size ? left : size;
        if (expected <= 0) FAIL(INVALID, "more pages than %" PRIi64 " positions take", length);
        TRY(expect_int(page, "logical_page_index", index));
        TRY(expect_int(page, "start_pos", start));
        TRY(expect_int(page, "length", expected));
        start += expected;
    }
    if (start != length)
        FAIL(INVALID, "pages of %" PRIi64 " positions for a length of %" PRIi64, start, length);
    return NULL;
}

static Error *check_metadata_groups(const Paged *paged, JsonSpan metadata, int64_t pages) {
    const PagedConfig *config = &paged->config;
    JsonSpan groups, group, shape, dimension;
    int64_t index = 0;
    const int64_t dims[] = {1, pages, 2, config->kv_heads, config->page_size, config->key_size};
    TRY(member(metadata, "groups", &groups));
    if (!json_items(groups, &groups)) FAIL(INVALID, "groups of the metadata is no array");
    for (; json_next(&groups, &group); index++) {
        TRY(expect_int(group, "group_index", index));
        TRY(expect_int(group, "layer_begin", config->layer_begin + index));
        TRY(expect_int(group, "layer_end", config->layer_begin + index + 1));
        TRY(expect_int(group, "num_logical_pages", pages));
        TRY(expect_text(group, "dtype", dtype_name(config->dtype)));
        TRY(expect_int(group, "nbytes", (int64_t)group_bytes(paged, pages)));
        TRY(member(group, "shape", &shape));
        uint32_t rank = 0;
        int64_t size;
        bool fits = json_items(shape, &shape);
        for (; fits && json_next(&shape, &dimension); rank++)
            fits = rank < 6 && json_int(dimension, &size) && size == dims[rank];
        if (!fits || rank != 6) FAIL(INVALID, "the shape of group %" PRIi64 " differs", index);
    }
    if (index != config->layers)
        FAIL(INVALID, "%" PRIi64 " groups for %" PRIi64 " layers", index, config->layers);
    return NULL;
}

/* Empties the cache and makes room for a sequence of the metadata's length. */
RELAX(attention_kv_cache_prepare_import) {
    RELAX_UNUSED();
    Paged *paged;
    int64_t number = relax_int(&arguments[1]), length, total, other;
    TRY(get_paged(arguments, &paged));
    if (number != 0) FAIL(UNSUPPORTED, "sequence %" PRIi64 "; only sequence 0 is imported", number);
    JsonSpan metadata = {arguments[2].string->text, arguments[2].string->size};
    TRY(check_metadata_layout(paged, metadata));
    TRY(read_count(metadata, "seq_length", 0, &length));
    TRY(read_count(metadata, "num_total_pages", 1, &total));
    TRY(read_count(metadata, "reserved_num_seqs", 1, &other));
    TRY(read_count(metadata, "prefill_chunk_size", 1, &other));
    if (length > INT32_MAX) FAIL(INVALID, "a sequence of %" PRIi64 " positions", length);
    int64_t pages = pages_of(paged, length);
    if (pages > total || pages > paged->config.pages)
        FAIL(INVALID, "%" PRIi64 " pages, from a cache of %" PRIi64 " into one of %" PRIi64, pages,
            total, paged->config.pages);
    TRY(check_metadata_pages(paged, metadata, length));
    TRY(check_metadata_groups(paged, metadata, pages));
    paged_clear(paged);
    TRY(paged_add(paged, 0));
    uint32_t place;
    TRY(paged_find(paged, 0, &place));
    if (length > 0) TRY(paged_reserve(paged, &paged->sequences[place], length));
    paged->importing = true;
    memset(paged->imported, 0, (size_t)paged->config.layers);
    return NULL;
}

RELAX(attention_kv_cache_import_page_group) {
    RELAX_UNUSED();
    Paged *paged;
    const PagedSequence *sequence;
    int64_t layer;
    int32_t *rows;
    const void *bytes;
    OWN_MEMORY(copy) = NULL;
    TRY(get_paged(arguments, &paged));
    if (!paged->importing) FAIL(CONFLICT, "no import has been prepared");
    TRY(get_exported(paged, relax_int(&arguments[1]), &sequence));
    TRY(get_group(paged, sequence, arguments, &layer, &rows));
    OWN_MEMORY(owned) = rows;
    if (paged->imported[layer]) FAIL(CONFLICT, "group %" PRIi64 " was imported already", layer);
    TRY(relax_host_bytes(call, "the pages", arguments[3].tensor, &bytes, &copy));
    const uint64_t row_bytes = paged_row_bytes(paged, layer);
    OWN_MEMORY(memory) = NULL;
    bool open;
    TRY(memory_alloc((size_t)sequence->length + 1, row_bytes, &memory));
    TRY(paged_open_rows(call, paged, layer, rows, sequence->length, &open));
    if (!open) return NULL;
    for (int64_t i = 0; i < sequence->length; i++)
        copy_row(paged, i, (uint8_t *)memory + (uint64_t)i * row_bytes, (uint8_t *)(uintptr_t)bytes,
            true);
    TRY(paged_write_rows(paged, layer, rows, sequence->length, memory));
    paged->imported[layer] = 1;
    return NULL;
}

RELAX(attention_kv_cache_finish_import) {
    RELAX_UNUSED();
    Paged *paged;
    const PagedSequence *sequence;
    TRY(get_paged(arguments, &paged));
    if (!paged->importing) FAIL(CONFLICT, "no import has been prepared");
    TRY(get_exported(paged, relax_int(&arguments[1]), &sequence));
    for (int64_t i = 0; i < paged->config.layers; i++)
        if (!paged->imported[i]) FAIL(CONFLICT, "group %" PRIi64 " is missing", i);
    paged->importing = false;
    return NULL;
}
