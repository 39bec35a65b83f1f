#include "scheduler/http/server/multipart.h"

#include "tests/support/test_support.h"

static const char type[] = "multipart/form-data; boundary=XX";

static Error *parse(const char *text, Multipart *out) {
    return multipart_parse(type, (const uint8_t *)text, strlen(text), out);
}

#define PART(name, data)                                                                           \
    "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" data "\r\n"

static void test_multipart_finds_parts(void **state) {
    (void)state;
    Multipart parts;
    assert_ok(parse(PART("policy", "{}") PART("inputs", "a\r\n--X\r\nb") "--XX--\r\n", &parts));
    assert_int_equal(parts.count, 2);
    assert_memory_equal(multipart_find(&parts, "policy")->data, "{}", 2);
    assert_int_equal(multipart_find(&parts, "inputs")->size, 9);
    assert_null(multipart_find(&parts, "other"));
    assert_ok(parse("--XX--", &parts));
    assert_int_equal(parts.count, 0);
    /* file names and other headers are passed over */
    assert_ok(parse("--XX\r\nX: y\r\ncontent-disposition: form-data; filename=\"name=\"; "
                    "name=\"a\"\r\nContent-Type: x\r\n\r\n\r\n--XX--",
        &parts));
    assert_string_equal(parts.parts[0].name, "a");
    assert_int_equal(parts.parts[0].size, 0);
    assert_ok(multipart_parse(
        "Multipart/Form-Data; charset=x; boundary=\"a b\"", (const uint8_t *)"--a b--", 7, &parts));
}

static void test_multipart_refuses_what_is_none(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "-", "--XX", "--XX-", "--XX\r\n", "XX--", "--XY--",
        "--XX\r\n\r\n", "--XX\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XX--",
        "--XX\r\nContent-Disposition: form-data; name=\"\"\r\n\r\nx\r\n--XX--",
        "--XX\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--XX--", PART("a", "x"),
        PART("a", "x") "--XXz", PART("a", "x") PART("a", "y") "--XX--",
        PART("a", "x") PART("b", "x") PART("c", "x") PART("d", "x") PART("e", "x") PART("f", "x")
            PART("g", "x") PART("h", "x") PART("i", "x") "--XX--"};
    static const char *const types[] = {NULL, "", "multipart/form-data",
        "multipart/form-data; boundary=", "text/plain; boundary=XX",
        "multipart/form-data; boundary="
        "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggghh"};
    Multipart parts;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(INVALID, parse(wrong[i], &parts));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_fails(INVALID, multipart_parse(types[i], (const uint8_t *)"--XX--", 6, &parts));
    assert_fails(INVALID, multipart_parse(type, NULL, 0, &parts));
    /* a head that never ends */
    static char head[MULTIPART_HEAD_MAX * 2];
    memset(head, 'a', sizeof head);
    memcpy(head, "--XX\r\n", 6);
    assert_fails(INVALID, multipart_parse(type, (const uint8_t *)head, sizeof head, &parts));
}

/* Cut anywhere it is refused, and nothing behind its end is read. */
static void test_multipart_refuses_every_beginning(void **state) {
    (void)state;
    static const char text[] = PART("policy", "{}") PART("inputs", "zip") "--XX--";
    Multipart parts;
    for (size_t size = 0; size < sizeof text - 1; size++)
        assert_fails(INVALID, multipart_parse(type, (const uint8_t *)text, size, &parts));
}

int test_multipart(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multipart_finds_parts),
        cmocka_unit_test(test_multipart_refuses_what_is_none),
        cmocka_unit_test(test_multipart_refuses_every_beginning),
    };
    return cmocka_run_group_tests_name("multipart", tests, NULL, NULL);
}
