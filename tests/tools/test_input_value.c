#include "tools/run/input_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "kernels/tensor/dtype_bits.h"
#include "tests/tools/tools_fixtures.h"
#include "tools/run/input_image.h"
#include "tools/run/input_shape.h"
#include "tools/run/run_machine.h"

enum { WORDS_MAX = 12 };

static const char program[] =
    "function main(t: int64[B, T], x: float32[2, 3], h: float16[n], s: string[], q: int4[n], "
    "b: bool[2], u: uint64[], p: float32[1, 3, h, w], r: uint8[1, 2, 1], any: any) exported {\n"
    " Ret 0\n}\n";

/* Reads one inline input of the program, with more words of the command line behind it. */
static Error *read_input(const char *input, const char *const *more, ArrayList *list) {
    ToolsRun OWN_RUN(run) = {0};
    const char *words[WORDS_MAX] = {"run", "m", "--input", input};
    for (size_t i = 0; more && more[i]; i++) words[4 + i] = more[i];
    uint32_t function = 0;
    tools_run_open(program, &run);
    CommandContext *context = command_context_make(words);
    assert_true(input_value_is_inline(input));
    assert_true(input_value_any_inline(context));
    Error *error = input_value_read(context, input, run.executable, &function, list);
    if (!error) error = input_shape_check_options(context, &run.executable->functions[function]);
    free(context);
    return error;
}
#define MORE(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Compares the shape, printed, and all elements. */
static void gives(const char *input, const char *const *more, const char *shape, size_t count,
    const double *elements) {
    ArrayList OWN_ARRAYS(list) = {0};
    TextBuilder OWN_TEXT(text) = {0};
    assert_ok(read_input(input, more, &list));
    assert_int_equal(list.count, 1);
    const NamedArray *array = &list.items[0];
    shape_print(&array->shape, &text);
    assert_string_equal(text_builder_get(&text), shape);
    assert_int_equal(shape_count_unchecked(&array->shape), count);
    for (size_t i = 0; i < count; i++) {
        double value;
        assert_true(dtype_bits_read_element(array->dtype, array->data, i, &value));
        assert_true(value == elements[i] || (isnan(value) && isnan(elements[i])));
    }
}
#define GIVES(input, more, shape, ...)                                                             \
    gives(input, more, shape, sizeof((double[]){__VA_ARGS__}) / sizeof(double),                    \
        (double[]){__VA_ARGS__})

static void refuses(
    ErrorCode code, const char *message, const char *input, const char *const *more) {
    ArrayList OWN_ARRAYS(list) = {0};
    test_assert_fails(read_input(input, more, &list), code, message, input, __FILE__, __LINE__);
}

static void test_input_value_takes_numbers_in_the_shape_of_the_model(void **state) {
    (void)state;
    GIVES("t=1,2,3", NULL, "[1, 3]", 1, 2, 3);
    GIVES("t=1,2,3,4", MORE("--dim", "B=2"), "[2, 2]", 1, 2, 3, 4);
    GIVES("t=1,2,3,4", MORE("--dim", "t.1=1"), "[4, 1]", 1, 2, 3, 4);
    GIVES("x=1,-2.5,1e3,nan,inf,0x10", NULL, "[2, 3]", 1, -2.5, 1000, NAN, INFINITY, 16);
    GIVES("h=0.5", NULL, "[1]", 0.5);
    GIVES("q=-8,7,0", NULL, "[3]", -8, 7, 0);
    GIVES("b=true,false", NULL, "[2]", 1, 0);
    GIVES("u=18446744073709551615", NULL, "[]", 18446744073709551616.0);
    GIVES("any=1,2.5", NULL, "[2]", 1, 2.5);
}

static void test_input_value_takes_json(void **state) {
    (void)state;
    GIVES("t=[[1, 2], [3, 4]]", NULL, "[2, 2]", 1, 2, 3, 4);
    GIVES("x=[[1,2,3],[4,\"NaN\",\"-Infinity\"]]", NULL, "[2, 3]", 1, 2, 3, 4, NAN, -INFINITY);
    gives("h=[]", NULL, "[0]", 0, NULL);
    GIVES("any=[[true]]", NULL, "[1, 1]", 1);
    GIVES("r=[[7],[8]]", NULL, "[1, 2, 1]", 7, 8);
}

