#pragma once
/* One convolution as cuDNN is asked for it: shapes, strides and what is fused behind it. Filled by
 * cuda_cudnn_conv.c; read by cuda_cudnn.c, which chooses an engine, and by cuda_cudnn_graph.c. */
#include <stdbool.h>
#include <stdint.h>

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
