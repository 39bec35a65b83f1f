#include "kernels/cpu/strings/cpu_ngrams.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"

/* The seed is an address that differs from process to process, so that nobody can make a pool whose
 * items share a slot. Results do not depend on the seed. */
static uint64_t hash_number(const CpuNgrams *ngrams, uint64_t number) {
    return digest_xxh3_seeded(&number, sizeof number, (uintptr_t)ngrams);
}

/* The first eight bytes. */
static uint64_t text_head(StringView text) {
    uint64_t head = 0;
    if (text.size >= sizeof head) {
        memcpy(&head, text.text, sizeof head);
        return head;
    }
    for (uint64_t i = 0; i < text.size; i++) head |= (uint64_t)(uint8_t)text.text[i] << (8 * i);
    return head;
}

static uint64_t text_hash(const CpuNgrams *ngrams, StringView text, uint64_t head) {
    return text.size <= sizeof head ? hash_number(ngrams, head + text.size)
                                    : digest_xxh3_seeded(text.text, text.size, (uintptr_t)ngrams);
}

/* The slot of the item, or the empty one where it would be. */
static NgramItem *find_slot(
    const CpuNgrams *ngrams, StringView text, uint64_t head, uint64_t hash) {
    for (size_t at = hash & ngrams->item_mask;; at = (at + 1) & ngrams->item_mask) {
        NgramItem *item = &ngrams->items[at];
        if (item->number == 0) return item;
        if (item->head != head || item->size != text.size) continue;
        if (text.size <= sizeof head || memcmp(item->text, text.text, text.size) == 0) return item;
    }
}

uint32_t cpu_ngrams_find_text(const CpuNgrams *ngrams, StringView text) {
    if (text.size == 1) return ngrams->byte_items[(uint8_t)text.text[0]];
    const uint64_t head = text_head(text);
    return find_slot(ngrams, text, head, text_hash(ngrams, text, head))->number - 1;
}

uint32_t cpu_ngrams_find_number(const CpuNgrams *ngrams, int64_t number) {
    const StringView none = {NULL, 0};
    return find_slot(ngrams, none, (uint64_t)number, hash_number(ngrams, (uint64_t)number))
               ->number -
           1;
}

static NgramEdge *find_edge(const CpuNgrams *ngrams, uint64_t key) {
    size_t at = hash_number(ngrams, key) & ngrams->edge_mask;
    while (ngrams->edges[at].node && ngrams->edges[at].key != key)
        at = (at + 1) & ngrams->edge_mask;
    return &ngrams->edges[at];
}

uint32_t cpu_ngrams_step(const CpuNgrams *ngrams, uint32_t node, uint32_t item) {
    if (item == NGRAM_NO_ITEM || ngrams->nodes[node].children == 0) return NGRAM_NO_NODE;
    return find_edge(ngrams, (uint64_t)node << 32 | item)->node;
}

/* ---- making ---- */

static uint32_t add_item(CpuNgrams *ngrams, uint32_t index) {
    StringView text = {NULL, 0};
    uint64_t head, hash;
    if (ngrams->dtype == DTYPE_STRING) {
        text.text = attributes_string_at(ngrams->attributes, "pool_strings", index);
        text.size = strlen(text.text);
        head = text_head(text);
        hash = text_hash(ngrams, text, head);
    } else {
        uint32_t count;
        head = (uint64_t)attributes_ints(ngrams->attributes, "pool_int64s", &count)[index];
        hash = hash_number(ngrams, head);
    }
    NgramItem *item = find_slot(ngrams, text, head, hash);
    if (item->number == 0) {
        *item = (NgramItem){head, text.text, (uint32_t)text.size, ++ngrams->item_count};
        if (text.size == 1) ngrams->byte_items[(uint8_t)text.text[0]] = item->number - 1;
    }
    return item->number - 1;
}

static uint32_t add_step(CpuNgrams *ngrams, uint32_t node, uint32_t item) {
    if (node == NGRAM_NO_NODE) {
        if (ngrams->roots[item] == NGRAM_NO_NODE) ngrams->roots[item] = ++ngrams->node_count;
        return ngrams->roots[item];
    }
    NgramEdge *edge = find_edge(ngrams, (uint64_t)node << 32 | item);
    if (edge->node == NGRAM_NO_NODE) {
        *edge = (NgramEdge){(uint64_t)node << 32 | item, ++ngrams->node_count};
        ngrams->nodes[node].children++;
    }
    return edge->node;
}

static void add_ngram(CpuNgrams *ngrams, uint32_t node, uint32_t column, float weight) {
    NgramNode *owner = &ngrams->nodes[node];
    const uint32_t at = ++ngrams->ngram_count;
    ngrams->ngrams[at] = (Ngram){column, weight, NGRAM_NO_GRAM};
    if (owner->first == NGRAM_NO_GRAM)
        owner->first = at;
    else
        ngrams->ngrams[owner->last].next = at;
    owner->last = at;
}

