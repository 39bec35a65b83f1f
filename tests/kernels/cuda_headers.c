/* Compiled once with our declarations, once with NVIDIA's; cuDNN's headers come separately. */
#ifdef CUDA_HEADERS_OURS
#include "kernels/cuda/driver/cuda_driver.h"
#define TABLE cuda_headers_ours
#else
#include <cublasLt.h>
#include <cuda.h>
#ifdef CUDA_HEADERS_CUDNN
#include <cudnn.h>
#define CudnnHandle cudnnHandle_t
#define CudnnDescriptor cudnnBackendDescriptor_t
#endif
#include <nvrtc.h>
#define TABLE cuda_headers_theirs
#define CublasAlgorithm cublasLtMatmulAlgo_t
#define CublasHeuristic cublasLtMatmulHeuristicResult_t
#endif

#include <stddef.h>

#include "tests/kernels/cuda_headers.h"

#define NUMBER(name) {#name, (int64_t)name},
#define SIZE(type) {"sizeof " #type, (int64_t)sizeof(type)},
#define OFFSET(type, member) {#type "." #member, (int64_t)offsetof(type, member)},
const CudaHeaderRow TABLE[] = {
#include "tests/kernels/cuda_headers.def"
#ifdef CUDA_HEADERS_CUDNN
#include "tests/kernels/cuda_cudnn_headers.def"
#endif
    {0},
};
