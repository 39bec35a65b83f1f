#pragma once
/* A convolution as cuDNN's operation graph. */
#include "kernels/cuda/library/cuda_cudnn.h"
#include "kernels/cuda/library/cuda_cudnn_descriptor.h"

/* The graph, finalized, without a handle; it and its parts go with the pile. Tensors have their
 * CudaCudnnTensor + 1 as unique id. Errors: UNSUPPORTED the library cannot do it; FAILED. */
MUST_CHECK Error *cuda_cudnn_graph_make(
    CudaCudnnPile *pile, CudnnHandle handle, const CudaCudnnConv *conv, CudnnDescriptor *out);
