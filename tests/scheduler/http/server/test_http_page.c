#include <stdio.h>

#include "scheduler/http/server/http_page.h"
#include "tests/scheduler/http_fixtures.h"

#define JOB "/v1/jobs/0000000000aa-1"

/* Every list, and who may see it. */
static const struct {
    const char *path;
    TestRole role;
    size_t lines; /* as open_lists makes them */
} lists[] = {
    {"/v1/jobs", TEST_USER, 4},
    {"/v1/jobs?state=suspended", TEST_USER, 2},
    {JOB "/events", TEST_USER, 3},
    {"/v1/models", TEST_USER, 4},
    {"/v1/tenants", TEST_ADMIN, 5},
    {"/v1/tokens", TEST_ADMIN, 4},
};
#define LIST_COUNT (sizeof lists / sizeof *lists)

static void open_lists(TestServer *server) {
    static const char *const models[] = {"m", "m-2", "n", "o"};
    test_server_open(server, NULL);
    for (size_t i = 0; i < 4; i++) {
        (void)test_server_submit(server, TEST_USER, "{\"model\":\"m\"}", NULL, 0);
        test_server_register(server, TEST_USER, models[i]);
    }
    memory_jobs_set_state(&server->jobs, 0, "running", false);
    memory_jobs_set_state(&server->jobs, 0, "suspended", false);
    memory_jobs_set_state(&server->jobs, 2, "suspended", false);
    static const char *const tenants[] = {"{\"tenant\":\"zoe\"}", "{\"tenant\":\"amy\"}"};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(test_server_ask(server, TEST_ADMIN, HTTP_METHOD_POST, "/v1/tenants",
                             tenants[i], NULL, 0),
            200);
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; (text = strchr(text, '\n')); text++) count++;
    return count;
}

/* Appends a page to text; next: where it goes on, "" at the end. */
static void ask_page(
    TestServer *server, size_t list, const char *limit, TextBuilder *text, char *place) {
    OWN(HttpClient, client) = test_server_client(server, lists[list].role);
    HttpClientReply OWN_REPLY(reply) = {0};
    TextBuilder OWN_TEXT(path) = {0};
    text_append(&path, lists[list].path);
    if (*place) http_client_query(&path, "after", place);
    if (limit) http_client_query(&path, "limit", limit);
    HttpClientCall call = {.path = text_builder_get(&path)};
    assert_ok(http_client_call(client, &call, &reply));
    text_append(text, text_builder_get(&reply.text));
    snprintf(place, HTTP_CLIENT_PLACE_SIZE, "%s", reply.place);
}

/* The pages of a list, whatever their size, are the list. */
static void test_http_page_makes_the_list_of_its_pages(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    open_lists(&server);
    for (size_t list = 0; list < LIST_COUNT; list++)
        for (int limit = 1; limit < 7; limit++) {
            char place[HTTP_CLIENT_PLACE_SIZE] = "", number[8];
            size_t asked = 0;
            TextBuilder OWN_TEXT(whole) = {0}, OWN_TEXT(pages) = {0};
            snprintf(number, sizeof number, "%d", limit);
            ask_page(&server, list, NULL, &whole, place);
            assert_string_equal(place, "");
            do {
                ask_page(&server, list, number, &pages, place);
                asked++;
            } while (*place && asked < 100);
            assert_string_equal(text_builder_get(&pages), text_builder_get(&whole));
            assert_int_equal(count_lines(text_builder_get(&whole)), lists[list].lines);
            assert_int_equal(asked, (lists[list].lines + (size_t)limit - 1) / (size_t)limit);
        }
}

/* What a page ended with may be gone when the next one is asked for, and others may have come. */
static void test_http_page_goes_on_behind_lines_that_went(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    TextBuilder OWN_TEXT(first) = {0}, OWN_TEXT(second) = {0};
    char place[HTTP_CLIENT_PLACE_SIZE] = "";
    open_lists(&server);
    ask_page(&server, 3, "2", &first, place);
    assert_string_equal(place, "m-2@1");
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_DELETE, "/v1/models/m-2", NULL, NULL, 0),
        200);
    test_server_register(&server, TEST_USER, "a");
    ask_page(&server, 3, "2", &second, place);
    const char *text = text_builder_get(&second);
    assert_string_equal(place, "");
    assert_int_equal(count_lines(text), 2);
    assert_non_null(strstr(text, "\"model\":\"n\""));
    assert_non_null(strstr(text, "\"model\":\"o\""));
}

static void test_http_page_refuses_what_is_no_page(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static const struct {
        const char *path;
        TestRole role;
    } wrong[] = {{"/v1/jobs?limit=0", TEST_USER}, {"/v1/jobs?limit=1001", TEST_USER},
        {"/v1/jobs?limit=many", TEST_USER}, {"/v1/jobs?after=-1", TEST_USER},
        {"/v1/jobs?after=m", TEST_USER}, {"/v1/models?after=m", TEST_USER},
        {"/v1/models?after=@1", TEST_USER}, {"/v1/models?after=m@x", TEST_USER},
        {"/v1/tokens?after=x", TEST_ADMIN}, {"/v1/tenants?limit=-1", TEST_ADMIN},
        {"/v1/jobs?before=1", TEST_USER}};
    open_lists(&server);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (test_server_ask(
                &server, wrong[i].role, HTTP_METHOD_GET, wrong[i].path, NULL, NULL, 0) != 400)
            fail_msg("%s", wrong[i].path);
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_GET,
                         "/v1/jobs?after=9223372036854775807", NULL, NULL, 0),
        200);
}

/* A page of long lines ends before its limit of lines. */
static void test_http_page_ends_at_its_bytes(void **state) {
    (void)state;
    HttpResponse OWN_RESPONSE(response);
    HttpPage page = {.after_text = "", .limit = HTTP_PAGE_LIMIT};
    static char line[1 << 20];
    http_response_init(&response);
    memset(line, 'x', sizeof line - 1);
    while (http_page_take(&page, &response)) text_append(&response.text, line);
    assert_int_equal(page.count, 5);
    http_page_end(&page, 5, &response);
    assert_string_equal(response.headers[0].value, "5");
    assert_int_equal(response.header_count, 1);
}

int test_http_page(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_page_makes_the_list_of_its_pages),
        cmocka_unit_test(test_http_page_goes_on_behind_lines_that_went),
        cmocka_unit_test(test_http_page_refuses_what_is_no_page),
        cmocka_unit_test(test_http_page_ends_at_its_bytes),
    };
    return cmocka_run_group_tests_name("http_page", tests, NULL, NULL);
}
