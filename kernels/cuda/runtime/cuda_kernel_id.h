#pragma once
/* The kernels of the device's image, by number: the rows of cuda_kernels.def. Included by
 * cuda_launch.h for the planners, and by cuda_context.h, which keeps the loaded functions. */

typedef enum CudaKernelId {
#define CUDA_KERNEL(id, name, parameters) CUDA_KERNEL_##id,
#include "kernels/cuda/runtime/cuda_kernels.def"
#undef CUDA_KERNEL
    CUDA_KERNEL_COUNT
} CudaKernelId;
