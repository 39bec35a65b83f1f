#include "tests/vm/relax/relax_paged_fixture.h"

static uint32_t segments_made(const Paged *paged) {
    uint32_t made = 0;
    for (int64_t i = 0; i < paged->config.layers * paged->segment_count; i++)
        made += value_is(&paged->segments[i], OBJECT_TENSOR);
    return made;
}

/* A cache of many segments: pages of 16 KiB. */
static Paged *large_fixture(void) {
    PagedConfig config = paged_config();
    config.pages = 16;
    config.page_size = 1024;
    config.chunk = 1 << 14;
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    assert_int_equal(paged->segment_pages, 4);
    assert_int_equal(paged->segment_count, 4);
    return paged;
}

/* Memory is taken for pages in use only. */
static void test_relax_paged_segments_are_made_when_written(void **state) {
    (void)state;
    Paged *paged = large_fixture();
    assert_int_equal(segments_made(paged), 0);
    paged_fill(paged, 1, 5000); /* pages 0 to 4 */
    assert_int_equal(segments_made(paged), 2);
    assert_true(paged_peek(paged, 4999) == 5000);
    assert_true(paged_peek(paged, 16000) == 0);
    assert_ok(paged_pop(paged_call(), paged, 1, 2000));
    const int64_t number = 1, one = 1;
    assert_ok(paged_begin(paged, &number, &one, 1, NULL, 0));
    assert_int_equal(segments_made(paged), 1);
    paged_clear(paged);
    assert_int_equal(segments_made(paged), 0);
    paged_destroy(paged);
}

/* A snapshot shares all segments; a write afterwards copies one of them. */
static void test_relax_paged_segments_are_copied_when_shared_and_written(void **state) {
    (void)state;
    Paged *paged = large_fixture();
    paged_fill(paged, 1, 10000);
    Value cache = paged_value(paged);
    Opaque *copy;
    assert_ok(opaque_copy(cache.opaque, &copy));
    uint32_t count;
    const Value *shared = opaque_values(copy, &count);
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < 4; i++) assert_ptr_equal(shared[i].object, paged->segments[i].object);
    paged_put(paged, 4500, -1, -1);
    assert_ptr_not_equal(shared[1].object, paged->segments[1].object);
    assert_ptr_equal(shared[0].object, paged->segments[0].object);
    assert_ptr_equal(shared[2].object, paged->segments[2].object);
    assert_true(paged_peek(paged, 4500) == -1);
    assert_true(paged_peek(copy->state, 4500) == 4501);
    assert_true(paged_peek(paged, 4501) == 4502); /* the rest was copied */
    opaque_release(copy);
    value_release(&cache);
}

static void test_relax_paged_segments_of_a_file_are_checked(void **state) {
    (void)state;
    Paged *paged = large_fixture(), *other;
    paged_fill(paged, 1, 10);
    PagedConfig config = paged_config();
    other = paged_fixture(&config, PAGED_MHA);
    paged_fill(other, 1, 10);
    assert_ok(relax_paged.check_values(paged));
    Value kept = paged->segments[0];
    paged->segments[0] = other->segments[0];
    assert_fails_saying(CORRUPT, "another tensor", relax_paged.check_values(paged));
    paged->segments[0] = value_int(3);
    assert_fails_saying(CORRUPT, "segment 0 is a int", relax_paged.check_values(paged));
    paged->segments[0] = kept;
    paged_destroy(other);
    paged_destroy(paged);
}

int test_relax_paged_segments(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_segments_are_made_when_written),
        cmocka_unit_test(test_relax_paged_segments_are_copied_when_shared_and_written),
        cmocka_unit_test(test_relax_paged_segments_of_a_file_are_checked),
    };
    return cmocka_run_group_tests_name("relax_paged_segments", tests, NULL, NULL);
}
