#pragma once
/* Builds a convolution as cuDNN's operation graph. Called by cuda_cudnn.c on the thread that plans,
 * in the device's context. */
#include "kernels/cuda/library/cuda_cudnn_convolution.h"
#include "kernels/cuda/library/cuda_cudnn_descriptor.h"

/* Makes the graph, finalized, without a handle; it and its parts are destroyed with the pile.
 * Tensors have their CudaCudnnTensor + 1 as unique id. Errors: UNSUPPORTED the library cannot do
 * it; FAILED. */
MUST_CHECK Error *cuda_cudnn_graph_make(
    CudaCudnnPile *pile, CudnnHandle handle, const CudaCudnnConv *conv, CudnnDescriptor *out);
