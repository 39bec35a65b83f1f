/* Fourier transforms and related operators. */
#include <inttypes.h>
#include <math.h>

#include "kernels/arguments/arguments.h"
#include "kernels/arguments/fourier.h"
#include "kernels/shape_rules/shape_rules_internal.h"

Error *shape_rule_dft(PlanRequest *request) {
    FourierArguments fourier;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(fourier_of_dft(request, &fourier));
    Shape shape = *rule_shape(request, 0);
    shape.dims[fourier.axis] = fourier.bins;
    shape.dims[shape.rank - 1] = fourier.real_output ? 1 : 2;
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

Error *shape_rule_stft(PlanRequest *request) {
    FourierArguments fourier;
    TRY(rule_check_dtype(request, 0, DTYPES_FLOAT));
    TRY(rule_check_same_dtype(request, 2, 0));
    TRY(fourier_of_stft(request, &fourier));
    const Shape shape = {4, {rule_shape(request, 0)->dims[0], fourier.frames, fourier.bins, 2}};
    rule_set(request, 0, rule_dtype(request, 0), &shape);
    return NULL;
}

static Error *check_output(const PlanRequest *request) {
    const DType dtype = attributes_dtype(request->attributes, "output_datatype");
    if (!(DTYPES_NUMBER & DTYPE_BIT(dtype))) FAIL(INVALID, "output_datatype %s", dtype_name(dtype));
    return NULL;
}

Error *shape_rule_window(PlanRequest *request) {
    int64_t size;
    TRY(rule_check_dtype(request, 0, DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)));
    TRY(arguments_int(request, 0, &size));
    TRY(check_output(request));
    if (size < 0) FAIL(INVALID, "size %" PRId64, size);
    const Shape shape = {1, {size}};
    rule_set(request, 0, attributes_dtype(request->attributes, "output_datatype"), &shape);
    return NULL;
}

Error *shape_rule_mel_weight_matrix(PlanRequest *request) {
    MelArguments mel;
    for (uint32_t i = 0; i < 3; i++)
        TRY(rule_check_dtype(request, i, DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)));
    TRY(check_output(request));
    TRY(fourier_mel_arguments(request, &mel));
    const Shape shape = {2, {mel.dft_length / 2 + 1, mel.bands}};
    rule_set(request, 0, attributes_dtype(request->attributes, "output_datatype"), &shape);
    return NULL;
}
