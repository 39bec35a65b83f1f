/* Drivers run what a compiler of their own major version or an older one made. */
#include "kernels/cuda/cuda_fatbin.h"

extern const uint8_t layover_cuda_fatbin[];

const CudaFatbin cuda_fatbin = {layover_cuda_fatbin, CUDA_COMPILER_MAJOR * 1000};
