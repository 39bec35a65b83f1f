#include "kernels/cuda/driver/cuda_fatbin.h"

#if CUDA_COMPILER_MAJOR > 0

extern const uint8_t layover_cuda_fatbin[];

/* A driver runs the code of compilers of its own or an older major version. */
const CudaFatbin cuda_fatbin = {layover_cuda_fatbin, CUDA_COMPILER_MAJOR * 1000};

#else

/* A build without nvcc has only NVIDIA's libraries, which need CUDA 12. */
const CudaFatbin cuda_fatbin = {NULL, 12000};

#endif
