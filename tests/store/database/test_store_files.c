#include "store/database/store_files.h"

#include <sys/stat.h>

#include "tests/store/store_fixtures.h"

static void test_store_files_have_the_sizes_of_the_files(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    StoreFile files[STORE_FILE_COUNT];
    uint64_t total = 0;
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 10, 900, NULL, NULL));
    expect_ok(store_files_measure(store, files));
    assert_string_equal(files[0].name, "catalog.db");
    assert_string_equal(files[3].name, "chunks.db-wal");
    for (int i = 0; i < STORE_FILE_COUNT; i++) {
        struct stat status;
        assert_int_equal(stat(fixture_path(&home, files[i].name), &status), 0);
        assert_int_equal(files[i].bytes, status.st_size);
        total += files[i].bytes;
    }
    assert_true(total > 10 * 900);
}

TEST_GROUP(store_files, cmocka_unit_test(test_store_files_have_the_sizes_of_the_files))
