#include "tools/run/image_decode.h"

#include "tests/support/test_support.h"

/* Two pixels, 255 0 10 and 1 2 3; with transparency, the second one is. */
static const uint8_t png[] =
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00"
    "\x01\x08\x02\x00\x00\x00\x7b\x40\xe8\xdd\x00\x00\x00\x0f\x49\x44\x41\x54\x78\x9c\x63\xf8\xcf"
    "\xc0\xc5\xc8\xc4\x0c\x00\x06\x33\x01\x10\x90\x30\xdd\x1b\x00\x00\x00\x00\x49\x45\x4e\x44\xae"
    "\x42\x60\x82";
static const uint8_t transparent[] =
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00"
    "\x01\x08\x06\x00\x00\x00\xf4\x22\x7f\x8a\x00\x00\x00\x11\x49\x44\x41\x54\x78\x9c\x63\xf8\xcf"
    "\xc0\xf5\x9f\x91\x89\x99\x1d\x00\x0d\x4f\x02\x16\x5e\x25\xbc\x91\x00\x00\x00\x00\x49\x45\x4e"
    "\x44\xae\x42\x60\x82";
/* 8 x 8 pixels of 10 200 30. */
static const uint8_t jpeg[] =
    "\xff\xd8\xff\xe0\x00\x10\x4a\x46\x49\x46\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00"
    "\x43\x00\x10\x0b\x0c\x0e\x0c\x0a\x10\x0e\x0d\x0e\x12\x11\x10\x13\x18\x28\x1a\x18\x16\x16\x18"
    "\x31\x23\x25\x1d\x28\x3a\x33\x3d\x3c\x39\x33\x38\x37\x40\x48\x5c\x4e\x40\x44\x57\x45\x37\x38"
    "\x50\x6d\x51\x57\x5f\x62\x67\x68\x67\x3e\x4d\x71\x79\x70\x64\x78\x5c\x65\x67\x63\xff\xdb\x00"
    "\x43\x01\x11\x12\x12\x18\x15\x18\x2f\x1a\x1a\x2f\x63\x42\x38\x42\x63\x63\x63\x63\x63\x63\x63"
    "\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63"
    "\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\x63\xff\xc0\x00"
    "\x11\x08\x00\x08\x00\x08\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01\xff\xc4\x00\x15\x00\x01\x01"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\xff\xc4\x00\x14\x10\x01\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xc4\x00\x15\x01\x01\x01\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x06\xff\xc4\x00\x14\x11\x01\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xda\x00\x0c\x03\x01\x00\x02\x11"
    "\x03\x11\x00\x3f\x00\x90\x03\x26\x5f\xff\xd9";

/* The end of a text is no byte of the file. */
#define FILE_OF(bytes) (bytes), sizeof(bytes) - 1

#ifdef WITH_PNG
static void test_image_decode_reads_png(void **state) {
    (void)state;
    Image OWN_IMAGE(image) = {0};
    assert_ok(image_decode(FILE_OF(png), (ImageSize){0}, &image));
    assert_true(image.width == 2 && image.height == 1 && image.size == 6);
    assert_memory_equal(image.pixels, "\xff\x00\x0a\x01\x02\x03", 6);
}

static void test_image_decode_refuses_transparent_pixels(void **state) {
    (void)state;
    Image image = {0};
    assert_fails_saying(
        INVALID, "transparent", image_decode(FILE_OF(transparent), (ImageSize){0}, &image));
    assert_null(image.pixels);
}

/* The size is in the head: before the pixels, memory and the checksum of the head. */
static void test_image_decode_names_both_sizes(void **state) {
    (void)state;
    Image image = {0};
    assert_fails_saying(INVALID, "has 2 x 1 pixels (width x height), and the model takes 224 x 1",
        image_decode(FILE_OF(png), (ImageSize){.width = 224}, &image));
}

