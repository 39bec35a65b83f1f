#include "vm/residency/weight_packing.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/tensor.h"

enum { LIVE_MAX = 4 /* packed weights in memory, when a thread packs ahead */ };

typedef enum PackingState { PACKING_WAITS, PACKING_RUNS, PACKING_READY, PACKING_DONE } PackingState;

/* A packed weight. Its block is free again when all its bytes were read. */
typedef struct PackedItem {
    PackingState state;
    void *block;   /* when ready */
    uint64_t left; /* bytes not read yet */
} PackedItem;

struct WeightPacking {
    const Residency *residency;
    const WeightLayout *layout;
    size_t block_size;      /* of the largest packed weight */
    pthread_mutex_t mutex;  /* guards the members below */
    pthread_cond_t changed; /* an item's state changed */
    PackedItem *items;      /* of the layout's items; unused for plain ones */
    void **free_blocks;
    uint32_t free_count, live; /* live: items that run or are ready */
};

Error *weight_packing_create(
    const Residency *residency, const WeightLayout *layout, WeightPacking **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(WeightPacking), &memory));
    OWN(WeightPacking, packing) = memory;
    packing->residency = residency;
    packing->layout = layout;
    (void)pthread_mutex_init(&packing->mutex, NULL);
    (void)pthread_cond_init(&packing->changed, NULL);
    TRY(memory_alloc(layout->count, sizeof(PackedItem), &memory));
    packing->items = memory;
    TRY(memory_alloc(layout->count, sizeof(void *), &memory));
    packing->free_blocks = memory;
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->items[i].packed != WEIGHT_ITEM_PLAIN &&
            layout->items[i].size > packing->block_size)
            packing->block_size = (size_t)layout->items[i].size;
    *out = TAKE(packing);
    return NULL;
}

void weight_packing_release(WeightPacking *packing) {
    if (!packing) return;
    for (uint32_t i = 0; packing->items && i < packing->layout->count; i++)
        memory_unmap(packing->items[i].block, packing->block_size);
    for (uint32_t i = 0; i < packing->free_count; i++)
        memory_unmap(packing->free_blocks[i], packing->block_size);
    memory_free(packing->items);
    memory_free(packing->free_blocks);
    (void)pthread_cond_destroy(&packing->changed);
    (void)pthread_mutex_destroy(&packing->mutex);
    memory_free(packing);
}

/* A zeroed block, as kernels expect. Takes and gives back the mutex. */
static Error *take_block(WeightPacking *packing, uint64_t size, void **out) {
    void *block = NULL;
    (void)pthread_mutex_lock(&packing->mutex);
    if (packing->free_count > 0) block = packing->free_blocks[--packing->free_count];
    (void)pthread_mutex_unlock(&packing->mutex);
    if (!block) return memory_map(packing->block_size, out);
    *out = memset(block, 0, (size_t)size);
    return NULL;
}

/* Called under the mutex. */
static void free_block(WeightPacking *packing, void *block) {
    if (block) packing->free_blocks[packing->free_count++] = block;
    packing->live--;
}

static Error *pack(const WeightPacking *packing, uint32_t index, void *block) {
    const Residency *residency = packing->residency;
    const PackedWeight *weight = &residency->packed[packing->layout->items[index].packed];
    const PackRequest request = residency_pack_request(residency->executable, weight);
    const Tensor *plain = residency->executable->constants[weight->constant].value.tensor;
    Device *device = residency->devices[SLOT_DEVICE];
    TRY_WRAP(device->class_->pack(device, memory_pool_get_stream(residency->pools[SLOT_DEVICE]),
                 &request, weight->layout, tensor_data(plain), (uint64_t)(uintptr_t)block),
        "constant %u for %s", weight->constant, request.operator_info->name);
    return NULL;
}

/* Called with the mutex held, which is given back meanwhile. */
static Error *make_ready(WeightPacking *packing, uint32_t index) {
    PackedItem *item = &packing->items[index];
    const uint64_t size = packing->layout->items[index].size;
    void *block = NULL;
    item->state = PACKING_RUNS;
    packing->live++;
    (void)pthread_mutex_unlock(&packing->mutex);
    Error *error = take_block(packing, size, &block);
    if (!error) error = pack(packing, index, block);
    (void)pthread_mutex_lock(&packing->mutex);
    if (error) {
        item->state = PACKING_WAITS; /* another reader tries, and reports its own error */
        free_block(packing, block);
    } else
        *item = (PackedItem){PACKING_READY, block, size};
    (void)pthread_cond_broadcast(&packing->changed);
    return error;
}

/* The next weight to pack while another thread packs the one at index; false: none. Packed weights
 * come first in a layout. */
static bool find_ahead(const WeightPacking *packing, uint32_t index, uint32_t *out) {
    const WeightLayout *layout = packing->layout;
    if (packing->live >= LIVE_MAX) return false;
    for (uint32_t i = index + 1; i < layout->count; i++) {
        if (layout->items[i].packed == WEIGHT_ITEM_PLAIN) return false;
        if (packing->items[i].state != PACKING_WAITS) continue;
        *out = i;
        return true;
    }
    return false;
}

/* Called with the mutex held. Ends: a weight that is being packed waits for nothing. */
static Error *wait_until_ready(WeightPacking *packing, uint32_t index) {
    const PackedItem *item = &packing->items[index];
    while (item->state != PACKING_READY) {
        uint32_t next = index;
        if (item->state == PACKING_RUNS && !find_ahead(packing, index, &next))
            (void)pthread_cond_wait(&packing->changed, &packing->mutex);
        else
            TRY(make_ready(packing, next));
    }
    return NULL;
}

static Error *copy_packed(
    WeightPacking *packing, uint32_t index, uint64_t offset, size_t size, void *to) {
    PackedItem *item = &packing->items[index];
    (void)pthread_mutex_lock(&packing->mutex);
    Error *error = wait_until_ready(packing, index);
    (void)pthread_mutex_unlock(&packing->mutex);
    TRY(error);
    /* the block stays, since these bytes are not read yet */
    memcpy(to, (const char *)item->block + offset, size);
    (void)pthread_mutex_lock(&packing->mutex);
    item->left -= size;
    if (item->left == 0) {
        free_block(packing, item->block);
        *item = (PackedItem){.state = PACKING_DONE};
        (void)pthread_cond_broadcast(&packing->changed);
    }
    (void)pthread_mutex_unlock(&packing->mutex);
    return NULL;
}

static Error *read_item(void *context, const WeightItem *item, uint64_t offset, size_t size,
    void *buffer, const void **out_data) {
    WeightPacking *packing = context;
    if (item->packed == WEIGHT_ITEM_PLAIN) {
        const Constant *constant = &packing->residency->executable->constants[item->constant];
        *out_data = (const char *)tensor_data(constant->value.tensor) + offset;
        return NULL;
    }
    *out_data = buffer;
    return copy_packed(packing, (uint32_t)(item - packing->layout->items), offset, size, buffer);
}

Error *weight_packing_read(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    WeightPacking *packing = context;
    return weight_layout_read(packing->layout, offset, size, buffer, read_item, packing, out_data);
}
