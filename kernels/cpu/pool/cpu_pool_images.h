#pragma once
/* The sizes of a pool over images [N, spatial…, C]. Read by the plans of cpu_pool_last.c and
 * cpu_pool_bytes.c. Pure: no state. */
#include "kernels/arguments/window.h"
#include "kernels/tensor/shape.h"

typedef struct CpuPoolImages {
    Window window;
    int64_t images, channels;
    int64_t input_count, output_count, kernel_count; /* pixels */
    int64_t rows, width;                             /* of outputs */
} CpuPoolImages;

/* x, y: the shapes with the channels first, [N, C, spatial…]. */
static inline CpuPoolImages cpu_pool_images(const Window *window, const Shape *x, const Shape *y) {
    CpuPoolImages images = {.window = *window,
        .images = x->dims[0],
        .channels = x->dims[1],
        .input_count = shape_product(x, 2, x->rank),
        .output_count = shape_product(y, 2, y->rank),
        .kernel_count = 1,
        .rows = shape_product(y, 2, y->rank - 1),
        .width = y->dims[y->rank - 1]};
    for (uint32_t i = 0; i < window->rank; i++) images.kernel_count *= window->kernel[i];
    return images;
}
