#include "tools/run/image_decode.h"

#include <string.h>

#include "base/allocator.h"

void image_deinit(Image *image) {
    memory_free(image->pixels);
    *image = (Image){0};
}

bool image_decode_reads(const char *format) {
#ifdef WITH_PNG
    if (strcmp(format, "PNG") == 0) return true;
#endif
#ifdef WITH_JPEG
    if (strcmp(format, "JPEG") == 0) return true;
#endif
    (void)format;
    return false;
}

#if defined(WITH_PNG) || defined(WITH_JPEG)
/* Checks the size that a file gives, and allocates `samples` bytes for each pixel. */
static Error *start(
    uint64_t width, uint64_t height, ImageSize wanted, uint32_t samples, Image *out) {
    void *pixels;
    if ((wanted.width && width != wanted.width) || (wanted.height && height != wanted.height))
        FAIL(INVALID,
            "the image has %llu x %llu pixels (width x height), and the model takes %u x %u; "
            "resize the image first",
            (unsigned long long)width, (unsigned long long)height,
            wanted.width ? wanted.width : (uint32_t)width,
            wanted.height ? wanted.height : (uint32_t)height);
    if (width == 0 || height == 0 || width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX ||
        width * height > IMAGE_PIXELS_MAX)
        FAIL(INVALID, "the image has %llu x %llu pixels; at most %d are read",
            (unsigned long long)width, (unsigned long long)height, IMAGE_PIXELS_MAX);
    const size_t size = (size_t)(width * height * samples);
    TRY(memory_alloc(size, 1, &pixels));
    *out = (Image){
        .width = (uint32_t)width, .height = (uint32_t)height, .pixels = pixels, .size = size};
    return NULL;
}
#endif

#ifdef WITH_PNG
#include <png.h>

/* Removes the fourth sample of each pixel. Errors: INVALID a transparent pixel. */
static Error *drop_alpha(Image *image) {
    const size_t count = (size_t)image->width * image->height;
    for (size_t i = 0; i < count; i++) {
        if (image->pixels[4 * i + 3] != 255)
            FAIL(INVALID, "the image has transparent pixels; give it a background first");
        memmove(image->pixels + 3 * i, image->pixels + 4 * i, 3);
    }
    image->size = 3 * count;
    return NULL;
}

static Error *decode_png(const uint8_t *data, size_t size, ImageSize wanted, Image *out) {
    Image OWN_IMAGE(image) = {0};
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&png, data, size))
        FAIL(CORRUPT, "PNG: %.60s", png.message);
    const bool has_alpha = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0;
    png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    png.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    Error *error = start(png.width, png.height, wanted, has_alpha ? 4 : 3, &image);
    if (!error && !png_image_finish_read(&png, NULL, image.pixels, 0, NULL))
        error = error_make(ERROR_CORRUPT, __FILE__, __LINE__, "PNG: %.60s", png.message);
    png_image_free(&png);
    TRY(error);
    if (has_alpha) TRY(drop_alpha(&image));
    *out = image;
    image = (Image){0};
    return NULL;
}
#else
static Error *decode_png(const uint8_t *data, size_t size, ImageSize wanted, Image *out) {
    (void)data, (void)size, (void)wanted, (void)out;
    FAIL(UNSUPPORTED, "this build reads no PNG; install libpng-dev and build it again");
}
#endif

#ifdef WITH_JPEG
#include <turbojpeg.h>

/* Decodes with an open decoder. */
static Error *read_jpeg(
    tjhandle decoder, const uint8_t *data, size_t size, ImageSize wanted, Image *image) {
    int width, height, sampling, colors;
    if (tjDecompressHeader3(
            decoder, data, (unsigned long)size, &width, &height, &sampling, &colors) != 0)
        FAIL(CORRUPT, "JPEG: %.100s", tjGetErrorStr2(decoder));
    if (colors == TJCS_CMYK || colors == TJCS_YCCK)
        FAIL(UNSUPPORTED, "the JPEG has the colors CMYK; convert it to RGB first");
    TRY(start((uint64_t)width, (uint64_t)height, wanted, 3, image));
    /* a damaged file is refused, not repaired; a file of endless passes ends */
    const int flags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
    if (tjDecompress2(decoder, data, (unsigned long)size, image->pixels, width, 0, height, TJPF_RGB,
            flags) != 0)
        FAIL(CORRUPT, "JPEG: %.100s", tjGetErrorStr2(decoder));
    return NULL;
}

static Error *decode_jpeg(const uint8_t *data, size_t size, ImageSize wanted, Image *out) {
    Image OWN_IMAGE(image) = {0};
    tjhandle decoder = tjInitDecompress();
    if (!decoder) FAIL(OUT_OF_MEMORY, "no memory for an image");
    Error *error = read_jpeg(decoder, data, size, wanted, &image);
    (void)tjDestroy(decoder);
    TRY(error);
    *out = image;
    image = (Image){0};
    return NULL;
}
#else
static Error *decode_jpeg(const uint8_t *data, size_t size, ImageSize wanted, Image *out) {
    (void)data, (void)size, (void)wanted, (void)out;
    FAIL(UNSUPPORTED, "this build reads no JPEG; install libturbojpeg0-dev and build it again");
}
#endif

Error *image_decode(const uint8_t *data, size_t size, ImageSize wanted, Image *out) {
    if (size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0)
        return decode_png(data, size, wanted, out);
    if (size >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0)
        return decode_jpeg(data, size, wanted, out);
    FAIL(UNSUPPORTED, "this file is neither a PNG nor a JPEG image");
}
