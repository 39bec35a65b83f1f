#pragma once
/* The kernels of kernels/cuda/device as nvcc compiled them; none in a build without nvcc. Loaded by
 * cuda_launch.c. Pure: a constant. */
#include <stddef.h>
#include <stdint.h>

typedef struct CudaFatbin {
    const uint8_t *image; /* NULL: none */
    int needed_version;   /* the driver's, counted as cuDriverGetVersion does */
} CudaFatbin;

extern const CudaFatbin cuda_fatbin;
