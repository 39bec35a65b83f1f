#pragma once
/* Operands of one launch of a library's kernel: operands at unaligned addresses are copied to
 * aligned memory. The chosen kernel must not depend on addresses, and the fast kernels need aligned
 * ones. Called by the launch functions in kernels/cuda/library/, on the thread of the execution. */
#include "kernels/cuda/runtime/cuda_context.h"

enum { CUDA_OPERANDS_MAX = 5, CUDA_OPERANDS_ALIGNMENT = 16 };

typedef struct CudaOperands {
    Device *device;
    DeviceStream *stream;
    uint32_t count;
    uint64_t addresses[CUDA_OPERANDS_MAX], sizes[CUDA_OPERANDS_MAX];
} CudaOperands;

/* Whether the address can be passed to the library without a copy. */
static inline bool cuda_operands_fit(uint64_t address) {
    return address % CUDA_OPERANDS_ALIGNMENT == 0;
}
/* Allocates `size` bytes for the duration of the launch. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *cuda_operands_stand_in(CudaOperands *operands, uint64_t size, uint64_t *out);
/* The address itself, or the address of an aligned copy. Errors: OUT_OF_MEMORY, DEVICE_LOST. */
MUST_CHECK Error *cuda_operands_align(
    CudaOperands *operands, uint64_t address, uint64_t size, uint64_t *out);
/* Frees the copies after the stream's work. */
void cuda_operands_free(CudaOperands *operands);
