#include "tests/kernels/fixtures/infer_fixture.h"

#define POOL "max_gram_length=2, min_gram_length=1, max_skip_count=0, mode=\"TF\", "

static void test_string_rules_leave_to_the_data_what_it_decides(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"Equal", NULL, "string[2,1] string[3]", "bool[2, 3]"},
        {"StringConcat", NULL, "string[2,1] string[3]", "string[2, 3]"},
        {"StringConcat", NULL, "string[2] string[3]", "! "},
        {"StringConcat", NULL, "string[2] int8[2]", "! input 1 is int8"},
        {"StringSplit", NULL, "int8[2]", "! input 0 is int8"},
        {"StringHash", NULL, "string[2,3]", "uint32[2, 3]"},
        {"StringHash", NULL, "int8[2]", "! input 0 is int8"},
        {"Tokenizer", "{mark=0, mincharnum=1, pad_value=\"\", tokenexp=\"a\"}", "string[2,3]",
            "string[2, 3, -1]"},
        {"Tokenizer", "{mark=0, mincharnum=1, pad_value=\"\", tokenexp=\"a\"}", "string[]",
            "! texts of rank 0, not [C] or [N, C]"},
        {"Tokenizer", "{mark=0, mincharnum=0, pad_value=\"\", tokenexp=\"a\"}", "string[2]",
            "! mincharnum is 0, not 1 or more"},
        {"Tokenizer", "{mark=0, mincharnum=2, pad_value=\"\", separators=[\"\"]}", "string[2]",
            "! mincharnum above 1 for tokens of one character"},
        {"Tokenizer", "{mark=0, mincharnum=2, pad_value=\"\", separators=[\"a\", \"\"]}",
            "string[2]", "! an empty separator among others"},
        {"Tokenizer", "{mark=0, mincharnum=1, pad_value=\"\"}", "string[2]",
            "! either separators or tokenexp must be given"},
        {"StringNormalizer", NULL, "int8[2]", "! input 0 is int8"},
        {"StringNormalizer", NULL, "string[2,2]", "! neither [C] nor [1, C]"},
        {"StringNormalizer", NULL, "string[]", "! neither [C] nor [1, C]"},
        {"StringNormalizer", "{case_change_action=\"lower\"}", "string[2]",
            "! case_change_action \"lower\""},
        {"RegexFullMatch", "{pattern=\"a+\"}", "string[2,3]", "bool[2, 3]"},
        {"RegexFullMatch", NULL, "string[2]", "! attribute pattern is missing"},
        {"RegexFullMatch", "{pattern=\"(\"}", "string[2]", "! ) is missing"},
        {"Cast", "{to=string}", "float32[2]", "string[2]"},
        {"Cast", "{to=int64}", "string[2]", "int64[2]"},
        {"Cast", "{to=bool}", "string[2]", "bool[2]"},
        {"Cast", "{to=string}", "int4[2]", "? from int4 to string"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_tf_idf_checks_its_pool(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"TfIdfVectorizer",
            "{" POOL "ngram_counts=[0, 2], ngram_indexes=[0, 4, 1], pool_int64s=[1, 2, 3, 4]}",
            "int32[3,9]", "float32[3, 5]"},
        {"TfIdfVectorizer",
            "{" POOL "ngram_counts=[0, 2], ngram_indexes=[0, 4, 1], pool_int64s=[1, 2, 3, 4]}",
            "int64[9]", "float32[5]"},
        {"TfIdfVectorizer",
            "{" POOL "ngram_counts=[0, 1], ngram_indexes=[0], pool_strings=[\"a\"]}", "string[9]",
            "float32[1]"},
        {"TfIdfVectorizer",
            "{" POOL "ngram_counts=[0, 1], ngram_indexes=[0], pool_strings=[\"a\"]}", "int64[9]",
            "! a pool of strings for int64"},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[0, 1], ngram_indexes=[0], pool_int64s=[1]}",
            "string[9]", "! a pool of numbers for string"},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[0, 3], ngram_indexes=[0], pool_int64s=[1]}",
            "int64[9]", "! ngram_counts[0] is 0 in a pool of 1"},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[1, 1], ngram_indexes=[0], pool_int64s=[1]}",
            "int64[9]", "! ngram_counts[0] is 1 in a pool of 1"},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[0, 0], ngram_indexes=[0], pool_int64s=[1]}",
            "int64[9]", "! 1 items of the pool are no 2-grams"},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[0, 1], ngram_indexes=[0, 1], pool_int64s=[1]}",
            "int64[9]", "! 2 ngram_indexes for 1 n-grams"},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[0, 1], ngram_indexes=[-1], pool_int64s=[1]}",
            "int64[9]", "! ngram_indexes[0] is -1"},
        {"TfIdfVectorizer",
            "{" POOL "ngram_counts=[0, 1], ngram_indexes=[0], pool_int64s=[1], weights=[1.0, 2.0]}",
            "int64[9]", "! 2 weights for 1 n-grams"},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[0], ngram_indexes=[0], pool_int64s=[1]}",
            "int64[9]", "! n-grams of 1 to 2 in a pool of 1 lengths"},
        {"TfIdfVectorizer",
            "{max_gram_length=1, min_gram_length=1, max_skip_count=-1, mode=\"TF\", "
            "ngram_counts=[0], ngram_indexes=[0], pool_int64s=[1]}",
            "int64[9]", "! max_skip_count is -1"},
        {"TfIdfVectorizer",
            "{max_gram_length=1, min_gram_length=1, max_skip_count=0, mode=\"X\", "
            "ngram_counts=[0], ngram_indexes=[0], pool_int64s=[1]}",
            "int64[9]", "! mode \"X\""},
        {"TfIdfVectorizer", "{" POOL "ngram_counts=[0, 1], ngram_indexes=[0], pool_int64s=[1]}",
            "int64[1,1,1]", "! an input of rank 3"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_shape_strings(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_rules_leave_to_the_data_what_it_decides),
        cmocka_unit_test(test_tf_idf_checks_its_pool),
    };
    return cmocka_run_group_tests_name("shape_strings", tests, NULL, NULL);
}
