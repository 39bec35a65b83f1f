#include "kernels/native/native_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/native/native_memory.h"

/* ---- ranges ---- */

static int compare_blocks(const void *a, const void *b) {
    const NativeBlock *left = a, *right = b;
    if (left->data != right->data) return left->data < right->data ? -1 : 1;
    return (left->size < right->size) - (left->size > right->size);
}

static uint32_t collect(const NativeValue *arguments, uint32_t count, NativeBlock *out) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const NativeTensor *tensor = &arguments[i].tensor;
        if (arguments[i].kind != NATIVE_TENSOR || tensor->key) continue;
        uint64_t size = native_tensor_bytes(tensor);
        if (size) out[found++] = (NativeBlock){tensor->data, size, 0, tensor->writable};
    }
    return found;
}

/* Joins overlapping ranges of a sorted array; returns how many are left. */
static uint32_t join(NativeBlock *blocks, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        NativeBlock *last = kept ? &blocks[kept - 1] : NULL;
        if (!last || blocks[i].data >= last->data + last->size) {
            blocks[kept++] = blocks[i];
            continue;
        }
        uint8_t *end = blocks[i].data + blocks[i].size;
        if (end > last->data + last->size) last->size = (uint64_t)(end - last->data);
        last->writable = last->writable || blocks[i].writable;
    }
    return kept;
}

/* A block keeps its position within an aligned unit, so that tensors inside it stay aligned. */
static Error *place_all(NativeBlocks *blocks, uint64_t begin) {
    uint64_t end = begin;
    for (uint32_t i = 0; i < blocks->count; i++) {
        NativeBlock *block = &blocks->items[i];
        uint64_t inside = (uintptr_t)block->data % NATIVE_ALIGNMENT;
        uint64_t place =
            (end + NATIVE_GUARD + NATIVE_ALIGNMENT - 1) / NATIVE_ALIGNMENT * NATIVE_ALIGNMENT +
            inside;
        if (block->size > NATIVE_DATA_MAX || place > NATIVE_DATA_MAX - block->size - NATIVE_GUARD)
            FAIL(EXHAUSTED, "the tensors of a native call take more than %llu bytes",
                (unsigned long long)NATIVE_DATA_MAX);
        block->place = place;
        end = place + block->size + NATIVE_GUARD;
    }
    blocks->end = end;
    return NULL;
}

static uint64_t find_place(const NativeBlocks *blocks, const uint8_t *data) {
    for (uint32_t i = 0; i < blocks->count; i++) {
        const NativeBlock *block = &blocks->items[i];
        if (data >= block->data && data < block->data + block->size)
            return block->place + (uint64_t)(data - block->data);
    }
    return 0; /* of a tensor without bytes */
}

Error *native_blocks_create(
    NativeValue *arguments, uint32_t count, uint64_t begin, NativeBlocks *out) {
    void *memory;
    TRY(memory_alloc(count ? count : 1, sizeof(NativeBlock), &memory));
    *out = (NativeBlocks){.items = memory};
    out->count = collect(arguments, count, out->items);
    qsort(out->items, out->count, sizeof(NativeBlock), compare_blocks);
    out->count = join(out->items, out->count);
    Error *error = place_all(out, begin);
    if (error) {
        native_blocks_deinit(out);
        return error;
    }
    for (uint32_t i = 0; i < count; i++)
        if (arguments[i].kind == NATIVE_TENSOR && !arguments[i].tensor.key)
            arguments[i].tensor.place = find_place(out, arguments[i].tensor.data);
    return NULL;
}

void native_blocks_deinit(NativeBlocks *blocks) {
    memory_free(blocks->items);
    *blocks = (NativeBlocks){0};
}

/* ---- bytes ---- */

void native_blocks_send(const NativeBlocks *blocks, uint8_t *data) {
    for (uint32_t i = 0; i < blocks->count; i++) {
        const NativeBlock *block = &blocks->items[i];
        uint8_t *to = data + block->place;
        memset(to - NATIVE_GUARD, NATIVE_GUARD_BYTE, NATIVE_GUARD);
        memcpy(to, block->data, block->size);
        memset(to + block->size, NATIVE_GUARD_BYTE, NATIVE_GUARD);
    }
}

static bool is_whole(const uint8_t *guard) {
    for (int i = 0; i < NATIVE_GUARD; i++)
        if (guard[i] != NATIVE_GUARD_BYTE) return false;
    return true;
}

Error *native_blocks_check(const NativeBlocks *blocks, const uint8_t *data) {
    for (uint32_t i = 0; i < blocks->count; i++) {
        const NativeBlock *block = &blocks->items[i];
        const uint8_t *from = data + block->place;
        if (!is_whole(from - NATIVE_GUARD) || !is_whole(from + block->size))
            FAIL(FAILED, "wrote outside its tensor of %llu bytes", (unsigned long long)block->size);
    }
    return NULL;
}

void native_blocks_receive(const NativeBlocks *blocks, const uint8_t *data) {
    for (uint32_t i = 0; i < blocks->count; i++) {
        const NativeBlock *block = &blocks->items[i];
        if (block->writable) memcpy(block->data, data + block->place, block->size);
    }
}