static void fill(CpuNgrams *ngrams, uint32_t pool) {
    uint32_t lengths, count, weight_count, index = 0;
    const Attributes *attributes = ngrams->attributes;
    const int64_t *starts = attributes_ints(attributes, "ngram_counts", &lengths);
    const int64_t *columns = attributes_ints(attributes, "ngram_indexes", &count);
    const double *weights = attributes_floats(attributes, "weights", &weight_count);
    for (uint32_t n = 1; n <= lengths; n++) {
        const uint32_t end = n < lengths ? (uint32_t)starts[n] : pool;
        for (uint32_t at = (uint32_t)starts[n - 1]; at < end; at += n, index++) {
            uint32_t node = NGRAM_NO_NODE;
            for (uint32_t i = 0; i < n; i++)
                node = add_step(ngrams, node, add_item(ngrams, at + i));
            add_ngram(
                ngrams, node, (uint32_t)columns[index], weight_count ? (float)weights[index] : 1);
        }
    }
}

static void destroy(CpuNgrams *ngrams) {
    attributes_release(ngrams->attributes);
    memory_free(ngrams->items);
    memory_free(ngrams->edges);
    memory_free(ngrams->ngrams);
    memory_free(ngrams->nodes);
    memory_free(ngrams->roots);
    memory_free(ngrams);
}

/* Slots for `count` entries, of which at most half are used. */
static size_t slot_mask(uint32_t count) {
    size_t slots = 8;
    while (slots < 2 * (size_t)count) slots *= 2;
    return slots - 1;
}

static Error *allocate(CpuNgrams *ngrams, uint32_t pool, uint32_t count) {
    void *memory;
    ngrams->item_mask = ngrams->edge_mask = slot_mask(pool);
    TRY(memory_alloc(ngrams->item_mask + 1, sizeof(NgramItem), &memory));
    ngrams->items = memory;
    TRY(memory_alloc(ngrams->edge_mask + 1, sizeof(NgramEdge), &memory));
    ngrams->edges = memory;
    TRY(memory_alloc((size_t)count + 1, sizeof(Ngram), &memory));
    ngrams->ngrams = memory;
    TRY(memory_alloc((size_t)pool + 1, sizeof(NgramNode), &memory));
    ngrams->nodes = memory;
    TRY(memory_alloc((size_t)pool + 1, sizeof(uint32_t), &memory));
    ngrams->roots = memory;
    for (uint32_t i = 0; i < 256; i++) ngrams->byte_items[i] = NGRAM_NO_ITEM;
    return NULL;
}

static Error *make(const Attributes *attributes, DType dtype, CpuNgrams **out) {
    uint32_t pool, count;
    void *memory;
    (void)attributes_ints(attributes, "ngram_indexes", &count);
    (void)attributes_ints(attributes, "pool_int64s", &pool);
    if (dtype == DTYPE_STRING) pool = attributes_text_count(attributes, "pool_strings");
    TRY(memory_alloc(1, sizeof(CpuNgrams), &memory));
    CpuNgrams *ngrams = memory;
    ngrams->dtype = dtype;
    ngrams->users = 1;
    ngrams->attributes = attributes_retain((Attributes *)(uintptr_t)attributes);
    Error *error = allocate(ngrams, pool, count);
    if (error) {
        destroy(ngrams);
        return error;
    }
    fill(ngrams, pool);
    *out = ngrams;
    return NULL;
}

/* ---- sharing ---- */

Error *cpu_ngrams_get(
    CpuDevice *device, const Attributes *attributes, DType dtype, const CpuNgrams **out) {
    Error *error = NULL;
    CpuNgrams *found;
    pthread_mutex_lock(&device->shared_mutex);
    for (found = device->ngrams; found; found = found->next)
        if (found->attributes == attributes && found->dtype == dtype) break;
    if (found) {
        found->users++;
    } else {
        error = make(attributes, dtype, &found);
        if (!error) {
            found->next = device->ngrams;
            device->ngrams = found;
        }
    }
    pthread_mutex_unlock(&device->shared_mutex);
    if (!error) *out = found;
    return error;
}

void cpu_ngrams_release(CpuDevice *device, const CpuNgrams *ngrams) {
    if (!ngrams) return;
    pthread_mutex_lock(&device->shared_mutex);
    CpuNgrams **at = &device->ngrams;
    while (*at != ngrams) at = &(*at)->next;
    CpuNgrams *found = *at;
    const bool unused = --found->users == 0;
    if (unused) *at = found->next;
    pthread_mutex_unlock(&device->shared_mutex);
    if (unused) destroy(found);
}
