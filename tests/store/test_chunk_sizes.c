#include "store/chunk_sizes.h"

#include "tests/store/store_fixtures.h"

enum { PLACES = 1 << 16 };

static void test_chunk_sizes_keeps_the_last_ones(void **state) {
    (void)state;
    OWN(ChunkSizes, sizes) = NULL;
    ChunkSize size;
    expect_ok(chunk_sizes_create(&sizes));
    assert_false(chunk_sizes_find(sizes, 0, &size));
    assert_false(chunk_sizes_find(sizes, 1, &size));
    for (uint32_t id = 1; id <= PLACES + 10; id++)
        chunk_sizes_note(sizes, id, (ChunkSize){id, 2 * id});
    for (uint32_t id = 1; id <= PLACES + 10; id++) {
        bool found = chunk_sizes_find(sizes, id, &size);
        assert_int_equal(found, id > 10);
        if (found) assert_true(size.raw == id && size.stored == 2 * id);
    }
    chunk_sizes_forget(sizes);
    assert_false(chunk_sizes_find(sizes, PLACES, &size));
}

TEST_GROUP(chunk_sizes, cmocka_unit_test(test_chunk_sizes_keeps_the_last_ones))
