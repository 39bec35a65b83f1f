#include "base/text.h"
#include "tests/kernels/fixtures/string_fixture.h"

static const char attributes[] = "{max_gram_length=2, min_gram_length=%d, max_skip_count=%d, "
                                 "mode=\"%s\", ngram_counts=[0, 2], ngram_indexes=[0, 2, 1, 3], "
                                 "%s}";

static void check(Tensor *owned_input, int least, int skip, const char *mode, const char *pool,
    const char *expected) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, attributes, least, skip, mode, pool);
    StringCall call = {.operator_name = "TfIdfVectorizer",
        .attributes = text_builder_get(&text),
        .input_count = 1,
        .output_count = 1,
        .inputs = {owned_input}};
    assert_ok(string_call_run(&call));
    string_fixture_expect(call.outputs[0], expected);
    string_call_deinit(&call);
}

static Tensor *ints(DType dtype) {
    const int64_t dims[] = {2, 5}, values[] = {1, 2, 1, 3, 2, 4, 4, 4, 4, 1};
    Shape shape = shape_make(2, dims);
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    for (int i = 0; i < 10; i++)
        memcpy((char *)tensor_data(tensor) + i * (int)(dtype_bits(dtype) / 8), &values[i],
            dtype_bits(dtype) / 8);
    return tensor;
}

static void test_tf_idf_counts_grams_with_gaps(void **state) {
    (void)state;
    /* 1 -> 0, 2 -> 2, (1 2) -> 1, (1 3) -> 3 */
    static const char pool[] = "pool_int64s=[1, 2, 1, 2, 1, 3]";
    check(ints(DTYPE_INT64), 1, 0, "TF", pool, "[2, 4] 2|1|2|1|1|0|0|0");
    check(ints(DTYPE_INT32), 2, 0, "TF", pool, "[2, 4] 0|1|0|1|0|0|0|0");
    check(ints(DTYPE_INT64), 1, 1, "TF", pool, "[2, 4] 2|2|2|1|1|0|0|0");
    check(ints(DTYPE_INT64), 2, 3, "TF", pool, "[2, 4] 0|3|0|2|0|0|0|0");
    static const char weighted[] = "pool_int64s=[1, 2, 1, 2, 1, 3], weights=[2.0, 3.0, 4.0, 5.0]";
    check(ints(DTYPE_INT64), 1, 0, "IDF", weighted, "[2, 4] 2|4|3|5|2|0|0|0");
    check(ints(DTYPE_INT64), 1, 0, "TFIDF", weighted, "[2, 4] 4|4|6|5|2|0|0|0");
}

static void test_tf_idf_counts_strings(void **state) {
    (void)state;
    static const char pool[] = "pool_strings=[\"a\", \"b\", \"a\", \"b\", \"a\", \"c\"]";
    const int64_t five = 5, none = 0;
    check(string_fixture_tensor("a|b|a|c|b", 1, &five), 1, 0, "TF", pool, "[4] 2|1|2|1");
    check(string_fixture_tensor("", 1, &none), 1, 0, "TF", pool, "[4] 0|0|0|0");
}

int test_cpu_tf_idf(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tf_idf_counts_grams_with_gaps),
        cmocka_unit_test(test_tf_idf_counts_strings),
    };
    return cmocka_run_group_tests_name("cpu_tf_idf", tests, NULL, NULL);
}
