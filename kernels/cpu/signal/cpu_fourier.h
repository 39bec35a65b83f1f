#pragma once
/* Discrete Fourier transforms of any length in float64: mixed radices if the length has only small
 * factors, else Bluestein's convolution of a power of two. The same bits everywhere. Called by
 * cpu_dft.c, on the threads of a launch. Pure: works in the caller's memory. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CpuComplex {
    double re, im;
} CpuComplex;

typedef struct CpuFourier CpuFourier;

/* Bytes of a transform of that length, which the caller provides, aligned to 16. A length is from 1
 * to 2^40, in all functions here. */
size_t cpu_fourier_size(int64_t length);
/* Fills memory of that many bytes with factors and roots of unity. */
const CpuFourier *cpu_fourier_make(int64_t length, void *memory);
/* Numbers of scratch that a transform needs. */
int64_t cpu_fourier_scratch(int64_t length);
/* values[k] = sum over n of values[n] * exp(-2 pi i n k / length), or with inverse the conjugate
 * root, without any division. */
void cpu_fourier_run(
    const CpuFourier *fourier, bool inverse, CpuComplex *values, CpuComplex *scratch);
