#pragma once
/* Convolutions by cuDNN 9's graph interface: one convolution described, planned and started. Called
 * by cuda_cudnn_conv.c and cuda_class.c; any thread. */
#include "kernels/cuda/library/cuda_cudnn_convolution.h"
#include "kernels/cuda/runtime/cuda_operands.h"
#include "kernels/operator/kernel.h"

/* The library and one GPU. */
typedef struct CudaCudnn {
    CudnnHandle handle;  /* serves one call at a time: plans are made and started under the
                          * mutex, for any thread and stream. Kernels overlap, queueing them does
                          * not */
    CudnnDescriptor gpu; /* replaces the handle if the GPU is only described: plans can be made,
                          * not started */
    pthread_mutex_t mutex;
} CudaCudnn;

/* A convolution that is ready to run, on any stream; its engine was chosen for addresses that pass
 * cuda_operands_fit. */
typedef struct CudaCudnnProgram {
    CudnnDescriptor plan;
    bool has_added, has_bias;
    uint64_t workspace_bytes;
} CudaCudnnProgram;

/* Alignment of the workspace. */
enum { CUDA_CUDNN_WORKSPACE_ALIGNMENT = 256 };

/* Opens the library, if it is on this machine and supports this GPU. In the device's context. */
MUST_CHECK Error *cuda_cudnn_open(CudaDevice *device);
void cuda_cudnn_close(CudaDevice *device);
/* The kernels of the library, NULL-terminated. */
const Kernel *const *cuda_cudnn_tables(void);

/* Chooses the first engine of the library's heuristics (mode A, then B, then its fallbacks) that
 * adds up in a fixed order, in the element type's own precision, compiles nothing and fits a given
 * workspace: a function of the convolution, the GPU and the library, never of a measurement.
 * *out_found false: there is none. Errors: the library's; then, as when none is found, there is
 * nothing to deinit. */
MUST_CHECK Error *cuda_cudnn_init(
    CudaDevice *device, const CudaCudnnConv *conv, CudaCudnnProgram *out, bool *out_found);
void cuda_cudnn_deinit(CudaDevice *device, CudaCudnnProgram *program);

/* Queues the convolution after the stream's earlier work; in the device's context. Neither
 * allocates GPU memory nor waits for the GPU.
 *
 * addresses: by CudaCudnnTensor; those of absent tensors are not read. */
MUST_CHECK Error *cuda_cudnn_run(CudaDevice *device, const CudaCudnnProgram *program,
    const uint64_t *addresses, uint64_t workspace, CUstream stream);
