#include "kernels/cpu/strings/cpu_ngrams.h"

#include <string.h>

#include "tests/kernels/fixtures/everywhere.h"
#include "tests/support/test_support.h"

static Attributes *make_attributes(const char *text) {
    Attributes *attributes;
    assert_ok(attributes_parse(&text, &attributes));
    assert_ok(attributes_check(attributes, operator_get(OPERATOR_TF_IDF_VECTORIZER)));
    return attributes;
}

static StringView view(const char *text) { return (StringView){text, strlen(text)}; }

/* "a" alone is in two columns; "longer than eight" shares its first eight bytes with another. */
static void test_cpu_ngrams_are_paths_of_items(void **state) {
    (void)state;
    CpuDevice *device = cpu_device(everywhere_portable());
    OWN(Attributes, attributes) = make_attributes(
        "{max_gram_length=2, max_skip_count=0, min_gram_length=1, mode=\"TF\", ngram_counts=[0, "
        "4], "
        "ngram_indexes=[0, 1, 2, 3, 4], weights=[1.0, 2.0, 3.0, 4.0, 5.0], "
        "pool_strings=[\"a\", \"a\", \"longer than eight\", \"longer than nine\", \"a\", \"\"]}");
    const CpuNgrams *ngrams;
    assert_ok(cpu_ngrams_get(device, attributes, DTYPE_STRING, &ngrams));
    const uint32_t a = cpu_ngrams_find_text(ngrams, view("a"));
    const uint32_t empty = cpu_ngrams_find_text(ngrams, view(""));
    assert_int_equal(ngrams->item_count, 4);
    assert_int_not_equal(cpu_ngrams_find_text(ngrams, view("longer than eight")),
        cpu_ngrams_find_text(ngrams, view("longer than nine")));
    assert_int_equal(cpu_ngrams_find_text(ngrams, view("longer than")), NGRAM_NO_ITEM);
    assert_int_equal(cpu_ngrams_find_text(ngrams, view("b")), NGRAM_NO_ITEM);
    const Ngram *first = &ngrams->ngrams[ngrams->nodes[ngrams->roots[a]].first];
    assert_int_equal(first->column, 0);
    assert_int_equal(ngrams->ngrams[first->next].column, 1);
    assert_int_equal(ngrams->ngrams[first->next].next, NGRAM_NO_GRAM);
    const uint32_t both = cpu_ngrams_step(ngrams, ngrams->roots[a], empty);
    assert_int_equal(ngrams->ngrams[ngrams->nodes[both].first].column, 4);
    assert_true(ngrams->ngrams[ngrams->nodes[both].first].weight == 5);
    assert_int_equal(ngrams->roots[empty], NGRAM_NO_NODE);
    assert_int_equal(cpu_ngrams_step(ngrams, both, a), NGRAM_NO_NODE);
    cpu_ngrams_release(device, ngrams);
}

/* A new table for each shape of the input would take the pool's memory each time. */
static void test_cpu_ngrams_are_shared_while_they_are_used(void **state) {
    (void)state;
    CpuDevice *device = cpu_device(everywhere_portable());
    OWN(Attributes, attributes) = make_attributes(
        "{max_gram_length=1, max_skip_count=0, min_gram_length=1, mode=\"TF\", ngram_counts=[0], "
        "ngram_indexes=[0, 1], pool_int64s=[-5, 7]}");
    const CpuNgrams *first, *second;
    assert_ok(cpu_ngrams_get(device, attributes, DTYPE_INT64, &first));
    assert_ok(cpu_ngrams_get(device, attributes, DTYPE_INT64, &second));
    assert_ptr_equal(first, second);
    assert_int_equal(cpu_ngrams_find_number(first, -5), 0);
    assert_int_equal(cpu_ngrams_find_number(first, 0), NGRAM_NO_ITEM);
    cpu_ngrams_release(device, first);
    assert_ptr_equal(device->ngrams, second);
    cpu_ngrams_release(device, second);
    assert_null(device->ngrams);
    cpu_ngrams_release(device, NULL);
}

int test_cpu_ngrams(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_ngrams_are_paths_of_items),
        cmocka_unit_test(test_cpu_ngrams_are_shared_while_they_are_used),
    };
    return cmocka_run_group_tests_name("cpu_ngrams", tests, NULL, NULL);
}
