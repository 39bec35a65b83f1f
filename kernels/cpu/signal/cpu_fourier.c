#include "kernels/cpu/signal/cpu_fourier.h"

#include "kernels/device/kernel_stop.h"
#include "kernels/scalar/scalar_trigonometric.h"

enum {
    FACTORS_MAX = 64,
    RADIX_MAX = 31, /* lengths with a larger prime factor use Bluestein's convolution */
};

struct CpuFourier {
    int64_t length;
    uint32_t factor_count;
    int64_t factors[FACTORS_MAX];
    CpuComplex *roots; /* exp(-2 pi i k / length) */
    /* Bluestein: the transform of `padded` elements for the convolution; exp(-pi i k^2 / length);
     * and the transform of its conjugate, wrapped around and divided by padded */
    const CpuFourier *inner;
    int64_t padded;
    CpuComplex *chirp, *kernel;
};

/* Finds factors up to RADIX_MAX, fours first. False: there is a larger factor. */
static bool factorize(int64_t length, uint32_t *out_count, int64_t *out_factors) {
    uint32_t count = 0;
    for (; length % 4 == 0; length /= 4) out_factors[count++] = 4;
    for (int64_t factor = 2; factor <= RADIX_MAX; factor++)
        for (; length % factor == 0; length /= factor) out_factors[count++] = factor;
    *out_count = count;
    return length == 1;
}

static int64_t padded_length(int64_t length) {
    int64_t padded = 1;
    while (padded < 2 * length - 1) padded *= 2;
    return padded;
}

static bool is_direct(int64_t length) {
    uint32_t count;
    int64_t factors[FACTORS_MAX];
    return factorize(length, &count, factors);
}

size_t cpu_fourier_size(int64_t length) {
    const bool direct = is_direct(length);
    const int64_t padded = direct ? 0 : padded_length(length);
    /* the roots; or the inner transform's roots, kernel, chirp and scratch */
    return (size_t)(length + 3 * padded) * sizeof(CpuComplex) + 2 * sizeof(CpuFourier);
}

int64_t cpu_fourier_scratch(int64_t length) {
    return is_direct(length) ? length : 2 * padded_length(length);
}

/* exp(-2 pi i k / n) for 0 <= k < n, from an angle within pi/4, which loses no precision. */
static CpuComplex root_of_unity(uint64_t k, uint64_t n) {
    const uint64_t eighths = 8 * k / n; /* k < 2^42: no overflow */
    const uint64_t quarter = (eighths + 1) / 2;
    /* k/n - quarter/4, exact in its numerator */
    const double numerator = (double)(int64_t)(4 * k - quarter * n);
    const double angle = numerator / (double)n * 0x1.921fb54442d18p+0; /* pi/2 */
    const double c = scalar_cos_f64(angle), s = scalar_sin_f64(angle);
    switch (quarter % 4) {
    case 0:
        return (CpuComplex){c, -s};
    case 1:
        return (CpuComplex){-s, -c};
    case 2:
        return (CpuComplex){-c, s};
    default:
        return (CpuComplex){s, c};
    }
}

