#include "serialize/checkpoint/checkpoint_extents.h"

#include "base/allocator.h"
#include "tests/support/test_support.h"

static Tensor *view(Storage *storage, uint64_t offset, int64_t count, bool written) {
    Shape shape = shape_make(1, &count);
    Tensor *tensor;
    assert_ok(tensor_create(storage, offset, DTYPE_FLOAT32, &shape, &tensor));
    if (!written) tensor_set_unwritten(tensor);
    return tensor;
}

/* Views of one storage: equal, nested, touching and apart ones; unwritten and empty ones do not
 * count. */
static void test_checkpoint_extents_merge_what_meets(void **state) {
    (void)state;
    static const int64_t count = 64;
    const Shape shape = shape_make(1, &count);
    OWN(ObjectTable, table) = NULL;
    Tensor *whole;
    LiveExtent *extents;
    uint32_t extent_count;
    assert_ok(object_table_create(&table));
    assert_ok(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &whole));
    Tensor *views[] = {view(whole->storage, 128, 8, true), view(whole->storage, 0, 4, true),
        view(whole->storage, 4, 2, true), view(whole->storage, 16, 4, true),
        view(whole->storage, 200, 4, false), view(whole->storage, 240, 0, true)};
    for (size_t i = 0; i < 6; i++)
        assert_ok(object_table_add(table, value_object(OBJECT_TENSOR, views[i])));
    assert_ok(checkpoint_extents_collect(table, &extents, &extent_count));
    assert_int_equal(extent_count, 2);
    assert_int_equal(extents[0].offset, 0);
    assert_int_equal(extents[0].size, 32);
    assert_int_equal(extents[1].offset, 128);
    assert_int_equal(extents[1].size, 32);
    assert_int_equal(extents[0].dtype, DTYPE_FLOAT32);
    memory_free(extents);
    for (size_t i = 0; i < 6; i++) tensor_release(views[i]);
    tensor_release(whole);
}

int test_checkpoint_extents(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_checkpoint_extents_merge_what_meets)};
    return cmocka_run_group_tests_name("checkpoint_extents", tests, NULL, NULL);
}
