#pragma once
/* The arguments of DFT, STFT and MelWeightMatrix, resolved and checked once for shape rules and
 * kernels. Called when they plan. Pure: no state. */
#include "kernels/operator/plan.h"

typedef struct FourierArguments {
    uint32_t axis;
    int64_t length; /* of each transform; at least 1 unless there is no transform */
    int64_t taken;  /* elements of the input that one transform reads; zeros follow */
    int64_t bins;   /* elements of the output along the axis */
    bool inverse;
    bool complex_input;
    bool half_input;      /* the input has the first half of a spectrum; the other half is its
                           * mirror image */
    bool real_output;     /* imaginary parts are not stored */
    int64_t frames, step; /* STFT */
} FourierArguments;

MUST_CHECK Error *fourier_of_dft(const PlanRequest *request, FourierArguments *out);
MUST_CHECK Error *fourier_of_stft(const PlanRequest *request, FourierArguments *out);

typedef struct MelArguments {
    int64_t bands, dft_length, sample_rate;
    double low, high; /* hertz */
} MelArguments;

MUST_CHECK Error *fourier_mel_arguments(const PlanRequest *request, MelArguments *out);
