#include "tools/client/array_print.h"

#include <math.h>

#include "base/allocator.h"
#include "kernels/tensor/dtype_bits.h"
#include "tests/tools/tools_fixtures.h"
#include "tools/client/array_element.h"
#include "tools/client/output_show.h"

#define SHAPE(...)                                                                                 \
    shape_make(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static void make(NamedArray *array, DType dtype, Shape shape, const double *values) {
    assert_ok(named_array_init(array, "y", dtype, &shape));
    for (int64_t i = 0; values && i < shape_count_unchecked(&shape); i++)
        assert_true(dtype_bits_write_element(dtype, array->data, (uint64_t)i, values[i]));
}

static void prints_lines(const NamedArray *array, const char *lines) {
    TextBuilder OWN_TEXT(text) = {0};
    array_print_lines(array, &text);
    assert_ok(text_builder_check(&text));
    assert_string_equal(text_builder_get(&text), lines);
}

static void prints_json(const NamedArray *array, bool whole, const char *json) {
    TextBuilder OWN_TEXT(text) = {0};
    array_print_json(array, whole, &text);
    assert_ok(text_builder_check(&text));
    assert_string_equal(text_builder_get(&text), json);
}

/* Checks both forms of an array, and frees the array. */
static void prints(NamedArray *array, const char *lines, const char *json) {
    prints_lines(array, lines);
    prints_json(array, false, json);
    named_array_deinit(array);
}

static void test_array_print_nests_rows_as_the_shape_says(void **state) {
    (void)state;
    NamedArray array;
    static const double values[] = {1, -2.5, 3, 1.0 / 3, 1e-7, 12, 7, 8};
    make(&array, DTYPE_FLOAT32, SHAPE(2, 2, 2), values);
    prints(&array,
        "y: float32 [2, 2, 2]\n"
        "  [[[       1,     -2.5],\n"
        "    [       3, 0.333333]],\n"
        "\n"
        "   [[   1e-07,       12],\n"
        "    [       7,        8]]]\n",
        "{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[2,2,2],\"data\":"
        "[[[1.0,-2.5],[3.0,0.33333334]],[[1e-07,12.0],[7.0,8.0]]]}");
    make(&array, DTYPE_INT32, shape_make(0, NULL), &values[2]);
    prints(&array, "y: int32 []\n  3\n",
        "{\"name\":\"y\",\"dtype\":\"int32\",\"shape\":[],\"data\":3}");
    make(&array, DTYPE_BOOL, SHAPE(2), (const double[]){1, 0});
    prints(&array, "y: bool [2]\n  [ true, false]\n",
        "{\"name\":\"y\",\"dtype\":\"bool\",\"shape\":[2],\"data\":[true,false]}");
    make(&array, DTYPE_INT4, SHAPE(3), (const double[]){-8, 0, 7});
    prints(&array, "y: int4 [3]\n  [-8,  0,  7]\n",
        "{\"name\":\"y\",\"dtype\":\"int4\",\"shape\":[3],\"data\":[-8,0,7]}");
}

static void test_array_print_breaks_long_rows(void **state) {
    (void)state;
    NamedArray array;
    TextBuilder OWN_TEXT(text) = {0};
    make(&array, DTYPE_UINT8, SHAPE(100), NULL);
    array_print_lines(&array, &text);
    uint32_t lines = 0;
    for (const char *at = text_builder_get(&text), *end; (end = strchr(at, '\n')); at = end + 1) {
        assert_true(end - at <= 100);
        lines++;
    }
    assert_int_equal(lines, 5);
    named_array_deinit(&array);
}

/* A leading dimension may be large although there is no element. */
static void test_array_print_of_no_elements(void **state) {
    (void)state;
    NamedArray array;
    make(&array, DTYPE_FLOAT32, SHAPE((int64_t)1 << 40, 0), NULL);
    prints(&array, "y: float32 [1099511627776, 0]\n",
        "{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[1099511627776,0],\"data\":[]}");
}

static void test_array_print_of_numbers_that_json_lacks(void **state) {
    (void)state;
    NamedArray array;
    make(&array, DTYPE_FLOAT16, SHAPE(4), (const double[]){NAN, INFINITY, -INFINITY, -0.0});
    prints(&array, "y: float16 [4]\n  [      NaN,  Infinity, -Infinity,        -0]\n",
        "{\"name\":\"y\",\"dtype\":\"float16\",\"shape\":[4],\"data\":"
        "[\"NaN\",\"Infinity\",\"-Infinity\",-0.0]}");
}

static void test_array_print_of_large_arrays_is_a_summary(void **state) {
    (void)state;
    NamedArray array;
    float *values;
    make(&array, DTYPE_FLOAT32, SHAPE(2, 501), NULL);
    values = (float *)(void *)array.data;
    values[7] = -1;
    values[900] = 3;
    values[1001] = NAN;
    prints_lines(&array, "y: float32 [2, 501]\n"
                         "  1002 elements: min -1, max 3, mean 0.001998, 1 NaN\n");
    prints_json(&array, false,
        "{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[2,501],\"min\":-1.0,\"max\":3.0,"
        "\"mean\":0.001998001998001998,\"nan\":1}");
    TextBuilder OWN_TEXT(text) = {0};
    array_print_json(&array, true, &text);
    assert_non_null(strstr(text_builder_get(&text), "\"data\":[[0.0,"));
    for (uint32_t i = 0; i < 1002; i++) values[i] = NAN;
    prints(&array, "y: float32 [2, 501]\n  1002 elements, 1002 NaN\n",
        "{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[2,501],\"min\":null,\"max\":null,"
        "\"mean\":null,\"nan\":1002}");
}

static void test_array_print_keeps_integers_of_64_bits(void **state) {
    (void)state;
    NamedArray array;
    const uint64_t large = UINT64_MAX - 1;
    make(&array, DTYPE_UINT64, SHAPE(1, 1001), NULL);
    memcpy(array.data + 8, &large, sizeof large);
    memcpy(array.data + 16, &(uint64_t){UINT64_MAX}, sizeof large);
    assert_int_equal(array_summarize(&array).max_index, 2);
    TextBuilder OWN_TEXT(text) = {0};
    array_print_lines(&array, &text);
    assert_non_null(strstr(text_builder_get(&text), "max 18446744073709551615, mean"));
    named_array_deinit(&array);
}

/* Names and strings come from models, and a terminal acts on control characters. */
static void test_array_print_disarms_texts(void **state) {
    (void)state;
    NamedArray array;
    Shape shape = SHAPE(3);
    char long_text[128];
    memset(long_text, 'x', sizeof long_text);
    memcpy(long_text + 71, "\xc3\xa4", 2); /* a letter of two bytes where the text is cut */
    long_text[127] = 0;
    const char *const texts[] = {"\x1b[2J\"\xc2\x9b\x7f", "\xff\xc3\xa4", long_text};
    assert_ok(named_array_init_texts(&array, "a\x1b", &shape, texts));
    TextBuilder OWN_TEXT(text) = {0};
    array_print_lines(&array, &text);
    for (const char *at = text_builder_get(&text); *at; at++)
        assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
    assert_non_null(strstr(text_builder_get(&text), "\"a\\u001b\": string [3]\n"));
    assert_non_null(strstr(text_builder_get(&text), "\"\\u001b[2J\\u0022\\u009b\\u007f\""));
    assert_non_null(strstr(text_builder_get(&text), "\"\\ufffd\\ufffd\\ufffd\""));
    assert_non_null(strstr(text_builder_get(&text), "xx\"...]"));
    named_array_deinit(&array);
}

/* Every element of every small type is printed with digits that give the same element. */
static void test_array_print_digits_suffice(void **state) {
    (void)state;
    static const DType types[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT8E4M3FN,
        DTYPE_FLOAT8E5M2, DTYPE_FLOAT8E8M0, DTYPE_FLOAT4E2M1};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const uint32_t bits = dtype_bits(types[t]);
        for (uint32_t code = 0; code<1U << bits; code += bits> 8 ? 7 : 1) {
            TextBuilder OWN_TEXT(text) = {0};
            uint8_t bytes[2] = {(uint8_t)code, (uint8_t)(code >> 8)};
            NamedArray array = {.dtype = types[t], .shape = SHAPE(1), .data = bytes};
            double value, parsed;
            assert_true(dtype_bits_read_element(types[t], bytes, 0, &value));
            if (!isfinite(value)) continue;
            array_element_print_json(&array, 0, &text);
            assert_true(text_parse_f64(text_builder_get(&text), &parsed));
            assert_true(dtype_bits_write_element(types[t], bytes, 0, parsed));
            assert_true(dtype_bits_read_element(types[t], bytes, 0, &parsed));
            assert_true(parsed == value);
        }
    }
}

int test_array_print(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_print_nests_rows_as_the_shape_says),
        cmocka_unit_test(test_array_print_breaks_long_rows),
        cmocka_unit_test(test_array_print_of_no_elements),
        cmocka_unit_test(test_array_print_of_numbers_that_json_lacks),
        cmocka_unit_test(test_array_print_of_large_arrays_is_a_summary),
        cmocka_unit_test(test_array_print_keeps_integers_of_64_bits),
        cmocka_unit_test(test_array_print_disarms_texts),
        cmocka_unit_test(test_array_print_digits_suffice),
    };
    return cmocka_run_group_tests_name("array_print", tests, NULL, NULL);
}
