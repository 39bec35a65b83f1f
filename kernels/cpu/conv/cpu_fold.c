#include "kernels/cpu/conv/cpu_fold.h"

#include <string.h>

#include "kernels/device/kernel_stop.h"

void cpu_fold_make(const Window *window, const int64_t *image, const int64_t *blocks, int64_t size,
    CpuFoldRow *row, CpuFold *out) {
    const size_t bytes = window->rank * sizeof(int64_t);
    *out = (CpuFold){.rank = window->rank, .size = size, .row = row};
    memcpy(out->kernel, window->kernel, bytes);
    memcpy(out->stride, window->stride, bytes);
    memcpy(out->dilation, window->dilation, bytes);
    memcpy(out->pad, window->pad_begin, bytes);
    memcpy(out->image, image, bytes);
    memcpy(out->blocks, blocks, bytes);
}

/* Steps of `stride` from `from` that stay below `end`, at most count. */
static int64_t steps_below(int64_t from, int64_t end, int64_t stride, int64_t count) {
    const int64_t steps = from >= end ? 0 : (end - from + stride - 1) / stride;
    return steps < count ? steps : count;
}

void cpu_fold_position(
    const CpuFold *fold, int64_t position, const void *from_, const void *factor, void *to_) {
    const char *from = from_;
    char *to = to_;
    int64_t shift[WINDOW_RANK_MAX], at[WINDOW_RANK_MAX] = {0};
    for (uint32_t i = fold->rank; i-- > 0; position /= fold->kernel[i])
        shift[i] = position % fold->kernel[i] * fold->dilation[i] - fold->pad[i];
    const uint32_t last = fold->rank - 1;
    const int64_t stride = fold->stride[last], count = fold->blocks[last];
    const int64_t begin = steps_below(shift[last], 0, stride, count);
    const int64_t end = steps_below(shift[last], fold->image[last], stride, count);
    KernelStopMeter meter = {0};
    for (;;) {
        int64_t offset = 0;
        bool inside = begin < end;
        for (uint32_t i = 0; i < last; i++) {
            const int64_t row = at[i] * fold->stride[i] + shift[i];
            inside = inside && row >= 0 && row < fold->image[i];
            offset = (offset + row) * fold->image[i + 1];
        }
        if (kernel_stop_ends_after(&meter, (uint64_t)(inside ? end - begin : 0) + 8)) return;
        if (inside)
            fold->row(to + (offset + begin * stride + shift[last]) * fold->size, stride,
                from + begin * fold->size, end - begin, factor);
        from += count * fold->size;
        uint32_t d = last;
        while (d > 0 && ++at[d - 1] == fold->blocks[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}
