#pragma once
/* A loop on a cuda stream whose turns are launches given as letters, ended by reading the result.
 */
#include "kernels/operator/plan.h"
#include "tests/kernels/cuda_device_fixture.h"

enum { CUDA_TURN_BLOCKS = 3 };

typedef struct CudaTurns {
    Device *device;
    DeviceStream *stream;
    Plan *doubling, *negation;
    uint64_t blocks[CUDA_TURN_BLOCKS];
    uint32_t count, at; /* turns so far; the block that holds the numbers */
    float expected;     /* each of them */
} CudaTurns;

/* Blocks and plans are there behind it, and nothing is queued. */
void cuda_turns_init(CudaTurns *turns, Device *device);
void cuda_turns_deinit(CudaTurns *turns);
/* Fresh numbers in another block than last time. */
MUST_CHECK Error *cuda_turns_start(CudaTurns *turns);
/* 'd' doubles the numbers, 'n' negates them, 'c' copies them to the next block. */
MUST_CHECK Error *cuda_turns_launch(CudaTurns *turns, const char *letters);
/* Reads the numbers; fails the test if they are not what the letters make of them. Errors: the
 * device's. */
MUST_CHECK Error *cuda_turns_read(CudaTurns *turns);
/* All three. */
MUST_CHECK Error *cuda_turns_run(CudaTurns *turns, const char *letters);
