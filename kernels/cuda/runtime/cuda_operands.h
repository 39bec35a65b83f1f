#pragma once
/* Operands of one launch of a library's kernel: those that stand at odd addresses are moved to
 * memory of their own. Which kernel runs must not depend on addresses, and the fast ones need
 * aligned ones. */
#include "kernels/cuda/runtime/cuda_device.h"

enum { CUDA_OPERANDS_MAX = 5, CUDA_OPERANDS_ALIGNMENT = 16 };

typedef struct CudaOperands {
    Device *device;
    DeviceStream *stream;
    uint32_t count;
    uint64_t addresses[CUDA_OPERANDS_MAX], sizes[CUDA_OPERANDS_MAX];
} CudaOperands;

/* Whether it may be given to the library as it is. */
static inline bool cuda_operands_fit(uint64_t address) {
    return address % CUDA_OPERANDS_ALIGNMENT == 0;
}
/* Memory for `size` bytes, for as long as the launch takes. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *cuda_operands_stand_in(CudaOperands *operands, uint64_t size, uint64_t *out);
/* The address itself, or that of a copy. Errors: OUT_OF_MEMORY, DEVICE_LOST. */
MUST_CHECK Error *cuda_operands_align(
    CudaOperands *operands, uint64_t address, uint64_t size, uint64_t *out);
/* Behind what the stream has to do. */
void cuda_operands_free(CudaOperands *operands);
