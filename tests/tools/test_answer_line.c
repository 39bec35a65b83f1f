#include "tools/client/answer_line.h"

#include <stdlib.h>
#include <unistd.h>

#include "scheduler/http/client/json_body.h"
#include "tests/tools/tools_fixtures.h"

static void prints(const char *format, const char *json, const char *line) {
    char out[256];
    Capture capture;
    OWN_JSON(object) = NULL;
    assert_ok(json_body_parse(json, strlen(json), &object));
    capture_start(&capture, STDOUT_FILENO);
    answer_line_print(format, object);
    capture_end(&capture, out, sizeof out);
    assert_string_equal(out, line);
}

static void test_answer_line_prints_fields_between_text(void **state) {
    (void)state;
    prints("", "{}", "\n");
    prints("no field", "{\"job\":\"j\"}", "no field\n");
    prints("{job} goes to {node}", "{\"job\":\"a-1\",\"node\":\"west\"}", "a-1 goes to west\n");
    prints("token {id} revoked", "{\"id\":-7}", "token -7 revoked\n");
    prints("{a}{b}%s", "{\"a\":1,\"b\":9223372036854775807}", "19223372036854775807%s\n");
}

static void test_answer_line_prints_nothing_for_a_field_that_is_not_there(void **state) {
    (void)state;
    prints("<{why}>", "{\"why\":null}", "<>\n");
    prints("<{why:3}>", "{}", "<   >\n");
    prints("<{why}>", "{\"why\":[\"list\"]}", "<>\n");
    prints("{open", "{\"open\":1}", "\n");
}

static void test_answer_line_fills_to_a_width(void **state) {
    (void)state;
    prints("<{a:4}|{a:-4}>", "{\"a\":12}", "<  12|12  >\n");
    prints("<{a:4}|{a:-4}>", "{\"a\":\"x\"}", "<   x|x   >\n");
    prints("<{a:1}>", "{\"a\":\"longer\"}", "<longer>\n");
}

static void test_answer_line_takes_the_first_field_that_is_there(void **state) {
    (void)state;
    prints("{tenant|node|-}", "{\"tenant\":\"t\",\"node\":\"n\"}", "t\n");
    prints("{tenant|node|-}", "{\"tenant\":null,\"node\":\"n\"}", "n\n");
    prints("<{tenant|node|-:3}>", "{\"tenant\":null}", "<  ->\n");
    prints("{items|-}", "{\"items\":0}", "0\n");
}

static void test_answer_line_prints_times_and_megabytes(void **state) {
    (void)state;
    (void)setenv("TZ", "UTC", 1);
    prints("{time:t}", "{\"time\":1769860800.5}", "2026-01-31 12:00\n");
    prints("<{time:-18t}>", "{\"time\":1769860800}", "<2026-01-31 12:00  >\n");
    prints("<{time:3t}>", "{\"time\":null}", "<  ->\n");
    prints("<{bytes:6M}>", "{\"bytes\":12345678}", "<  12.3>\n");
    prints("<{bytes:M}>", "{\"bytes\":0}", "<0.0>\n");
    (void)unsetenv("TZ");
}

int test_answer_line(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer_line_prints_fields_between_text),
        cmocka_unit_test(test_answer_line_prints_nothing_for_a_field_that_is_not_there),
        cmocka_unit_test(test_answer_line_fills_to_a_width),
        cmocka_unit_test(test_answer_line_takes_the_first_field_that_is_there),
        cmocka_unit_test(test_answer_line_prints_times_and_megabytes),
    };
    return cmocka_run_group_tests_name("answer_line", tests, NULL, NULL);
}
