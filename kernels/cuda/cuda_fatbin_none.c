/* A build without nvcc. The libraries' functions need CUDA 12. */
#include "kernels/cuda/cuda_fatbin.h"

const CudaFatbin cuda_fatbin = {NULL, 12000};
