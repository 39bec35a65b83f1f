#pragma once
/* Which elements along an axis a resized element is made of, and how much of each. */
#include "kernels/arguments/resize.h"

/* Elements first … first + count - 1 of the input. count 0: the element lies outside the region of
 * interest and has the extrapolation value. */
typedef struct CpuResizeSpan {
    int64_t first, count;
} CpuResizeSpan;

/* The most elements that one is made of; 0 for an axis that stays as it is. */
int64_t cpu_resize_filter_taps(const ResizeArguments *resize, const ResizeAxis *axis);
/* axis->output spans, and as many times `taps` weights: those of element i begin at i * taps. */
void cpu_resize_filter_fill(const ResizeArguments *resize, const ResizeAxis *axis, int64_t taps,
    CpuResizeSpan *out_spans, double *out_weights);
