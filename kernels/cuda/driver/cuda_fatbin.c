#include "kernels/cuda/driver/cuda_fatbin.h"

#if CUDA_COMPILER_MAJOR > 0

extern const uint8_t layover_cuda_fatbin[];

/* Drivers run what a compiler of their own major version or an older one made. */
const CudaFatbin cuda_fatbin = {layover_cuda_fatbin, CUDA_COMPILER_MAJOR * 1000};

#else

/* A build without nvcc: NVIDIA's libraries alone. They need CUDA 12. */
const CudaFatbin cuda_fatbin = {NULL, 12000};

#endif
