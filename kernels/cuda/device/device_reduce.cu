/* Reductions: partial results in 64 bits, combined in an order that the shape alone decides. */
#include "kernels/cuda/device/device_block.h"
#include "kernels/cuda/device/device_combine.h"

/* The element type of partial results. */
DEVICE uint32_t reduce_wide(uint32_t dtype) {
    if (element_is_float(dtype)) return DTYPE_FLOAT64;
    return element_is_signed(dtype) ? DTYPE_INT64 : DTYPE_UINT64;
}

DEVICE uint64_t reduce_element(const CudaReduceParams *p, int64_t base, uint64_t j) {
    int64_t offset = base, l = (int64_t)j;
    if (p->reduced_rank > 0) {
        const uint64_t repeat = j / (uint64_t)p->length;
        l = (int64_t)(j % (uint64_t)p->length);
        offset += element_offset(
            repeat, (uint64_t)p->repeats, p->reduced_rank, p->reduced_dims, p->reduced_strides);
    }
    offset += p->columns ? l * p->stride : l;
    const uint64_t bits = element_load(p->from, element_size(p->dtype), offset);
    uint64_t wide = element_widen(p->dtype, bits);
    if (element_is_float(p->dtype)) wide = scalar_bits_f64(element_to_f64(p->dtype, bits));
    return p->squares ? combine_elements(CUDA_COMBINE_MUL, reduce_wide(p->dtype), wide, wide)
                      : wide;
}

/* Reduces the elements begin, begin + step … below end of one output. */
DEVICE uint64_t reduce_range(
    const CudaReduceParams *p, uint64_t output, uint64_t begin, uint64_t end, uint64_t step) {
    const int64_t outer = (int64_t)output / p->width, column = (int64_t)output % p->width;
    const uint32_t wide = reduce_wide(p->dtype);
    uint64_t total = p->identity;
    int64_t base = p->columns ? column : column * p->stride;
    if (p->kept_rank > 0)
        base += element_offset(
            (uint64_t)outer, (uint64_t)p->outer, p->kept_rank, p->kept_dims, p->kept_strides);
    for (uint64_t j = begin; j < end; j += step)
        total = combine_elements(p->combine, wide, total, reduce_element(p, base, j));
    return total;
}

/* Means of integers are truncated; L2 of integers is the truncated root of the wrapped sum. */
DEVICE uint64_t finish_integer(const CudaReduceParams *p, uint64_t total) {
    const int is_signed = element_is_signed(p->dtype) != 0;
    if (p->finish == CUDA_FINISH_MEAN && p->total > 0)
        return is_signed ? (uint64_t)((int64_t)total / (int64_t)p->total) : total / p->total;
    if (p->finish == CUDA_FINISH_ROOT) {
        if (!is_signed) return (uint64_t)scalar_sqrt_f64((double)total);
        return (int64_t)total > 0 ? (uint64_t)scalar_sqrt_f64((double)(int64_t)total) : 0;
    }
    return total;
}

DEVICE void finish_output(const CudaReduceParams *p, uint64_t output, uint64_t total) {
    uint64_t bits;
    if (element_is_float(p->dtype)) {
        double value = scalar_make_f64(total);
        if (p->finish == CUDA_FINISH_MEAN) value /= (double)p->total;
        if (p->finish == CUDA_FINISH_ROOT) value = scalar_sqrt_f64(value);
        bits = element_from_f64(p->dtype, scalar_canonical_f64(value));
    } else {
        bits = finish_integer(p, total);
        if (p->dtype == DTYPE_BOOL) bits = bits != 0;
    }
    element_store(p->to, element_size(p->dtype), (int64_t)output, bits);
}

DEVICE void reduce_put(
    const CudaReduceParams *p, uint64_t output, uint64_t segment, uint64_t total) {
    if (p->segments == 1)
        finish_output(p, output, total);
    else
        ((uint64_t *)(uintptr_t)p->partial)[segment * p->outputs + output] = total;
}

DEVICE uint64_t reduce_end(const CudaReduceParams *p, uint64_t segment) {
    const uint64_t end = (segment + 1) * p->segment;
    return end < p->total ? end : p->total;
}

KERNEL(layover_reduce_blocks, CudaReduceParams) {
    SHARED(uint64_t, lanes, CUDA_THREADS);
    const uint32_t wide = reduce_wide(p.dtype);
    for (uint64_t unit = BLOCK; unit < p.outputs * p.segments; unit += BLOCKS) {
        const uint64_t output = unit % p.outputs, segment = unit / p.outputs;
        PHASE(t) {
            lanes[t] = reduce_range(
                &p, output, segment * p.segment + t, reduce_end(&p, segment), CUDA_THREADS);
        }
        BLOCK_FOLD(uint64_t, lanes, combine_elements(p.combine, wide, a, b))
        PHASE(t) {
            if (t == 0) reduce_put(&p, output, segment, lanes[0]);
        }
    }
}

/* One thread for each output: reads are adjacent if the reduced dimension is not the last. */
KERNEL(layover_reduce_threads, CudaReduceParams) {
    THREADS(t) {
        EACH_UNIT(unit, t, p.outputs * p.segments) {
            const uint64_t output = unit % p.outputs, segment = unit / p.outputs;
            const uint64_t begin = segment * p.segment;
            reduce_put(
                &p, output, segment, reduce_range(&p, output, begin, reduce_end(&p, segment), 1));
        }
    }
}

KERNEL(layover_reduce_segments, CudaReduceParams) {
    THREADS(t) {
        EACH_UNIT(output, t, p.outputs) {
            const uint64_t *partial = (const uint64_t *)(uintptr_t)p.partial;
            uint64_t total = partial[output];
            for (uint64_t i = 1; i < p.segments; i++)
                total = combine_elements(
                    p.combine, reduce_wide(p.dtype), total, partial[i * p.outputs + output]);
            finish_output(&p, output, total);
        }
    }
}
