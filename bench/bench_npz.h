#pragma once
/* The inputs of a job as a client sends them. Used by the benchmarks that submit jobs. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/tensor/shape.h"

/* An .npz file with the array "a", float32, zeros, of that shape. folder: where the file is written
 * before it is read. Release with memory_unmap(data, size), or leave it to the process's end.
 * Errors: IO, EXHAUSTED. */
MUST_CHECK Error *bench_npz_make(
    const char *folder, const Shape *shape, uint8_t **out_data, size_t *out_size);
