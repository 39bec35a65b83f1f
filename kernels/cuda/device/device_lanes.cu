/* Operators along one axis: ArgMax, ArgMin and TopK find places, CumSum adds up. */
#include "kernels/cuda/device/device_block.h"
#include "kernels/cuda/device/device_combine.h"
#include "kernels/scalar/scalar_order.h"

/* A candidate: the larger key is better, then the smaller place. */
typedef struct LanesBest {
    uint64_t key, place;
} LanesBest;

DEVICE LanesBest better_of(LanesBest a, LanesBest b) {
    return b.key > a.key || (b.key == a.key && b.place < a.place) ? b : a;
}

DEVICE uint64_t order_key(uint32_t dtype, uint64_t bits) {
    if (element_is_float(dtype)) return scalar_order_f64(element_to_f64(dtype, bits));
    if (element_is_signed(dtype)) return scalar_order_int64((int64_t)element_widen(dtype, bits));
    return bits;
}

DEVICE int64_t lane_base(const CudaLanesParams *p, uint64_t lane) {
    return (int64_t)lane / p->inner * p->dim * p->inner + (int64_t)lane % p->inner;
}

/* A NaN is the extreme of either kind. If the last place is wanted, places count from the end. */
DEVICE LanesBest arg_candidate(const CudaLanesParams *p, int64_t base, int64_t i) {
    const uint64_t bits = element_load(p->from, element_size(p->dtype), base + i * p->inner);
    const uint64_t key = order_key(p->dtype, bits);
    const int is_nan = element_is_float(p->dtype) && key == UINT64_MAX;
    LanesBest best;
    best.key = p->smallest && !is_nan ? ~key : key;
    best.place = (uint64_t)(p->last ? p->dim - 1 - i : i);
    return best;
}

DEVICE LanesBest arg_range(const CudaLanesParams *p, int64_t base, int64_t begin, int64_t step) {
    LanesBest best = {0, UINT64_MAX};
    for (int64_t i = begin; i < p->dim; i += step)
        best = better_of(best, arg_candidate(p, base, i));
    return best;
}

DEVICE void arg_put(const CudaLanesParams *p, uint64_t lane, LanesBest best) {
    const int64_t place = (int64_t)best.place;
    ((int64_t *)(uintptr_t)p->to)[lane] = p->last ? p->dim - 1 - place : place;
}

KERNEL(layover_arg_blocks, CudaLanesParams) {
    SHARED(LanesBest, lanes, CUDA_THREADS);
    for (uint64_t lane = BLOCK; lane < (uint64_t)(p.outer * p.inner); lane += BLOCKS) {
        const int64_t base = lane_base(&p, lane);
        PHASE(t) { lanes[t] = arg_range(&p, base, t, CUDA_THREADS); }
        BLOCK_FOLD(LanesBest, lanes, better_of(a, b))
        PHASE(t) {
            if (t == 0) arg_put(&p, lane, lanes[0]);
        }
    }
}

KERNEL(layover_arg_threads, CudaLanesParams) {
    THREADS(t) {
        EACH_UNIT(lane, t, (uint64_t)(p.outer * p.inner)) {
            arg_put(&p, lane, arg_range(&p, lane_base(&p, lane), 0, 1));
        }
    }
}

/* The best candidate of those behind `before` in the order. */
DEVICE LanesBest top_range(
    const CudaLanesParams *p, int64_t base, LanesBest before, int is_first, int64_t begin) {
    LanesBest best = {0, UINT64_MAX};
    for (int64_t i = begin; i < p->dim; i += CUDA_THREADS) {
        const uint64_t bits = element_load(p->from, element_size(p->dtype), base + i * p->inner);
        LanesBest one = {order_key(p->dtype, bits), (uint64_t)i};
        if (p->smallest) one.key = ~one.key;
        const int after =
            one.key < before.key || (one.key == before.key && one.place > before.place);
        if (is_first || after) best = better_of(best, one);
    }
    return best;
}

/* Finds the k best one after the other: where time matters, k is small beside the axis. */
KERNEL(layover_top_k, CudaLanesParams) {
    SHARED(LanesBest, lanes, CUDA_THREADS);
    SHARED(LanesBest, before, 1);
    for (uint64_t lane = BLOCK; lane < (uint64_t)(p.outer * p.inner); lane += BLOCKS) {
        const int64_t base = lane_base(&p, lane);
        const int64_t to = (int64_t)lane / p.inner * p.k * p.inner + (int64_t)lane % p.inner;
        for (int64_t i = 0; i < p.k; i++) {
            PHASE(t) { lanes[t] = top_range(&p, base, before[0], i == 0, t); }
            BLOCK_FOLD(LanesBest, lanes, better_of(a, b))
            PHASE(t) {
                if (t == 0) {
                    const int64_t place = (int64_t)lanes[0].place;
                    before[0] = lanes[0];
                    element_move(p.to, to + i * p.inner, p.from, base + place * p.inner,
                        element_size(p.dtype));
                    ((int64_t *)(uintptr_t)p.indices)[to + i * p.inner] = place;
                }
            }
        }
    }
}

/* One thread adds up a lane, in the lane's order, as on the cpu. */
KERNEL(layover_cum_sum, CudaLanesParams) {
    THREADS(t) {
        EACH_UNIT(lane, t, (uint64_t)(p.outer * p.inner)) {
            const uint32_t size = element_size(p.dtype);
            const int64_t base = lane_base(&p, lane);
            uint64_t total = 0;
            for (int64_t i = 0; i < p.dim; i++) {
                const int64_t at = base + (p.reverse ? p.dim - 1 - i : i) * p.inner;
                const uint64_t element = element_load(p.from, size, at);
                const uint64_t next = i == 0 ? element
                                             : element_cut(size, combine_elements(CUDA_COMBINE_ADD,
                                                                     p.dtype, total, element));
                element_store(p.to, size, at, p.exclusive ? total : next);
                total = next;
            }
        }
    }
}
