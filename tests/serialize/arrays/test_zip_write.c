#include "serialize/arrays/zip_write.h"

#include <stdio.h>

#include "serialize/arrays/zip_directory.h"
#include "tests/support/test_support.h"

/* Members of no bytes, as many as need zip64: each is found under its name. */
static void test_zip_write_many_members(void **state) {
    (void)state;
    enum { MEMBERS = 70000 };
    ZipEntries entries = {.zip64_from = UINT32_MAX, .described = true};
    ZipDirectory directory = {0};
    ByteWriter OWN_BYTES(file) = {0};
    ZipEntry *entry;
    char name[16];
    for (int i = 0; i < MEMBERS; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        assert_ok(zip_entries_add(&entries, name, file.size, &entry));
        assert_ok(zip_write_local(&entries, entry, &file));
        assert_ok(zip_write_descriptor(&entries, entry, &file));
    }
    assert_fails(INVALID, zip_entries_add(&entries, name, file.size, &entry));
    assert_int_equal(entries.count, MEMBERS);
    assert_ok(zip_write_directory(&entries, file.size, &file));
    assert_ok(zip_directory_read(file.data, file.size, &directory));
    assert_int_equal(directory.count, MEMBERS);
    assert_memory_equal(directory.members[69999].name, "a69999.npy", 10);
    zip_directory_deinit(&directory);
    zip_entries_deinit(&entries);
}

int test_zip_write(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zip_write_many_members),
    };
    return cmocka_run_group_tests_name("zip_write", tests, NULL, NULL);
}
