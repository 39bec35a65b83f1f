#pragma once
/* The elements along an axis from which a resized element is computed, and their weights. Called by
 * cpu_resize.c, on the thread of a launch. Pure: no state. */
#include "kernels/arguments/resize.h"

/* Elements first … first + count - 1 of the input. count 0: the element is outside the region of
 * interest and has the extrapolation value. */
typedef struct CpuResizeSpan {
    int64_t first, count;
} CpuResizeSpan;

/* The largest count of a span; 0 for an axis that is unchanged. */
int64_t cpu_resize_filter_taps(const ResizeArguments *resize, const ResizeAxis *axis);
/* Fills axis->output spans, and as many times `taps` weights: those of element i begin at i *
 * taps. */
void cpu_resize_filter_fill(const ResizeArguments *resize, const ResizeAxis *axis, int64_t taps,
    CpuResizeSpan *out_spans, double *out_weights);