/* A head of 65535 x 65535 pixels, with its checksum, in a file of 72 bytes. */
static void test_image_decode_bounds_the_memory(void **state) {
    (void)state;
    Image image = {0};
    uint8_t bytes[sizeof png];
    memcpy(bytes, png, sizeof png);
    memcpy(bytes + 16, "\x00\x00\xff\xff\x00\x00\xff\xff", 8);
    memcpy(bytes + 29, "\x39\x67\x4e\x07", 4);
    assert_fails_saying(INVALID, "65535 x 65535 pixels; at most",
        image_decode(bytes, sizeof bytes - 1, (ImageSize){0}, &image));
    assert_null(image.pixels);
}
#else
static void test_image_decode_says_that_png_is_missing(void **state) {
    (void)state;
    Image image = {0};
    assert_fails_saying(
        UNSUPPORTED, "install libpng-dev", image_decode(FILE_OF(png), (ImageSize){0}, &image));
    assert_fails(UNSUPPORTED, image_decode(FILE_OF(transparent), (ImageSize){0}, &image));
}
#endif

#ifdef WITH_JPEG
static void test_image_decode_reads_jpeg(void **state) {
    (void)state;
    Image OWN_IMAGE(image) = {0};
    assert_ok(image_decode(FILE_OF(jpeg), (ImageSize){.width = 8, .height = 8}, &image));
    assert_true(image.width == 8 && image.height == 8 && image.size == 192);
    for (size_t i = 0; i < 64; i++) assert_memory_equal(image.pixels + 3 * i, "\x0a\xc8\x1e", 3);
    assert_fails_saying(INVALID, "has 8 x 8 pixels",
        image_decode(FILE_OF(jpeg), (ImageSize){.width = 8, .height = 9}, &image));
}
#else
static void test_image_decode_says_that_jpeg_is_missing(void **state) {
    (void)state;
    Image image = {0};
    assert_fails_saying(UNSUPPORTED, "install libturbojpeg0-dev",
        image_decode(FILE_OF(jpeg), (ImageSize){0}, &image));
}
#endif

/* Every file that is cut, and every file with one changed byte, is read or refused. */
static void test_image_decode_survives_damage(void **state) {
    (void)state;
    static const struct {
        const uint8_t *data;
        size_t size;
    } files[] = {{FILE_OF(png)}, {FILE_OF(transparent)}, {FILE_OF(jpeg)}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (size_t at = 0; at < files[f].size; at++) {
            Image OWN_IMAGE(cut) = {0};
            Image OWN_IMAGE(changed) = {0};
            uint8_t bytes[sizeof jpeg];
            memcpy(bytes, files[f].data, files[f].size);
            error_free(image_decode(bytes, at, (ImageSize){.width = 8}, &cut));
            bytes[at] ^= (uint8_t)(1U << (at % 8));
            error_free(image_decode(bytes, files[f].size, (ImageSize){.width = 8}, &changed));
        }
}

static void test_image_decode_refuses_what_is_no_image(void **state) {
    (void)state;
    Image image = {0};
    assert_fails(UNSUPPORTED, image_decode((const uint8_t *)"GIF89a..", 8, (ImageSize){0}, &image));
    assert_fails(UNSUPPORTED, image_decode((const uint8_t *)"", 0, (ImageSize){0}, &image));
}

int test_image_decode(void) {
    const struct CMUnitTest tests[] = {
#ifdef WITH_PNG
        cmocka_unit_test(test_image_decode_reads_png),
        cmocka_unit_test(test_image_decode_refuses_transparent_pixels),
        cmocka_unit_test(test_image_decode_names_both_sizes),
        cmocka_unit_test(test_image_decode_bounds_the_memory),
#else
        cmocka_unit_test(test_image_decode_says_that_png_is_missing),
#endif
#ifdef WITH_JPEG
        cmocka_unit_test(test_image_decode_reads_jpeg),
#else
        cmocka_unit_test(test_image_decode_says_that_jpeg_is_missing),
#endif
        cmocka_unit_test(test_image_decode_survives_damage),
        cmocka_unit_test(test_image_decode_refuses_what_is_no_image),
    };
    return cmocka_run_group_tests_name("image_decode", tests, NULL, NULL);
}
