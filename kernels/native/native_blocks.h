#pragma once
/* Where the tensors of one call lie in the data that a process shares with its native worker.
 * Tensors that overlap in the caller's memory overlap in the same way in the shared data. Called by
 * native_worker.c. Threads: one at a time. */
#include "kernels/native/native_value.h"

/* A range of the caller's memory and its copy. */
typedef struct NativeBlock {
    uint8_t *data;
    uint64_t size;
    uint64_t place;
    bool writable; /* of any tensor inside */
} NativeBlock;

typedef struct NativeBlocks {
    NativeBlock *items;
    uint32_t count;
    uint64_t end; /* of the data that is in use */
} NativeBlocks;

/* Makes the blocks of all tensors among the arguments that have a key of 0, from place `begin` on,
 * and writes the tensors' places. Errors: EXHAUSTED more than NATIVE_DATA_MAX. */
MUST_CHECK Error *native_blocks_create(
    NativeValue *arguments, uint32_t count, uint64_t begin, NativeBlocks *out);
void native_blocks_deinit(NativeBlocks *blocks);
/* Copies every block into the shared data, with guards around it. */
void native_blocks_send(const NativeBlocks *blocks, uint8_t *data);
/* Errors: FAILED bytes outside a tensor were written. */
MUST_CHECK Error *native_blocks_check(const NativeBlocks *blocks, const uint8_t *data);
/* Copies the writable blocks back. */
void native_blocks_receive(const NativeBlocks *blocks, const uint8_t *data);
