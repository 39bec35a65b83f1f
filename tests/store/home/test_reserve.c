#include "store/home/reserve.h"

#include <sys/stat.h>

#include "tests/store/small_disk.h"
#include "tests/store/store_fixtures.h"

enum { DISK_MIB = 32, BLOCK_SIZE = 512 };

/* -1: there is no such file. */
static int64_t reserve_size(const TestHome *home) {
    struct stat status;
    if (stat(fixture_path(home, "reserve"), &status) != 0) return -1;
    assert_int_equal(status.st_size, 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    return (int64_t)status.st_blocks * BLOCK_SIZE;
}

static void test_reserve_is_given_up_on_a_full_disk(void **state) {
    (void)state;
    TestHome OWN_SMALL_DISK(home) = small_disk_make(DISK_MIB);
    reserve_open(home.path);
    assert_true(reserve_size(&home) >= RESERVE_SIZE);
    small_disk_fill(&home);
    reserve_close(home.path);
    assert_true(reserve_size(&home) >= RESERVE_SIZE);
    reserve_open(home.path);
    assert_int_equal(reserve_size(&home), -1);
    small_disk_fill(&home);
    reserve_close(home.path); /* there is nothing to take */
    assert_int_equal(reserve_size(&home), -1);
    small_disk_empty(&home);
    reserve_close(home.path);
    assert_true(reserve_size(&home) >= RESERVE_SIZE);
}

/* A store that is closed has no logs: its next owner writes them into what was kept. */
static void test_reserve_lets_a_store_be_opened_on_a_full_disk(void **state) {
    (void)state;
    TestHome OWN_SMALL_DISK(home) = small_disk_make(DISK_MIB);
    OWN(Store, store) = fixture_open(&home);
    GcResult result;
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 6, CHUNK_SIZE, NULL, NULL));
    store_close(TAKE(store));
    small_disk_fill(&home);
    for (int i = 0; i < 3; i++) { /* each gives it back */
        store = fixture_open(&home);
        expect_ok(store_take_room(store));
        if (i == 2) small_disk_fill(&home); /* what the logs left of it */
        store_close(TAKE(store));
        assert_true(reserve_size(&home) >= (i == 2 ? RESERVE_SIZE_MIN : RESERVE_SIZE));
    }
    store = fixture_open(&home);
    expect_ok(models_remove(store, TENANT_DEFAULT, "a", NULL));
    expect_ok(gc_run(store, &result));
    assert_int_equal(result.chunks, 6);
    fixture_expect_clean(store);
}

TEST_GROUP(reserve, cmocka_unit_test(test_reserve_is_given_up_on_a_full_disk),
    cmocka_unit_test(test_reserve_lets_a_store_be_opened_on_a_full_disk))
