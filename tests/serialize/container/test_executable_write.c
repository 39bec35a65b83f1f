#include "serialize/container/executable_file.h"
#include "tests/serialize/executable_fixtures.h"

/* The identity depends on the content alone: written twice, by one thread or by several, with or
 * without a sink. */
static void test_executable_write_gives_one_identity(void **state) {
    (void)state;
    OWN(WorkerPool, pool) = NULL;
    OWN(Executable, executable) = example_executable();
    OWN(Executable, again) = example_executable();
    assert_ok(worker_pool_create("test", 3, &pool));
    assert_true(digest_equal(&executable->identity, &again->identity));
    for (int i = 0; i < 2; i++) {
        MemoryStore store = {0};
        ByteWriter OWN_BYTES(manifest) = {0};
        Digest identity = executable->identity; /* of example_executable */
        executable->identity = (Digest){0};
        assert_ok(
            executable_write(executable, i ? pool : NULL, memory_store_sink(&store), &manifest));
        assert_true(digest_equal(&executable->identity, &identity));
        assert_int_equal(store.count, 2); /* the large constant: 1.2 MB */
        memory_store_deinit(&store);
    }
}

/* One other bit in a constant is another executable. */
static void test_executable_write_identity_covers_constants(void **state) {
    (void)state;
    OWN(Executable, executable) = example_executable();
    Digest before = executable->identity;
    uint8_t *bytes = tensor_data(executable->constants[1].value.tensor);
    bytes[EXAMPLE_LARGE_COUNT * 4 - 1] ^= 1;
    assert_ok(executable_identify(executable, NULL));
    assert_false(digest_equal(&executable->identity, &before));
}

static void test_executable_write_file_fails_whole(void **state) {
    (void)state;
    OWN(Executable, executable) = example_executable();
    assert_fails(IO, executable_write_file(executable, NULL, "/nowhere/at/all.lvx"));
}

int test_executable_write(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_executable_write_gives_one_identity),
        cmocka_unit_test(test_executable_write_identity_covers_constants),
        cmocka_unit_test(test_executable_write_file_fails_whole),
    };
    return cmocka_run_group_tests_name("executable_write", tests, NULL, NULL);
}
