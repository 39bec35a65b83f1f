#pragma once
/* The arguments of Resize, resolved and checked once for shape rule and kernel: the output's
 * dimensions, and the input coordinate of each output element. Called when they plan. Pure: no
 * state. */
#include "kernels/operator/plan.h"

typedef enum ResizeMode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } ResizeMode;
typedef enum ResizeRounding {
    RESIZE_ROUND_PREFER_FLOOR,
    RESIZE_ROUND_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL
} ResizeRounding;
typedef enum ResizeCoordinates {
    RESIZE_HALF_PIXEL,
    RESIZE_HALF_PIXEL_SYMMETRIC,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_CROP_AND_RESIZE,
    RESIZE_TF_HALF_PIXEL_FOR_NN
} ResizeCoordinates;

typedef struct ResizeAxis {
    int64_t input, output;
    double to, from;   /* of the scale, exactly: to / from */
    double length;     /* of the output before rounding down */
    double start, end; /* the region of interest, 0 … 1 */
} ResizeAxis;

static inline double resize_scale(const ResizeAxis *axis) { return axis->to / axis->from; }

typedef struct ResizeArguments {
    ResizeMode mode;
    ResizeRounding rounding;
    ResizeCoordinates coordinates;
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
    uint32_t rank;
    ResizeAxis axes[SHAPE_RANK_MAX];
} ResizeArguments;

MUST_CHECK Error *resize_arguments(const PlanRequest *request, ResizeArguments *out);
/* The coordinate in the input, along the axis, of output element `at` (less than axis->output). */
double resize_coordinate(const ResizeArguments *resize, const ResizeAxis *axis, int64_t at);