static CpuComplex multiply(CpuComplex a, CpuComplex b) {
    return (CpuComplex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static CpuComplex add(CpuComplex a, CpuComplex b) { return (CpuComplex){a.re + b.re, a.im + b.im}; }
static CpuComplex subtract(CpuComplex a, CpuComplex b) {
    return (CpuComplex){a.re - b.re, a.im - b.im};
}
static CpuComplex conjugate(CpuComplex a) { return (CpuComplex){a.re, -a.im}; }

/* A butterfly of p inputs that are `step` apart; the outputs lack their twiddles. */
static void combine(const CpuFourier *fourier, int64_t p, const CpuComplex *in, CpuComplex *out) {
    if (p == 2) {
        out[0] = add(in[0], in[1]);
        out[1] = subtract(in[0], in[1]);
        return;
    }
    if (p == 4) {
        const CpuComplex a = add(in[0], in[2]), b = subtract(in[0], in[2]);
        const CpuComplex c = add(in[1], in[3]), d = subtract(in[1], in[3]);
        out[0] = add(a, c);
        out[1] = (CpuComplex){b.re + d.im, b.im - d.re};
        out[2] = subtract(a, c);
        out[3] = (CpuComplex){b.re - d.im, b.im + d.re};
        return;
    }
    const int64_t stride = fourier->length / p;
    for (int64_t k = 0; k < p; k++) {
        CpuComplex sum = in[0];
        for (int64_t r = 1; r < p; r++)
            sum = add(sum, multiply(in[r], fourier->roots[r * k % p * stride]));
        out[k] = sum;
    }
}

/* One pass of Stockham's algorithm: `rest` elements are still to be split, and `step` transforms
 * are side by side. */
static void run_pass(const CpuFourier *fourier, int64_t p, int64_t rest, int64_t step,
    const CpuComplex *from, CpuComplex *to) {
    const int64_t columns = rest / p;
    KernelStopMeter meter = {0};
    for (int64_t j = 0; j < columns; j++) {
        if (kernel_stop_ends_after(&meter, (uint64_t)(step * p * (p + 8)) + 16)) return;
        CpuComplex twiddles[RADIX_MAX];
        for (int64_t k = 0; k < p; k++) twiddles[k] = fourier->roots[j * k * step];
        KERNEL_STOP_EACH (q, 0, step) {
            CpuComplex in[RADIX_MAX], out[RADIX_MAX];
            for (int64_t r = 0; r < p; r++) in[r] = from[q + step * (j + columns * r)];
            combine(fourier, p, in, out);
            to[q + step * (p * j)] = out[0];
            for (int64_t k = 1; k < p; k++)
                to[q + step * (p * j + k)] = multiply(out[k], twiddles[k]);
        }
    }
}

static void run_direct(const CpuFourier *fourier, CpuComplex *values, CpuComplex *scratch) {
    CpuComplex *from = values, *to = scratch;
    int64_t rest = fourier->length, step = 1;
    for (uint32_t i = 0; i < fourier->factor_count; i++) {
        const int64_t p = fourier->factors[i];
        if (kernel_stop_ends()) return;
        run_pass(fourier, p, rest, step, from, to);
        rest /= p;
        step *= p;
        CpuComplex *swap = from;
        from = to;
        to = swap;
    }
    for (int64_t i = 0; from != values && i < fourier->length && !kernel_stop_ends_at(i); i++)
        values[i] = from[i];
}

/* n k = (n^2 + k^2 - (k - n)^2) / 2: a convolution with the chirp. */
static void run_bluestein(const CpuFourier *fourier, CpuComplex *values, CpuComplex *scratch) {
    CpuComplex *padded = scratch, *rest = scratch + fourier->padded;
    KERNEL_STOP_EACH (i, 0, fourier->padded) {
        padded[i] = (CpuComplex){0, 0};
        if (i < fourier->length) padded[i] = multiply(values[i], fourier->chirp[i]);
    }
    run_direct(fourier->inner, padded, rest);
    if (kernel_stop_ends()) return;
    /* backwards by conjugating before and behind */
    KERNEL_STOP_EACH (i, 0, fourier->padded)
        padded[i] = conjugate(multiply(padded[i], fourier->kernel[i]));
    run_direct(fourier->inner, padded, rest);
    KERNEL_STOP_EACH (i, 0, fourier->length)
        values[i] = multiply(conjugate(padded[i]), fourier->chirp[i]);
}

void cpu_fourier_run(
    const CpuFourier *fourier, bool inverse, CpuComplex *values, CpuComplex *scratch) {
    for (int64_t i = 0; inverse && i < fourier->length && !kernel_stop_ends_at(i); i++)
        values[i] = conjugate(values[i]);
    if (fourier->inner)
        run_bluestein(fourier, values, scratch);
    else
        run_direct(fourier, values, scratch);
    for (int64_t i = 0; inverse && i < fourier->length && !kernel_stop_ends_at(i); i++)
        values[i] = conjugate(values[i]);
}

/* The work of a root, a sine and a cosine, for the meter. */
enum { ROOT_WORK = 64 };

/* Sets up a transform with small factors only. Returns the memory behind its roots. */
static CpuComplex *make_direct(int64_t length, CpuComplex *memory, CpuFourier *out) {
    *out = (CpuFourier){.length = length, .roots = memory};
    (void)factorize(length, &out->factor_count, out->factors);
    KernelStopMeter meter = {0};
    for (int64_t k = 0; k < length && !kernel_stop_ends_after(&meter, ROOT_WORK); k++)
        out->roots[k] = root_of_unity((uint64_t)k, (uint64_t)length);
    return memory + length;
}

static void make_bluestein(int64_t length, CpuComplex *memory, CpuFourier *inner, CpuFourier *out) {
    const int64_t padded = padded_length(length);
    const double scale = 1 / (double)padded; /* a power of two */
    *out = (CpuFourier){.length = length, .inner = inner, .padded = padded};
    out->kernel = make_direct(padded, memory, inner);
    out->chirp = out->kernel + padded;
    /* k^2 modulo 2 length, without computing the square */
    uint64_t square = 0, period = 2 * (uint64_t)length;
    KERNEL_STOP_EACH (i, 0, padded) out->kernel[i] = (CpuComplex){0, 0};
    KernelStopMeter meter = {0};
    for (int64_t k = 0; k < length && !kernel_stop_ends_after(&meter, ROOT_WORK); k++) {
        out->chirp[k] = root_of_unity(square, period);
        const CpuComplex value = conjugate(out->chirp[k]);
        out->kernel[k] = (CpuComplex){value.re * scale, value.im * scale};
        if (k > 0) out->kernel[padded - k] = out->kernel[k];
        square = (square + 2 * (uint64_t)k + 1) % period;
    }
    run_direct(inner, out->kernel, out->chirp + length);
}

const CpuFourier *cpu_fourier_make(int64_t length, void *memory) {
    CpuFourier *fourier = memory;
    CpuComplex *numbers = (CpuComplex *)(void *)(fourier + 2);
    if (is_direct(length))
        (void)make_direct(length, numbers, fourier);
    else
        make_bluestein(length, numbers, fourier + 1, fourier);
    return fourier;
}
