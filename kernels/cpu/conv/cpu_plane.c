#include "kernels/cpu/conv/cpu_plane.h"

enum { BAND_ROWS_MAX = 32 };

static int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

int64_t cpu_plane_rows_read(const CpuPlane *plane, int64_t rows) {
    return (rows - 1) * plane->row_stride + (plane->kernel_rows - 1) * plane->row_dilation + 1;
}

static CpuPlane dimensions_of(const Window *window) {
    const uint32_t x = window->rank - 1;
    CpuPlane plane = {
        .rows = 1,
        .width = window->output[x],
        .input_rows = 1,
        .input_width = window->input[x],
        .row_stride = 1,
        .stride = window->stride[x],
        .pad = window->pad_begin[x],
        .kernel_rows = 1,
        .kernel_width = window->kernel[x],
        .row_dilation = 1,
        .dilation = window->dilation[x],
    };
    if (window->rank == 2) {
        plane.rows = window->output[0], plane.input_rows = window->input[0];
        plane.row_stride = window->stride[0], plane.row_pad = window->pad_begin[0];
        plane.kernel_rows = window->kernel[0], plane.row_dilation = window->dilation[0];
    }
    return plane;
}

/* True when input and output have elements and no product below overflows. */
static bool is_ordinary(const Window *window) {
    int64_t taps = 1;
    if (window->rank > 2) return false;
    for (uint32_t i = 0; i < window->rank; i++) {
        if (window->output[i] == 0 || window->input[i] == 0 || window->output[i] > INT32_MAX ||
            window->stride[i] > CPU_PLANE_BAND_MAX || window->dilation[i] > CPU_PLANE_BAND_MAX ||
            window->kernel[i] > CPU_PLANE_TAPS_MAX || window->pad_begin[i] > INT32_MAX)
            return false;
        taps *= window->kernel[i];
    }
    return taps <= CPU_PLANE_TAPS_MAX && window->output[window->rank - 1] <= CPU_PLANE_WIDTH_MAX;
}

bool cpu_plane_of(const Window *window, CpuPlane *out) {
    if (!is_ordinary(window)) return false;
    CpuPlane plane = dimensions_of(window);
    /* with steps of 2, the second load of a vector ends one element before the end of two whole
     * vectors */
    plane.pitch = round_up(plane.width, CPU_VECTOR_LANES) * plane.stride +
                  (plane.kernel_width - 1) * plane.dilation;
    plane.band_rows = plane.rows < BAND_ROWS_MAX ? plane.rows : BAND_ROWS_MAX;
    while (plane.band_rows > 1 &&
           cpu_plane_rows_read(&plane, plane.band_rows) * plane.pitch > CPU_PLANE_BAND_MAX)
        plane.band_rows--;
    if (cpu_plane_rows_read(&plane, plane.band_rows) * plane.pitch > CPU_PLANE_BAND_MAX)
        return false;
    plane.bands = (plane.rows + plane.band_rows - 1) / plane.band_rows;
    for (int64_t i = 0; i < plane.kernel_rows; i++)
        for (int64_t j = 0; j < plane.kernel_width; j++)
            plane.taps[plane.tap_count++] =
                i * plane.row_dilation * plane.pitch + j * plane.dilation;
    *out = plane;
    return true;
}

void cpu_plane_fill(
    const CpuPlane *plane, const float *x, int64_t first, int64_t rows, float fill, float *band) {
    const int64_t count = cpu_plane_rows_read(plane, rows);
    const int64_t top = first * plane->row_stride - plane->row_pad;
    const int64_t before = plane->pad < plane->pitch ? plane->pad : plane->pitch;
    int64_t inside = plane->pitch - before;
    if (inside > plane->input_width) inside = plane->input_width;
    for (int64_t i = 0; i < count; i++, band += plane->pitch) {
        const int64_t row = top + i;
        const bool is_row = row >= 0 && row < plane->input_rows;
        const int64_t from = is_row ? before : plane->pitch, to = is_row ? before + inside : from;
        for (int64_t j = 0; j < from; j++) band[j] = fill;
        if (is_row)
            memcpy(band + before, x + row * plane->input_width, (size_t)inside * sizeof(float));
        for (int64_t j = to; j < plane->pitch; j++) band[j] = fill;
    }
}
