/* Operators that read elements by indices from data, or make elements from indices. */
#include "kernels/cuda/device/device_combine.h"
#include "kernels/scalar/scalar_convert.h"

/* The index at a position, within [0, dim). Notes an index outside and returns -1. The index is
 * loaded once: another process may rewrite shared memory. */
DEVICE int64_t index_at(const CudaIndices *indices, uint64_t position, int64_t dim) {
    const int64_t index = indices->wide
                              ? ((const volatile int64_t *)(uintptr_t)indices->address)[position]
                              : ((const volatile int32_t *)(uintptr_t)indices->address)[position];
    if (index >= -dim && index < dim) return index < 0 ? index + dim : index;
    device_min_u64((uint64_t *)(uintptr_t)indices->fault, position);
    return -1;
}

KERNEL(layover_gather, CudaGatherParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.batches * p.tuples * p.slice) {
            const uint64_t tuple = i / p.slice, batch = tuple / p.tuples;
            const uint64_t first = (p.same_indices ? tuple % p.tuples : tuple) * p.depth;
            uint64_t offset = batch * p.batch_stride + i % p.slice;
            int inside = 1;
            for (uint32_t d = 0; d < p.depth && inside; d++) {
                const int64_t index = index_at(&p.indices, first + d, p.dims[d]);
                inside = index >= 0;
                offset += (uint64_t)(index * p.strides[d]);
            }
            if (inside) element_move(p.to, (int64_t)i, p.from, (int64_t)offset, p.size);
        }
    }
}

KERNEL(layover_gather_elements, CudaGatherElementsParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            const int64_t index = index_at(&p.indices, i, p.dim);
            const int64_t base = element_offset(i, p.count, p.rank, p.dims, p.strides);
            if (index >= 0)
                element_move(p.to, (int64_t)i, p.from, base + index * p.axis_stride, p.size);
        }
    }
}

KERNEL(layover_scatter_elements, CudaScatterElementsParams) {
    THREADS(t) {
        EACH_UNIT(lane, t, p.lanes) {
            const int64_t base = element_offset(lane, p.lanes, p.rank, p.dims, p.strides);
            int64_t position = element_offset(lane, p.lanes, p.rank, p.dims, p.positions);
            for (int64_t i = 0; i < p.length; i++, position += p.lane_stride) {
                const int64_t index = index_at(&p.indices, (uint64_t)position, p.dim);
                if (index < 0) continue;
                const int64_t at = base + index * p.axis_stride;
                const uint64_t update = element_load(p.updates, p.size, position);
                const uint64_t old = p.combine ? element_load(p.to, p.size, at) : 0;
                element_store(p.to, p.size, at, combine_elements(p.combine, p.dtype, old, update));
            }
        }
    }
}

KERNEL(layover_scatter_tuples, CudaScatterTuplesParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.slice) {
            for (uint64_t tuple = 0; tuple < p.tuples; tuple++) {
                int64_t at = (int64_t)i;
                int inside = 1;
                for (uint32_t d = 0; d < p.depth && inside; d++) {
                    const int64_t index = index_at(&p.indices, tuple * p.depth + d, p.dims[d]);
                    inside = index >= 0;
                    at += index * p.strides[d];
                }
                if (!inside) continue;
                const uint64_t update =
                    element_load(p.updates, p.size, (int64_t)(tuple * p.slice + i));
                const uint64_t old = p.combine ? element_load(p.to, p.size, at) : 0;
                element_store(p.to, p.size, at, combine_elements(p.combine, p.dtype, old, update));
            }
        }
    }
}

/* Any number as an index: floats truncated. */
DEVICE int64_t one_hot_index(uint32_t dtype, uint64_t bits) {
    if (dtype == DTYPE_FLOAT64) return scalar_f64_to_int64(scalar_make_f64(bits));
    if (element_is_float(dtype)) return scalar_f32_to_int64(element_to_f32(dtype, bits));
    if (dtype == DTYPE_UINT64 && bits > INT64_MAX) return INT64_MAX;
    return (int64_t)element_widen(dtype, bits);
}

/* An index outside [-depth, depth) sets no element, by ONNX's text. */
KERNEL(layover_one_hot, CudaOneHotParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            const uint64_t plane = (uint64_t)(p.depth * p.inner);
            const int64_t inner = (int64_t)(i % (uint64_t)p.inner);
            const int64_t depth = (int64_t)(i % plane) / p.inner;
            const int64_t at = (int64_t)(i / plane) * p.inner + inner;
            const uint64_t bits = element_load(p.indices, element_size(p.dtype), at);
            const int64_t index = one_hot_index(p.dtype, bits);
            const int on = index == depth || (index < 0 && index + p.depth == depth);
            element_store(p.to, p.size, (int64_t)i, element_load(p.values, p.size, on));
        }
    }
}

KERNEL(layover_range, CudaRangeParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            uint64_t bits = (uint64_t)p.start_int + i * (uint64_t)p.step_int;
            if (element_is_float(p.dtype))
                bits = element_from_f64(p.dtype, p.start + (double)i * p.step);
            element_store(p.to, element_size(p.dtype), (int64_t)i, bits);
        }
    }
}
