#include "kernels/cuda/runtime/cuda_operands.h"

#include <assert.h>

#include "kernels/cuda/runtime/cuda_memory.h"
#include "kernels/cuda/runtime/cuda_transfer.h"

Error *cuda_operands_stand_in(CudaOperands *operands, uint64_t size, uint64_t *out) {
    assert(operands->count < CUDA_OPERANDS_MAX);
    TRY(error_recode(
        cuda_memory_alloc(operands->device, operands->stream, size, out), ERROR_OUT_OF_MEMORY));
    operands->addresses[operands->count] = *out;
    operands->sizes[operands->count++] = size;
    return NULL;
}

Error *cuda_operands_align(CudaOperands *operands, uint64_t address, uint64_t size, uint64_t *out) {
    *out = address;
    if (cuda_operands_fit(address)) return NULL;
    TRY(cuda_operands_stand_in(operands, size, out));
    return cuda_transfer_inside(operands->device, operands->stream, *out, address, size);
}

void cuda_operands_free(CudaOperands *operands) {
    for (uint32_t i = 0; i < operands->count; i++)
        cuda_memory_free(
            operands->device, operands->stream, operands->addresses[i], operands->sizes[i]);
    operands->count = 0;
}
