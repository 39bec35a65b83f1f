#include "tests/support/fake_cuda/fake_fatbin.h"

#include "kernels/cuda/driver/cuda_fatbin.h"

const CudaFatbin cuda_fatbin = {(const uint8_t *)FAKE_FATBIN_IMAGE, 12000};
