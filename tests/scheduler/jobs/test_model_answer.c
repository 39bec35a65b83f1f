#include "scheduler/jobs/model_answer.h"

#include <stdio.h>

#include "base/allocator.h"
#include "base/file.h"
#include "scheduler/node/model_loader.h"
#include "tests/scheduler/http_fixtures.h"
#include "tests/scheduler/stream_fixtures.h"

static void import(TestServer *server, ModelVersion *out) {
    char file[192];
    OWN(Container, container) = NULL;
    OWN(Executable, executable) = NULL;
    test_server_make_executable(server, file);
    assert_ok(container_open_path(CONTAINER_EXECUTABLE, file, &container));
    assert_ok(model_loader_import(
        server->store, server->alice, NULL, "m", container, "m", NULL, 0, out, &executable));
}

/* The answer has the executable that the exported file has. */
static void test_model_answer_is_the_exported_file(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    ModelVersion OWN_VERSION(version) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    HttpStream stream;
    char path[192];
    uint64_t bytes;
    uint8_t *exported;
    size_t size;
    test_service_open(&server);
    import(&server, &version);
    assert_ok(model_answer_open(server.store, server.alice, &version.executable, &stream));
    assert_true(stream.held > 0);
    assert_ok(stream_pull(&stream, NULL, &answer));
    (void)snprintf(path, sizeof path, "%s/out.lvx", server.folder);
    assert_ok(
        model_loader_export(server.store, server.alice, NULL, &version.executable, path, &bytes));
    assert_int_equal(answer.size, bytes);
    assert_ok(file_read(path, SIZE_MAX, &exported, &size));
    assert_int_equal(size, answer.size);
    assert_memory_equal(answer.data, exported, size);
    memory_unmap(exported, size);
}

static void test_model_answer_is_for_its_tenant_alone(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    ModelVersion OWN_VERSION(version) = {0};
    HttpStream stream;
    test_service_open(&server);
    import(&server, &version);
    assert_fails(
        NOT_FOUND, model_answer_open(server.store, server.bob, &version.executable, &stream));
}

int test_model_answer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_answer_is_the_exported_file),
        cmocka_unit_test(test_model_answer_is_for_its_tenant_alone),
    };
    return cmocka_run_group_tests_name("model_answer", tests, NULL, NULL);
}
