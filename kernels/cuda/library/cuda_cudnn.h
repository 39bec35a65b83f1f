#pragma once
/* Convolutions by cuDNN 9's graph interface: one convolution described, planned and started. Called
 * by cuda_cudnn_conv.c and cuda_class.c; any thread. */
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

enum { CUDA_CUDNN_SPATIAL_MAX = 3, CUDA_CUDNN_RANK_MAX = 2 + CUDA_CUDNN_SPATIAL_MAX };

/* The tensors of a convolution, all compact and of one element type. */
typedef enum CudaCudnnTensor {
    CUDA_CUDNN_FROM,    /* [images, channels, …] */
    CUDA_CUDNN_WEIGHTS, /* [filters, channels / groups, …]; transposed: [channels, filters /
                           groups, …] */
    CUDA_CUDNN_TO,      /* [images, filters, …] */
    CUDA_CUDNN_ADDED,   /* as TO */
    CUDA_CUDNN_BIAS,    /* [1, filters, 1, …] */
    CUDA_CUDNN_TENSOR_COUNT
} CudaCudnnTensor;

/* to = relu(from * weights + added + bias), summed up in float32. The library fuses them in that
 * order only, and only with a bias: has_added and relu need has_bias. */
typedef struct CudaCudnnConv {
    int type;      /* cudnnDataType_t */
    uint32_t rank; /* of from, weights and to: 4 or 5 */
    int64_t from[CUDA_CUDNN_RANK_MAX], weights[CUDA_CUDNN_RANK_MAX], to[CUDA_CUDNN_RANK_MAX];
    int64_t stride[CUDA_CUDNN_SPATIAL_MAX], dilation[CUDA_CUDNN_SPATIAL_MAX];
    int64_t pad_begin[CUDA_CUDNN_SPATIAL_MAX], pad_end[CUDA_CUDNN_SPATIAL_MAX];
    bool transposed; /* the gradient of the convolution from `to` to `from`; without fusion */
    bool has_added, has_bias, relu;
    bool rounds;        /* float32 elements may become TF32 */
    bool channels_last; /* from, to and added are [images, …, channels]; weights are not */
} CudaCudnnConv;

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
