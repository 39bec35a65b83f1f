#pragma once
/* cuDNN's descriptors: made, filled, finalized, and destroyed together. Called by cuda_cudnn.c and
 * cuda_cudnn_graph.c, on the thread that plans. */
#include "kernels/cuda/runtime/cuda_context.h"

enum { CUDA_CUDNN_PILE_MAX = 160 };

/* Descriptors that are destroyed when the scope ends. cuDNN keeps objects that a descriptor refers
 * to: an execution plan outlives its graph. */
typedef struct CudaCudnnPile {
    CudaDevice *device;
    uint32_t count;
    CudnnDescriptor descriptors[CUDA_CUDNN_PILE_MAX];
} CudaCudnnPile;

void cuda_cudnn_descriptor_destroy_all(CudaCudnnPile *pile);
#define CUDA_CUDNN_PILE(name, of_device)                                                           \
    __attribute__((cleanup(cuda_cudnn_descriptor_destroy_all)))                                    \
    CudaCudnnPile name = {.device = (of_device)}

/* NULL for CUDNN_STATUS_SUCCESS. Errors, with the library's reason: UNSUPPORTED not on this GPU,
 * with this driver or this installation, or not this problem; EXHAUSTED no memory; FAILED
 * otherwise. */
MUST_CHECK Error *cuda_cudnn_check(CudaDevice *device, int status, const char *function);
#define CUDNN_TRY(device, function, ...)                                                           \
    TRY(cuda_cudnn_check((device), (device)->api->function(__VA_ARGS__), #function))

/* type: cudnnBackendDescriptorType_t. */
MUST_CHECK Error *cuda_cudnn_descriptor_make(CudaCudnnPile *pile, int type, CudnnDescriptor *out);
/* type: cudnnBackendAttributeType_t of the values. */
MUST_CHECK Error *cuda_cudnn_descriptor_set(CudaDevice *device, CudnnDescriptor descriptor,
    int attribute, int type, int64_t count, const void *values);
/* Sets an attribute to a value of one of cuDNN's enumerations. */
MUST_CHECK Error *cuda_cudnn_descriptor_set_choice(
    CudaDevice *device, CudnnDescriptor descriptor, int attribute, int type, int value);
MUST_CHECK Error *cuda_cudnn_descriptor_set_int(
    CudaDevice *device, CudnnDescriptor descriptor, int attribute, int64_t value);
MUST_CHECK Error *cuda_cudnn_descriptor_set_other(
    CudaDevice *device, CudnnDescriptor descriptor, int attribute, CudnnDescriptor other);
MUST_CHECK Error *cuda_cudnn_descriptor_finalize(CudaDevice *device, CudnnDescriptor descriptor);
