#include "scheduler/daemon/end_limit.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/test_support.h"

typedef struct Cut {
    atomic_int calls;
    size_t left;
    char words[64];
} Cut;

static void note_cut(void *context, size_t left, const char *words) {
    Cut *cut = context;
    cut->left = left;
    assert_true(strlen(words) < sizeof cut->words);
    memcpy(cut->words, words, strlen(words) + 1);
    atomic_fetch_add(&cut->calls, 1);
}

static void test_end_limit_cuts_once_with_what_was_told_last(void **state) {
    (void)state;
    Cut cut = {0};
    EndLimit *limit;
    const uint64_t due_ns = clock_now_ns(clock_real()) + 50000000;
    assert_ok(end_limit_start(due_ns, note_cut, &cut, &limit));
    end_limit_tell(limit, 1, "job 1");
    end_limit_tell(limit, 3, "job 2\njob 3");
    while (atomic_load(&cut.calls) == 0) continue;
    assert_true(clock_now_ns(clock_real()) >= due_ns);
    end_limit_release(limit);
    assert_int_equal(atomic_load(&cut.calls), 1);
    assert_int_equal(cut.left, 3);
    assert_string_equal(cut.words, "job 2\njob 3");
}

/* Also when nobody was there to tell. */
static void test_end_limit_cuts_without_words(void **state) {
    (void)state;
    Cut cut = {0};
    EndLimit *limit;
    assert_ok(end_limit_start(1, note_cut, &cut, &limit));
    while (atomic_load(&cut.calls) == 0) continue;
    end_limit_release(limit);
    assert_true(cut.left == SIZE_MAX);
    assert_string_equal(cut.words, "");
}

static void test_end_limit_is_called_off(void **state) {
    (void)state;
    Cut cut = {0};
    EndLimit *limit;
    assert_ok(end_limit_start(UINT64_MAX / 2, note_cut, &cut, &limit));
    end_limit_tell(limit, 0, "");
    end_limit_release(limit); /* at once */
    assert_int_equal(atomic_load(&cut.calls), 0);
}

int test_end_limit(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_limit_cuts_once_with_what_was_told_last),
        cmocka_unit_test(test_end_limit_cuts_without_words),
        cmocka_unit_test(test_end_limit_is_called_off),
    };
    return cmocka_run_group_tests_name("end_limit", tests, NULL, NULL);
}
