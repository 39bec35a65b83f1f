#include "kernels/arguments/fourier.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/arguments/arguments.h"

/* Keeps the sizes of tables and their indices within int64. */
static const int64_t LENGTH_MAX = INT64_C(1) << 40;

/* Reads the size of the last dimension: 1 for real, 2 for complex numbers. */
static Error *read_parts(const PlanRequest *request, FourierArguments *out) {
    const Shape *shape = &request->inputs[0].shape;
    if (shape->rank < 2) FAIL(INVALID, "an input of rank %u", shape->rank);
    const int64_t parts = shape->dims[shape->rank - 1];
    if (parts != 1 && parts != 2)
        FAIL(INVALID, "a last dimension of %" PRId64 ", not 1 (real) or 2 (complex)", parts);
    out->complex_input = parts == 2;
    return NULL;
}

static Error *check_length(int64_t length) {
    if (length < 1 || length > LENGTH_MAX) FAIL(INVALID, "a transform of length %" PRId64, length);
    return NULL;
}

static Error *read_axis(const PlanRequest *request, uint32_t *out) {
    const uint32_t rank = request->inputs[0].shape.rank;
    int64_t axis = -2;
    if (plan_request_has(request, 2)) TRY(arguments_int(request, 2, &axis));
    TRY(shape_axis(axis, rank, out));
    if (*out == rank - 1) FAIL(INVALID, "axis %" PRId64 " holds the parts of a number", axis);
    return NULL;
}

Error *fourier_of_dft(const PlanRequest *request, FourierArguments *out) {
    FourierArguments fourier = {.inverse = attributes_int(request->attributes, "inverse") != 0};
    const bool onesided = attributes_int(request->attributes, "onesided") != 0;
    TRY(read_parts(request, &fourier));
    TRY(read_axis(request, &fourier.axis));
    if (onesided && fourier.inverse != fourier.complex_input)
        FAIL(INVALID, "onesided with %s input", fourier.complex_input ? "complex" : "real");
    fourier.half_input = fourier.real_output = onesided && fourier.inverse;
    const int64_t dim = request->inputs[0].shape.dims[fourier.axis];
    fourier.length = dim;
    if (fourier.half_input && (dim < 1 || dim > LENGTH_MAX))
        FAIL(INVALID, "half a spectrum of %" PRId64, dim);
    if (fourier.half_input) fourier.length = 2 * (dim - 1);
    if (plan_request_has(request, 1)) TRY(arguments_int(request, 1, &fourier.length));
    TRY(check_length(fourier.length));
    const int64_t half = fourier.length / 2 + 1, most = fourier.half_input ? half : fourier.length;
    fourier.taken = dim < most ? dim : most;
    fourier.bins = onesided && !fourier.inverse ? half : fourier.length;
    *out = fourier;
    return NULL;
}

Error *fourier_of_stft(const PlanRequest *request, FourierArguments *out) {
    const Shape *signal = &request->inputs[0].shape;
    FourierArguments fourier = {.axis = 2};
    const bool onesided = attributes_int(request->attributes, "onesided") != 0;
    if (signal->rank != 3) FAIL(INVALID, "a signal of rank %u, not 3", signal->rank);
    TRY(read_parts(request, &fourier));
    if (onesided && fourier.complex_input) FAIL(INVALID, "onesided with complex input");
    fourier.length = signal->dims[1];
    if (plan_request_has(request, 2)) {
        const Shape *window = &request->inputs[2].shape;
        if (window->rank != 1) FAIL(INVALID, "a window of rank %u, not 1", window->rank);
        fourier.length = window->dims[0];
    }
    if (plan_request_has(request, 3)) {
        const int64_t before = fourier.length;
        TRY(arguments_int(request, 3, &fourier.length));
        if (plan_request_has(request, 2) && fourier.length != before)
            FAIL(INVALID, "frame_length %" PRId64 " with a window of %" PRId64, fourier.length,
                before);
    }
    TRY(check_length(fourier.length));
    TRY(arguments_int(request, 1, &fourier.step));
    if (fourier.step < 1) FAIL(INVALID, "frame_step %" PRId64, fourier.step);
    if (fourier.length > signal->dims[1])
        FAIL(INVALID, "frames of %" PRId64 " in a signal of %" PRId64, fourier.length,
            signal->dims[1]);
    fourier.frames = (signal->dims[1] - fourier.length) / fourier.step + 1;
    fourier.taken = fourier.length;
    fourier.bins = onesided ? fourier.length / 2 + 1 : fourier.length;
    *out = fourier;
    return NULL;
}

static Error *read_hertz(const PlanRequest *request, uint32_t index, double *out) {
    uint32_t count;
    TRY(arguments_floats(request, index, 1, out, &count));
    if (count != 1) FAIL(INVALID, "input %u is not one number", index);
    return NULL;
}

Error *fourier_mel_arguments(const PlanRequest *request, MelArguments *out) {
    MelArguments mel;
    TRY(arguments_int(request, 0, &mel.bands));
    TRY(arguments_int(request, 1, &mel.dft_length));
    TRY(arguments_int(request, 2, &mel.sample_rate));
    TRY(read_hertz(request, 3, &mel.low));
    TRY(read_hertz(request, 4, &mel.high));
    if (mel.bands < 1 || mel.bands > INT32_MAX) FAIL(INVALID, "num_mel_bins %" PRId64, mel.bands);
    TRY(check_length(mel.dft_length));
    if (mel.sample_rate < 1) FAIL(INVALID, "sample_rate %" PRId64, mel.sample_rate);
    /* the highest band ends within the spectrum */
    if (!(mel.low >= 0 && mel.low <= mel.high && mel.high <= (double)mel.sample_rate / 2))
        FAIL(INVALID, "edges of %g and %g hertz at %" PRId64 " samples a second", mel.low, mel.high,
            mel.sample_rate);
    *out = mel;
    return NULL;
}
