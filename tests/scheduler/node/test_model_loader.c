#include "scheduler/node/model_loader.h"

#include <stdio.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/scheduler/http_fixtures.h"

static void test_model_loader_brings_executables_in_and_out(void **state) {
    (void)state;
    static const char *const aliases[] = {"prod"};
    TestServer OWN_SERVER(server);
    char file[192], out[192];
    uint64_t bytes;
    ModelVersion OWN_VERSION(imported) = {0};
    ModelVersion OWN_VERSION(again) = {0};
    OWN(Container, container) = NULL;
    OWN(Executable, executable) = NULL;
    OWN(Executable, loaded) = NULL;
    test_service_open(&server);
    test_server_make_executable(&server, file);
    assert_ok(container_open_path(CONTAINER_EXECUTABLE, file, &container));
    assert_ok(model_loader_import(
        server.store, server.alice, NULL, "m", container, "m", aliases, 1, &imported, &executable));
    assert_int_equal(imported.version, 1);
    assert_ok(model_loader_load(server.store, server.alice, NULL, &imported.executable, &loaded));
    assert_true(digest_equal(&loaded->identity, &imported.executable));
    assert_ok(
        model_loader_register(server.store, server.alice, NULL, "m", loaded, NULL, 0, &again));
    assert_int_equal(again.version, 1); /* the same content */
    (void)snprintf(out, sizeof out, "%s/out.lvx", server.folder);
    assert_ok(
        model_loader_export(server.store, server.alice, NULL, &imported.executable, out, &bytes));
    assert_true(bytes > 100);
    OWN(Executable, other) = NULL;
    assert_fails(
        NOT_FOUND, model_loader_load(server.store, server.bob, NULL, &imported.executable, &other));
}

/* A flipped bit anywhere in the file is found, and nothing of it is stored. */
static void test_model_loader_refuses_damaged_files(void **state) {
    (void)state;
    TestServer OWN_SERVER(server);
    char file[192];
    uint8_t *data;
    size_t size;
    test_service_open(&server);
    test_server_make_executable(&server, file);
    assert_ok(file_read(file, 1 << 20, &data, &size));
    for (size_t at = 0; at < size; at += 7) {
        ModelVersion OWN_VERSION(version) = {0};
        OWN(Container, container) = NULL;
        OWN(Executable, executable) = NULL;
        OWN(ModelList, list) = NULL;
        data[at] ^= 0x10;
        Error *error = container_open_memory(CONTAINER_EXECUTABLE, data, size, &container);
        if (!error)
            error = model_loader_import(server.store, server.alice, NULL, "m", container, "m", NULL,
                0, &version, &executable);
        if (error) {
            assert_ok(models_list(server.store, server.alice, &list));
            assert_int_equal(list->count, 0);
        } else /* a byte that means nothing */
            assert_ok(models_remove(server.store, server.alice, "m", NULL));
        error_free(error);
        data[at] ^= 0x10;
    }
    memory_unmap(data, size);
}

int test_model_loader(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_loader_brings_executables_in_and_out),
        cmocka_unit_test(test_model_loader_refuses_damaged_files),
    };
    return cmocka_run_group_tests_name("model_loader", tests, NULL, NULL);
}
