#pragma once
/* PNG and JPEG files as pixels. Callers: input_image.c. Threads: any. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { IMAGE_SIDE_MAX = 1 << 16, IMAGE_PIXELS_MAX = 1 << 26 };

typedef struct Image {
    uint32_t width, height;
    uint8_t *pixels; /* width * height * 3 bytes: rows from the top, R G B; memory_free */
    size_t size;
} Image;

/* The size that an image must have; 0: any. */
typedef struct ImageSize {
    uint32_t width, height;
} ImageSize;

/* Decodes a file in memory, whose first bytes say whether it is a PNG or a JPEG. Samples of 16 bits
 * become 8 bits; gray becomes three equal samples. The orientation that EXIF gives is not applied.
 *
 * wanted: is compared with the file's size before memory is taken for pixels.
 * Errors: INVALID another size (both are named), more than IMAGE_PIXELS_MAX pixels, an image with
 *         transparent pixels; CORRUPT; UNSUPPORTED no image, or one that this build cannot read. */
MUST_CHECK Error *image_decode(const uint8_t *data, size_t size, ImageSize wanted, Image *out);
/* Whether this build reads such images: "PNG" or "JPEG". */
bool image_decode_reads(const char *format);
void image_deinit(Image *image);
#define OWN_IMAGE(name) __attribute__((cleanup(image_deinit))) name
