#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/scheduler/http_fixtures.h"

enum { TEXT_SIZE = 65536 };

static const char program[] = "constant @x = float32[2] {1, -2}\n"
                              "function main() -> (y: float32[2]) exported {\n Ret @x\n}\n";

/* Nothing of an upload is left behind. */
static void assert_no_uploads(const TestServer *server) {
    DIR *folder = opendir(server->uploads);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') fail_msg("%s was left", entry->d_name);
    (void)closedir(folder);
}

static int post_text(TestServer *server, TestRole role, const char *path, const void *data,
    size_t size, char *text) {
    char file[192];
    (void)snprintf(file, sizeof file, "%s/sent", server->folder);
    assert_ok(file_write_atomic(file, data, size));
    return test_server_post_file(server, role, path, file, text, TEXT_SIZE);
}

static void test_route_models_lists_shows_and_removes(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "two");
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, "/v1/models", NULL, text, sizeof text),
        200);
    assert_non_null(strstr(text, "{\"model\":\"two\",\"version\":1,\"aliases\":[],"));
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_POST, "/v1/models/two/aliases",
                         "{\"alias\":\"prod\",\"version\":1}", NULL, 0),
        200);
    static const char *const found[] = {
        "/v1/models/two", "/v1/models/two/1", "/v1/models/two/prod", "/v1/models/two/newest"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(
            test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, found[i], NULL, text, sizeof text),
            200);
        assert_non_null(strstr(text, "\"functions\":[{\"name\":\"main\""));
    }
    static const struct {
        const char *path;
        int status;
    } others[] = {{"/v1/models/three", 404}, {"/v1/models/two/2", 404}, {"/v1/models/two/dev", 404},
        {"/v1/models/.two", 400}, {"/v1/models/tw%20o", 400}, {"/v1/models/two/a%2Fb", 400},
        {"/v1/models/two?what=1", 400}, {"/v1/models/two@1", 400}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(
            test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, others[i].path, NULL, NULL, 0),
            others[i].status);
    static const char *const aliases[] = {"{}", "{\"alias\":\"7\",\"version\":1}",
        "{\"alias\":\"a\"}", "{\"alias\":\"a\",\"version\":0}", "{\"alias\":\"a b\",\"version\":1}",
        "{\"alias\":\"a\",\"version\":1,\"x\":1}", "[1]"};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_POST,
                             "/v1/models/two/aliases", aliases[i], NULL, 0),
            400);
    assert_int_equal(test_server_ask(&server, TEST_USER, HTTP_METHOD_DELETE, "/v1/models/two/1",
                         NULL, text, sizeof text),
        200);
    assert_string_equal(text, "{\"removed\":1}\n");
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_DELETE, "/v1/models/two", NULL, NULL, 0),
        404);
}

static void test_route_models_compiles_in_a_child(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    test_server_open(&server, NULL);
    assert_int_equal(post_text(&server, TEST_USER, "/v1/models/m?format=lva&alias=a&alias=b",
                         program, sizeof program - 1, text),
        200);
    assert_non_null(strstr(text, "\"version\":1,\"aliases\":[\"a\",\"b\"]"));
    assert_non_null(strstr(text, "\"seconds\":"));
    assert_int_equal(server.jobs.stored_by, 2); /* whoever runs jobs may make it ready */
    server.jobs.stored_by = 0;
    assert_int_equal(post_text(&server, TEST_USER, "/v1/models/m?format=lva&prepare=no", program,
                         sizeof program - 1, text),
        200);
    assert_int_equal(server.jobs.stored_by, 0);
    /* the same content is the same version */
    assert_int_equal(
        post_text(&server, TEST_USER, "/v1/models/m?format=lva", program, sizeof program - 1, text),
        200);
    assert_non_null(strstr(text, "\"version\":1,"));
    assert_no_uploads(&server);
}

static void test_route_models_refuses_what_is_no_model(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    static char text[TEXT_SIZE];
    static uint8_t noise[600000];
    uint64_t seed = 3;
    test_server_open(&server, NULL);
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)test_random(&seed);
    static const char *const paths[] = {"/v1/models/m", "/v1/models/m?format=onnx",
        "/v1/models/m?format=lva", "/v1/models/m?format=lvx", "/v1/models/m?format=relax",
        "/v1/models/m?format=cobol", "/v1/models/m?precision=fp3", "/v1/models/a%2Fb",
        "/v1/models/m?alias=7", "/v1/models/m?precision=int8", "/v1/models/m?prepare=maybe"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (size_t size = 0; size <= sizeof noise; size += sizeof noise / 2) {
            int status = post_text(&server, TEST_USER, paths[i], noise, size, text);
            if (status != 400) fail_msg("%s, %zu bytes: %d %s", paths[i], size, status, text);
            assert_null(strstr(text, server.folder));
        }
    assert_no_uploads(&server);
    assert_int_equal(
        test_server_ask(&server, TEST_USER, HTTP_METHOD_GET, "/v1/models", NULL, text, 10), 200);
    assert_string_equal(text, "");
}

static void test_route_models_exports_what_was_imported(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char file[192], out[192];
    uint8_t *one, *two;
    size_t one_size, two_size;
    test_server_open(&server, NULL);
    test_server_register(&server, TEST_USER, "two");
    test_server_make_executable(&server, file);
    (void)snprintf(out, sizeof out, "%s/out.lvx", server.folder);
    OWN(HttpClient, client) = test_server_client(&server, TEST_USER);
    HttpClientReply OWN_REPLY(reply) = {0};
    HttpClientCall call = {.path = "/v1/models/two/newest/file", .output = out};
    assert_ok(http_client_call(client, &call, &reply));
    assert_ok(file_read(file, 1 << 20, &one, &one_size));
    assert_ok(file_read(out, 1 << 20, &two, &two_size));
    assert_int_equal(one_size, two_size);
    assert_memory_equal(one, two, one_size);
    memory_unmap(one, one_size);
    memory_unmap(two, two_size);
    assert_no_uploads(&server);
}

int test_route_models(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_models_lists_shows_and_removes),
        cmocka_unit_test(test_route_models_compiles_in_a_child),
        cmocka_unit_test(test_route_models_refuses_what_is_no_model),
        cmocka_unit_test(test_route_models_exports_what_was_imported),
    };
    return cmocka_run_group_tests_name("route_models", tests, NULL, NULL);
}
