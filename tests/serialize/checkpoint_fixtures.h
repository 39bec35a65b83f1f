#pragma once
/* A checkpoint of the example's execution, in memory. */
#include "serialize/checkpoint/checkpoint.h"
#include "tests/serialize/executable_fixtures.h"

typedef struct CheckpointExample {
    Executable *executable;
    Residency *residency;
    MemoryStore chunks;
    ByteWriter manifest;
    Container *container;
} CheckpointExample;

/* Stopped behind so many instructions; 9: finished. */
void checkpoint_example_init(CheckpointExample *example, uint64_t instructions);
void checkpoint_example_deinit(CheckpointExample *example);
/* Reads a checkpoint of the example and runs it to its end; NULL: it was refused, *out_error says
 * why (free it). */
Execution *checkpoint_example_finish(
    const CheckpointExample *example, const Container *container, Error **out_error);
