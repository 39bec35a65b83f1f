#pragma once
/* Matrix products by cuBLASLt: one product described, planned and started. Called by
 * cuda_cublas_matmul.c and cuda_class.c; a plan may run on any thread.
 *
 * cuBLASLt counts by columns: it computes B' A' for A B, with the memory unchanged. */
#include "kernels/cuda/runtime/cuda_operands.h"
#include "kernels/operator/kernel.h"

/* A matrix in memory as the library sees it. */
typedef struct CudaCublasMatrix {
    uint64_t rows, columns; /* by columns */
    int64_t step;           /* elements from one column to the next */
    int64_t batch_step;     /* from one matrix to the next; 0: the same for all */
    bool transposed;        /* read with rows and columns swapped */
} CudaCublasMatrix;

typedef struct CudaCublasProblem {
    int type, compute; /* cudaDataType_t, cublasComputeType_t */
    int epilogue;      /* cublasLtEpilogue_t */
    CudaCublasMatrix left, right,
        to; /* to = alpha left right + beta added, and then the epilogue */
    int32_t batch_count;
    float alpha, beta;
} CudaCublasProblem;

/* A product that is ready to run, on any stream and many times at once; its algorithm was chosen
 * for addresses that pass cuda_operands_fit. */
typedef struct CudaCublasProduct {
    CudaCublasProblem problem;
    CublasLayout left, right, to;
    CublasAlgorithm algorithm;
    uint64_t workspace_bytes;
} CudaCublasProduct;

/* Opens the library, if it is on this machine. In the device's context. */
MUST_CHECK Error *cuda_cublas_open(CudaDevice *device);
void cuda_cublas_close(CudaDevice *device);
/* The kernels of the library, NULL-terminated. */
const Kernel *const *cuda_cublas_tables(void);

/* Chooses the algorithm that the library names first, for a given workspace and without additions
 * in a random order: a function of the problem, the GPU and the library. *out_found false: there is
 * none. Errors: the library's; then, as when none is found, there is nothing to deinit. */
MUST_CHECK Error *cuda_cublas_init(
    CudaDevice *device, const CudaCublasProblem *problem, CudaCublasProduct *out, bool *out_found);
void cuda_cublas_deinit(CudaDevice *device, CudaCublasProduct *product);

typedef struct CudaCublasAddresses {
    uint64_t left, right, bias, added, to; /* bias, added: 0 if the problem has none */
    uint64_t workspace;
} CudaCublasAddresses;

/* Equal for products that the library computes with the same kernels; see cuda_stretch_add. */
uint64_t cuda_cublas_stretch_key(const CudaCublasProduct *product);
/* Queues the product after the stream's earlier work; in the device's context. */
MUST_CHECK Error *cuda_cublas_run(CudaDevice *device, const CudaCublasProduct *product,
    const CudaCublasAddresses *addresses, CUstream stream);
