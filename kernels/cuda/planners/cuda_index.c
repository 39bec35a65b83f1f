#include "kernels/cuda/planners/cuda_index.h"

#include <inttypes.h>

#include "kernels/cuda/planners/cuda_copy.h"

Error *cuda_index_begin(const Plan *plan, const Launch *launch, DType dtype, CudaIndices *out) {
    *out = (CudaIndices){launch->inputs[1], launch->workspace, dtype == DTYPE_INT64};
    return cuda_copy_fill(plan, launch, launch->workspace, UINT64_MAX, sizeof(uint64_t), 1);
}

Error *cuda_index_end(const Plan *plan, const Launch *launch, const char *name,
    const CudaIndices *indices, const int64_t *dims, uint32_t depth) {
    const DeviceClass *class_ = plan->device->class_;
    uint64_t position;
    int64_t wide = 0;
    int32_t narrow = 0;
    TRY(class_->copy_to_host(
        plan->device, launch->stream, &position, indices->fault, sizeof position));
    if (position == UINT64_MAX) return NULL;
    const uint64_t size = indices->wide ? sizeof wide : sizeof narrow;
    TRY(class_->copy_to_host(plan->device, launch->stream,
        indices->wide ? (void *)&wide : (void *)&narrow, indices->address + position * size, size));
    const int64_t dim = dims[position % depth];
    FAIL(FAILED,
        "%s: index %" PRId64 " at position %" PRIu64 " is outside [%" PRId64 ", %" PRId64 "]", name,
        indices->wide ? wide : narrow, position, -dim, dim - 1);
}
