#include "tests/kernels/gather_check.h"

#include <stdlib.h>

enum { CHANNELS = 2, TO_STEP = 70 };

static void check_row(CpuGatherRows *rows, const CpuGather *gather) {
    float to[CHANNELS * TO_STEP];
    for (int i = 0; i < CHANNELS * TO_STEP; i++) to[i] = -7;
    CpuGather call = *gather;
    call.to = to;
    rows(&call);
    for (int64_t i = 0; i < CHANNELS * TO_STEP; i++) {
        const int64_t column = i % TO_STEP, at = gather->start + column * gather->stride;
        float expected = -7;
        if (column < gather->count) {
            expected = 0;
            if (gather->from && at >= 0 && at < gather->size)
                expected = gather->from[i / TO_STEP * gather->channel_step + at];
        }
        assert_true(to[i] == expected);
    }
}

void gather_check(CpuGatherRows *rows) {
    for (int64_t size = 1; size <= 70; size += 3)
        for (int64_t stride = 1; stride <= 3; stride++)
            for (int64_t count = 1; count <= 64; count += 7) {
                /* the rows' memory ends with them */
                float *from = kernel_random_floats(1, CHANNELS * size);
                CpuGather gather = {.from = from,
                    .stride = stride,
                    .size = size,
                    .count = count,
                    .channels = CHANNELS,
                    .channel_step = size,
                    .to_step = TO_STEP};
                for (gather.start = -9; gather.start < size + 3; gather.start += 4)
                    check_row(rows, &gather);
                gather.from = NULL;
                check_row(rows, &gather);
                free(from);
            }
}