static void test_input_value_takes_texts(void **state) {
    (void)state;
    static const struct {
        const char *input, *text;
    } rows[] = {{"s=hello", "hello"}, {"s=1,2", "1,2"}, {"s=random", "random"},
        {"s=\"a b\"", "a b"}, {"s=", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArrayList OWN_ARRAYS(list) = {0};
        assert_ok(read_input(rows[i].input, NULL, &list));
        assert_string_equal(list.items[0].texts[0], rows[i].text);
    }
}

static void test_input_value_makes_values(void **state) {
    (void)state;
    GIVES("x=zeros", NULL, "[2, 3]", 0, 0, 0, 0, 0, 0);
    GIVES("b=ones", NULL, "[2]", 1, 1);
    GIVES("t=ones", MORE("--dim", "T=3"), "[1, 3]", 1, 1, 1);
    ArrayList OWN_ARRAYS(first) = {0};
    ArrayList OWN_ARRAYS(again) = {0};
    ArrayList OWN_ARRAYS(other) = {0};
    ArrayList OWN_ARRAYS(whole) = {0};
    assert_ok(read_input("x=random", NULL, &first));
    assert_ok(read_input("x=random", MORE("--seed", "0"), &again));
    assert_ok(read_input("x=random", MORE("--seed", "1"), &other));
    assert_ok(read_input("t=random", MORE("--dim", "T=64"), &whole));
    assert_memory_equal(first.items[0].data, again.items[0].data, 24);
    assert_memory_not_equal(first.items[0].data, other.items[0].data, 24);
    for (size_t i = 0; i < 64; i++) {
        const uint64_t value = whole.items[0].data[8 * i];
        assert_true(value < 8);
    }
}

static void test_input_value_names_what_does_not_fit(void **state) {
    (void)state;
    refuses(ERROR_INVALID, "input x: 5 elements do not fill the shape [2, 3]", "x=1,2,3,4,5", NULL);
    refuses(ERROR_INVALID, "an integer is wanted", "t=1.5", NULL);
    refuses(ERROR_INVALID, "9 is no int4", "q=9", NULL);
    refuses(ERROR_INVALID, "fewer elements", "x=[[1,2,3],[4,5]]", NULL);
    refuses(ERROR_INVALID, "3 nested lists", "t=[[[1]]]", NULL);
    refuses(ERROR_INVALID, "input t", "t=[[1]", NULL);
    refuses(ERROR_USAGE, "neither a file nor numbers for an input of float32", "x=onse", NULL);
    refuses(ERROR_INVALID, "has no input z", "z=1", NULL);
    refuses(ERROR_UNSUPPORTED, "nothing is made up", "any=random", NULL);
    refuses(ERROR_USAGE, "no free dimension of this name", "t=1", MORE("--dim", "U=1"));
    refuses(ERROR_USAGE, "NAME=N is wanted", "t=1", MORE("--dim", "T=-1"));
    refuses(ERROR_INVALID, "do not fill the shape [-1, 4]", "t=1,2,3", MORE("--dim", "T=4"));
    refuses(ERROR_INVALID, "", "t=zeros", MORE("--dim", "T=4611686018427387904"));
}

/* A file of JSON has one input, several, or what --output - printed. */
static void test_input_value_reads_json_files(void **state) {
    (void)state;
    static const char *const texts[] = {"{\"t\": [[1, 2]], \"u\": 3}",
        "{\"state\":\"succeeded\",\"outputs\":[{\"name\":\"t\",\"dtype\":\"int64\",\"shape\":[1,2],"
        "\"data\":[[1,2]]},{\"name\":\"u\",\"data\":3}]}"};
    char folder[64], path[128], option[160];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/all.json", folder);
    (void)snprintf(option, sizeof option, "@%s", path);
    for (size_t i = 0; i < 2; i++) {
        ArrayList OWN_ARRAYS(list) = {0};
        assert_ok(file_write_atomic(path, texts[i], strlen(texts[i])));
        assert_ok(read_input(option, NULL, &list));
        assert_int_equal(list.count, 2);
        assert_int_equal(array_list_find(&list, "t")->shape.dims[1], 2);
        assert_int_equal(array_list_find(&list, "u")->data[0], 3);
    }
    assert_ok(file_write_atomic(path, "[[4],[5]]", 9));
    (void)snprintf(option, sizeof option, "t=@%s", path);
    GIVES(option, NULL, "[2, 1]", 4, 5);
    (void)snprintf(option, sizeof option, "@%s", path);
    refuses(ERROR_INVALID, "an object", option, NULL);
    assert_ok(file_write_atomic(path, "{\"outputs\":[{}]}", 16));
    refuses(ERROR_INVALID, "without \"name\"", option, NULL);
    test_folder_remove(folder);
}

#ifdef WITH_PNG
/* Two pixels, 255 0 10 and 1 2 3. */
static const uint8_t png[72] =
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00"
    "\x01\x08\x02\x00\x00\x00\x7b\x40\xe8\xdd\x00\x00\x00\x0f\x49\x44\x41\x54\x78\x9c\x63\xf8\xcf"
    "\xc0\xc5\xc8\xc4\x0c\x00\x06\x33\x01\x10\x90\x30\xdd\x1b\x00\x00\x00\x00\x49\x45\x4e\x44\xae"
    "\x42\x60\x82";

static void test_input_value_lays_images_out_as_the_shape_says(void **state) {
    (void)state;
    char folder[64], path[128], option[160];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/a.PNG", folder);
    assert_ok(file_write_atomic(path, png, sizeof png));
    (void)snprintf(option, sizeof option, "p=%s", path);
    GIVES(option, NULL, "[1, 3, 1, 2]", 255, 1, 0, 2, 10, 3);
    GIVES(option, MORE("--scale", "1/2", "--mean", "1,0,-1"), "[1, 3, 1, 2]", 127, 0, 0, 1, 5.5, 2);
    refuses(ERROR_INVALID, "has 2 x 1 pixels (width x height), and the model takes 5 x 1", option,
        MORE("--dim", "w=5"));
    refuses(ERROR_USAGE, "--mean 1,2: one number is wanted, or 3", option, MORE("--mean", "1,2"));
    refuses(ERROR_USAGE, "--scale 1/0", option, MORE("--scale", "1/0"));
    (void)snprintf(option, sizeof option, "r=@%s", path);
    refuses(ERROR_INVALID, "the model takes 1 x 2", option, NULL);
    (void)snprintf(option, sizeof option, "x=%s", path);
    refuses(ERROR_INVALID, "[N, C, H, W]", option, NULL);
    test_folder_remove(folder);
}
#endif

static void test_input_value_leaves_files_to_their_readers(void **state) {
    (void)state;
    static const char *const files[] = {"a.npz", "x=a.npy", "x=@1", "@a.npz", "x=./random", "=1",
        "a", "x=/tmp", "x=gone/b", "@a.safetensors"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_false(input_value_is_inline(files[i]));
}

int test_input_value(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_value_takes_numbers_in_the_shape_of_the_model),
        cmocka_unit_test(test_input_value_takes_json),
        cmocka_unit_test(test_input_value_takes_texts),
        cmocka_unit_test(test_input_value_makes_values),
        cmocka_unit_test(test_input_value_names_what_does_not_fit),
        cmocka_unit_test(test_input_value_reads_json_files),
#ifdef WITH_PNG
        cmocka_unit_test(test_input_value_lays_images_out_as_the_shape_says),
#endif
        cmocka_unit_test(test_input_value_leaves_files_to_their_readers),
    };
    return cmocka_run_group_tests_name("input_value", tests, NULL, NULL);
}
