#include "tools/run/input_image.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/allocator.h"
#include "base/file.h"
#include "kernels/tensor/dtype_bits.h"
#include "tools/run/image_decode.h"
#include "tools/run/input_shape.h"

enum { IMAGE_FILE_SIZE_MAX = 256 << 20, CHANNELS_MAX = 3 };

bool input_image_is_name(const char *text) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    const size_t length = strlen(text);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(text + length - ending, endings[i]) == 0) return true;
    }
    return false;
}

/* ---- options ---- */

/* Reads A or A/B. */
static bool parse_ratio(char *text, double *out) {
    char *slash = strchr(text, '/');
    double above, below = 1;
    if (slash) *slash++ = 0;
    if (!text_parse_f64(text, &above) || (slash && !text_parse_f64(slash, &below))) return false;
    *out = above / below;
    return isfinite(*out);
}

/* Reads one number for all channels, or one for each. */
static Error *read_numbers(const CommandContext *context, const char *option, uint32_t channels,
    double otherwise, double out[CHANNELS_MAX]) {
    const char *text = command_option(context, option);
    char *copy, *rest;
    uint32_t count = 0;
    bool right = true;
    for (uint32_t i = 0; i < CHANNELS_MAX; i++) out[i] = otherwise;
    if (!text) return NULL;
    TRY(memory_copy_text(text, &copy));
    rest = copy;
    for (char *word; right && (word = strsep(&rest, ",")); count++)
        right = count < channels && parse_ratio(word, &out[count]);
    memory_free(copy);
    if (!right || (count != 1 && count != channels))
        FAIL(USAGE, "--%s %s: one number is wanted, or %u with commas between", option, text,
            channels);
    for (uint32_t i = count; i < channels; i++) out[i] = out[0];
    return NULL;
}

/* ---- layout ---- */

/* Where the dimensions of an image are in a shape. */
typedef struct Layout {
    Shape shape;
    uint32_t channel_axis, height_axis, width_axis, channels;
} Layout;

static bool is_channels(int64_t size) { return size == 1 || size == CHANNELS_MAX; }

static Error *find_layout(
    const CommandContext *context, const Port *port, const char *name, Layout *out) {
    TextBuilder OWN_TEXT(text) = {0};
    Layout layout = {0};
    TRY(input_shape_of(context, port, &layout.shape));
    Shape *shape = &layout.shape;
    const uint32_t first = shape->rank - 3;
    if (shape->rank == 4 && shape->dims[0] < 0) shape->dims[0] = 1;
    const bool fits = shape->rank == 3 || (shape->rank == 4 && shape->dims[0] == 1);
    const bool leads = fits && is_channels(shape->dims[first]);
    if (!fits || (!leads && !is_channels(shape->dims[first + 2]))) {
        shape_print(&port->shape, &text);
        FAIL(INVALID,
            "input %s: an image fits [N, C, H, W] or [N, H, W, C] with N = 1 and C = 1 or 3, or "
            "the same without N, and not %s; --dim gives free dimensions",
            name, text_builder_get(&text));
    }
    layout.channel_axis = leads ? first : first + 2;
    layout.height_axis = leads ? first + 1 : first;
    layout.width_axis = layout.height_axis + 1;
    layout.channels = (uint32_t)shape->dims[layout.channel_axis];
    *out = layout;
    return NULL;
}

/* A size that no image has stays one, so that both sizes are named. */
static uint32_t wanted_size(int64_t size) {
    return size < 0 ? 0 : size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

static uint32_t luma(const uint8_t *pixel) {
    return (299U * pixel[0] + 587U * pixel[1] + 114U * pixel[2] + 500U) / 1000U;
}

static void fill(const Image *image, const Layout *layout, const double scale[CHANNELS_MAX],
    const double mean[CHANNELS_MAX], NamedArray *array) {
    int64_t strides[SHAPE_RANK_MAX];
    shape_strides(&array->shape, strides);
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            const uint8_t *pixel = image->pixels + 3 * ((size_t)y * image->width + x);
            for (uint32_t c = 0; c < layout->channels; c++) {
                const int64_t index = c * strides[layout->channel_axis] +
                                      y * strides[layout->height_axis] +
                                      x * strides[layout->width_axis];
                const uint32_t sample = layout->channels == 1 ? luma(pixel) : pixel[c];
                (void)dtype_bits_write_element(
                    array->dtype, array->data, (uint64_t)index, (sample - mean[c]) * scale[c]);
            }
        }
}

Error *input_image_read(const CommandContext *context, const Port *port, const char *name,
    const char *path, NamedArray *out_array) {
    Image OWN_IMAGE(image) = {0};
    Layout layout;
    double scale[CHANNELS_MAX], mean[CHANNELS_MAX];
    uint8_t *data;
    size_t size;
    if (port->dtype == DTYPE_NONE || dtype_bits(port->dtype) < 8 || port->dtype == DTYPE_BOOL)
        FAIL(UNSUPPORTED, "input %s: no image becomes elements of %s", name,
            dtype_name(port->dtype));
    TRY(find_layout(context, port, name, &layout));
    TRY(read_numbers(context, "scale", layout.channels, 1, scale));
    TRY(read_numbers(context, "mean", layout.channels, 0, mean));
    int64_t *height = &layout.shape.dims[layout.height_axis];
    int64_t *width = &layout.shape.dims[layout.width_axis];
    if (*height == 0 || *width == 0) FAIL(INVALID, "input %s: it has no pixels", name);
    const ImageSize wanted = {.width = wanted_size(*width), .height = wanted_size(*height)};
    TRY(file_read(path, IMAGE_FILE_SIZE_MAX, &data, &size));
    Error *error = image_decode(data, size, wanted, &image);
    memory_unmap(data, size);
    TRY_WRAP(error, "input %s: %s", name, path);
    *height = image.height;
    *width = image.width;
    TRY(named_array_init(out_array, name, port->dtype, &layout.shape));
    fill(&image, &layout, scale, mean, out_array);
    return NULL;
}
