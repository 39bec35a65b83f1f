#pragma once
/* A matrix product straight from cuBLASLt, as a program that has nothing else to do would ask for
 * it: whatever algorithm the library answers first, in any order of additions, prepared once. */
#include "kernels/cuda/driver/cuda_symbols.h"
#include "kernels/tensor/dtype.h"

/* [batch, rows, depth] x [batch, depth, columns], row-major and compact. */
typedef struct MatmulShape {
    DType dtype; /* float32, float16 or bfloat16 */
    uint64_t batch, rows, columns, depth;
} MatmulShape;

/* The library on one GPU, whose primary context is current from open to close. */
typedef struct RawCublas {
    const CudaSymbols *api;
    CUdevice gpu;
    CUcontext context; /* NULL: not opened */
    CUstream stream;
    CUevent before, after;
    CublasHandle handle;
} RawCublas;

/* Errors: UNSUPPORTED no driver, no such library. Closing does nothing to a zeroed one. */
MUST_CHECK Error *raw_cublas_open(uint32_t index, RawCublas *out);
void raw_cublas_close(RawCublas *cublas);

typedef struct RawMatmul {
    RawCublas *cublas;
    CublasMatmulDesc desc;
    CublasLayout left, right, to;
    CublasAlgorithm algorithm;
    uint64_t workspace_bytes;
} RawMatmul;

/* Ownership: deinit what was initialised, in part as well. Errors: the library's. */
MUST_CHECK Error *raw_matmul_init(RawCublas *cublas, const MatmulShape *shape, RawMatmul *out);
void raw_matmul_deinit(RawMatmul *matmul);
/* Device time of one of `count` products queued at once. Addresses are multiples of 256. */
MUST_CHECK Error *raw_matmul_time(const RawMatmul *matmul, const uint64_t operands[2], uint64_t to,
    uint64_t workspace, uint32_t count, double *out_ns);
