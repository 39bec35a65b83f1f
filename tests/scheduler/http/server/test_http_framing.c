#include "scheduler/http/server/http_framing.h"

#include <string.h>

#include "tests/support/test_support.h"

#define GOOD "GET / HTTP/1.1\r\nHost: x\r\n"
#define POST "POST / HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define HIDDEN "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"

typedef struct Case {
    const char *text;
    size_t size;
    int status; /* 0: all of it goes through */
} Case;

#define CASE(text, status)                                                                         \
    { text, sizeof(text) - 1, status }

/* By section of RFC 9112. */
static const Case cases[] = {
    /* 2.2: lines and their ends */
    CASE(GOOD "\r\n", 0),
    CASE("\r\n" GOOD "\r\n" GOOD "\r\n", 0),
    CASE("\r\n\r\n" GOOD "\r\n", 400),
    CASE("GET / HTTP/1.1\nHost: x\n\n", 400),
    CASE(GOOD "A: b\n\r\n", 400),
    CASE(GOOD "A: b\rC: d\r\n\r\n", 400),
    CASE(GOOD "\rA: b\r\n\r\n", 400),
    CASE(GOOD "A\r: b\r\n\r\n", 400),
    CASE(GOOD "A: b\r\r\n\r\n", 400),
    CASE("GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400),
    CASE("\0" GOOD "\r\n", 400),
    CASE("\0\r\n" GOOD "\r\n", 400),
    CASE(GOOD "\0\r\nA: b\r\n\r\n", 400),
    CASE(GOOD "A: b\0\n\r\n", 400),
    /* 3: the first line */
    CASE("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    CASE("GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400),
    CASE("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    CASE("GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    CASE("GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    CASE("G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    CASE("GET /\r\n\r\n", 400),
    CASE("GET / HTTP/1.1\0\r\nHost: x\r\n\r\n", 400),
    CASE("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400),
    CASE("GET / http/1.1\r\nHost: x\r\n\r\n", 400),
    CASE("GET / HTTP/1.0\r\n\r\n", 0),
    /* 3.2: Host */
    CASE("GET / HTTP/1.1\r\n\r\n", 400),
    CASE(GOOD "Host: x\r\n\r\n", 400),
    CASE(GOOD "Host: y\r\n\r\n", 400),
    CASE("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    CASE("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    CASE("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 0),
    CASE("GET / HTTP/1.1\r\nHost:\r\n\r\n", 0),
    /* 5.1: names */
    CASE(GOOD "Content-Length : 42\r\n\r\n", 400),
    CASE(GOOD "Content-Length\t: 42\r\n\r\n", 400),
    CASE(GOOD ": a\r\n\r\n", 400),
    CASE(GOOD "no colon\r\n\r\n", 400),
    CASE(GOOD "A\0B: c\r\n\r\n", 400),
    CASE(GOOD "A[]: c\r\n\r\n", 400),
    CASE(GOOD "A\x80: c\r\n\r\n", 400),
    CASE(GOOD "A:\t b \t\r\nC:\r\n\r\n", 0),
    CASE(GOOD "A: \xc3\xa4\r\n\r\n", 0),
    CASE(GOOD "A: b\0c\r\n\r\n", 400),
    CASE(GOOD "A: b\x7f\r\n\r\n", 400),
    /* 5.2: folded values */
    CASE(GOOD "A: b\r\n c\r\n\r\n", 400),
    CASE(GOOD "A: b\r\n\tContent-Length: 42\r\n\r\n", 400),
    CASE(GOOD "Content-Len: 4\r\n gth\r\n\r\n", 400),
    CASE(GOOD "A: b\r\n \r\n\r\n", 400),
    /* 6.1: Transfer-Encoding */
    CASE(CHUNKED "2\r\nab\r\n0\r\n\r\n" GOOD "\r\n", 0),
    CASE(POST "Transfer-Encoding: ChunkeD \r\n\r\n0\r\n\r\n", 0),
    CASE(POST "Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: gzip\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: identity\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding:\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
    CASE(POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: xchunked\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: \"chunked\"\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400),
    CASE("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    /* 6.3: lengths */
    CASE(POST "Content-Length: 2\r\n\r\nab" GOOD "\r\n", 0),
    CASE(POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    CASE(POST "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", 400),
    CASE(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
    CASE(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    CASE(POST "Content-Length: 5, 5\r\n\r\n", 400),
    CASE(POST "Content-Length: -5\r\n\r\n", 400),
    CASE(POST "Content-Length: +5\r\n\r\n", 400),
    CASE(POST "Content-Length: 0x5\r\n\r\n", 400),
    CASE(POST "Content-Length: 5 5\r\n\r\n", 400),
    CASE(POST "Content-Length: 5\v\r\n\r\n", 400),
    CASE(POST "Content-Length:\r\n\r\n", 400),
    CASE(POST "Content-Length: 99999999999999999999999999\r\n\r\n", 413),
    /* 7.1: chunks */
    CASE(CHUNKED "2;a=\"b\"\r\nab\r\n0\r\nA: b\r\n\r\n" GOOD "\r\n", 0),
    CASE(CHUNKED "0000A\r\n0123456789\r\n0\r\n\r\n", 0),
    CASE(CHUNKED "2\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "2;a\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "2\r\nabc\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "2\r\nab\n0\r\n\r\n", 400),
    CASE(CHUNKED "2\r\nab0\r\n\r\n", 400),
    CASE(CHUNKED "-2\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "+2\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "0x2\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED " 2\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "2 \r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED ";a\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "2\0\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "10000000000000002\r\nab\r\n0\r\n\r\n", 400),
    CASE(CHUNKED "0\r\nContent-Length: 5\r\n\r\n", 400),
    CASE(CHUNKED "0\r\nA : b\r\n\r\n", 400),
    CASE(CHUNKED "0\r\n\n", 400),
};

enum { OUT_SIZE = 4096 };

static size_t pass(HttpFraming *framing, const char *text, size_t size, size_t step, uint8_t *out) {
    size_t got = 0;
    for (size_t at = 0; at < size; at += step) {
        const size_t count = size - at < step ? size - at : step;
        http_framing_add(framing, (const uint8_t *)text + at, count);
        got += http_framing_take(framing, out + got, OUT_SIZE - got);
    }
    return got;
}

/* However the bytes are cut, the same goes through; and nothing behind a refusal. */
static void test_http_framing_refuses_what_can_be_read_in_two_ways(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *at = &cases[i];
        char text[1024];
        memcpy(text, at->text, at->size);
        memcpy(text + at->size, HIDDEN, sizeof HIDDEN);
        const size_t size = at->size + sizeof HIDDEN - 1;
        for (size_t step = 1; step <= size; step += step < 40 ? 1 : 97) {
            HttpFraming framing = {0};
            uint8_t out[OUT_SIZE + 1];
            const size_t got = pass(&framing, text, size, step, out);
            out[got] = 0;
            if (framing.status != at->status)
                fail_msg("case %zu, %d and not %d: %s", i, framing.status, at->status, at->text);
            if (at->status == 0) {
                assert_int_equal(got, size);
                assert_memory_equal(out, text, size);
            } else {
                assert_null(memmem(out, got, "/hidden", 7));
                assert_int_equal(framing.state, HTTP_FRAMING_REFUSED);
            }
            http_framing_deinit(&framing);
        }
    }
}

/* A refused head ends so that one more answer is asked for, of the request that is refused. */
static void test_http_framing_ends_a_refused_head(void **state) {
    (void)state;
    static const char text[] = GOOD "\r\n" GOOD "Content-Length : 42\r\n\r\n";
    uint8_t out[OUT_SIZE];
    HttpFraming framing = {0};
    const size_t got = pass(&framing, text, sizeof text - 1, sizeof text, out);
    assert_int_equal(got, strlen(GOOD "\r\n" GOOD "\r\n"));
    assert_memory_equal(out, GOOD "\r\n" GOOD "\r\n", got);
    assert_int_equal(framing.refused_head, 2);
    assert_non_null(framing.why);
    http_framing_deinit(&framing);
}

static void test_http_framing_bounds_lines(void **state) {
    (void)state;
    static char line[HTTP_LINE_SIZE_MAX + 8];
    uint8_t out[OUT_SIZE];
    HttpFraming framing = {0};
    memset(line, 'a', sizeof line);
    (void)pass(&framing, GOOD, strlen(GOOD), strlen(GOOD), out);
    (void)pass(&framing, line, sizeof line, 1000, out);
    assert_int_equal(framing.status, 431);
    http_framing_deinit(&framing);
    framing = (HttpFraming){0};
    (void)pass(&framing, CHUNKED, strlen(CHUNKED), strlen(CHUNKED), out);
    (void)pass(&framing, "1;", 2, 2, out);
    (void)pass(&framing, line, HTTP_CHUNK_LINE_SIZE_MAX, 100, out);
    assert_int_equal(framing.status, 400);
    http_framing_deinit(&framing);
}

int test_http_framing(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_framing_refuses_what_can_be_read_in_two_ways),
        cmocka_unit_test(test_http_framing_ends_a_refused_head),
        cmocka_unit_test(test_http_framing_bounds_lines),
    };
    return cmocka_run_group_tests_name("http_framing", tests, NULL, NULL);
}
