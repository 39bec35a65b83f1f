#include "scheduler/policy/id_map.h"

#include "tests/support/test_support.h"

/* Against an array: whatever is added is found until it is removed, in any order. */
static void test_id_map_finds_what_is_inside_and_nothing_else(void **state) {
    (void)state;
    enum { COUNT = 700, STEPS = 30000 };
    static IdKey keys[COUNT];
    static bool inside[COUNT];
    IdMap map = {0};
    uint64_t random = 3;
    size_t count = 0;
    assert_null(id_map_find(&map, 0, 0));
    for (uint64_t i = 0; i < COUNT; i++) keys[i] = (IdKey){i % 3, i / 3 * 0x100000000u};
    for (int step = 0; step < STEPS; step++) {
        size_t i = test_random(&random) % COUNT;
        if (inside[i])
            id_map_remove(&map, &keys[i]);
        else
            assert_ok(id_map_add(&map, &keys[i]));
        inside[i] = !inside[i];
        count += inside[i] ? 1 : SIZE_MAX;
        assert_int_equal(map.count, count);
        size_t k = test_random(&random) % COUNT;
        assert_ptr_equal(id_map_find(&map, keys[k].high, keys[k].low), inside[k] ? &keys[k] : NULL);
    }
    assert_null(id_map_find(&map, 77, 0));
    id_map_deinit(&map);
    assert_null(id_map_find(&map, 0, 0));
}

int test_id_map(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_map_finds_what_is_inside_and_nothing_else),
    };
    return cmocka_run_group_tests_name("id_map", tests, NULL, NULL);
}
