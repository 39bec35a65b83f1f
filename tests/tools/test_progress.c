#include "tools/client/progress.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/tools/tools_fixtures.h"

/* In files and pipes a bar would be noise: these tests' captured output is a file. */
static void test_progress_is_not_shown_where_no_terminal_is(void **state) {
    (void)state;
    char out[64];
    Capture capture;
    CommandContext *context = COMMAND_CONTEXT("models");
    capture_start(&capture, STDERR_FILENO);
    Progress progress = progress_start(context, "loading");
    progress_update(&progress, 1, 2);
    progress_update(&progress, 2, 2);
    progress_end(&progress);
    capture_end(&capture, out, sizeof out);
    assert_false(progress.shown);
    assert_string_equal(out, "");
    free(context);
}

static void test_progress_draws_share_and_end_and_wipes_itself(void **state) {
    (void)state;
    char out[512];
    Capture capture;
    Progress progress = {.shown = true, .label = "loading"};
    capture_start(&capture, STDERR_FILENO);
    progress_update(&progress, 1, 2);
    progress_update(&progress, 1, 2); /* at once again: not drawn */
    progress_update(&progress, 2, 2); /* the end always is */
    progress_end(&progress);
    capture_end(&capture, out, sizeof out);
    assert_string_equal(out, "\rloading [###############...............]  50 %"
                             "\rloading [##############################] 100 %\r\x1b[K");
}

static void test_progress_of_unknown_length_shows_that_it_goes_on(void **state) {
    (void)state;
    char out[64];
    Capture capture;
    Progress progress = {.shown = true, .label = "checking"};
    capture_start(&capture, STDERR_FILENO);
    progress_update(&progress, 7, 0);
    progress_end(&progress);
    capture_end(&capture, out, sizeof out);
    assert_string_equal(out, "\rchecking ...\r\x1b[K");
}

static void test_progress_that_drew_nothing_wipes_nothing(void **state) {
    (void)state;
    char out[64];
    Capture capture;
    Progress progress = {.shown = true, .label = "checking"};
    capture_start(&capture, STDERR_FILENO);
    progress_end(&progress);
    capture_end(&capture, out, sizeof out);
    assert_string_equal(out, "");
}

int test_progress(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_is_not_shown_where_no_terminal_is),
        cmocka_unit_test(test_progress_draws_share_and_end_and_wipes_itself),
        cmocka_unit_test(test_progress_of_unknown_length_shows_that_it_goes_on),
        cmocka_unit_test(test_progress_that_drew_nothing_wipes_nothing),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
