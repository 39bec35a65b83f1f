#include "scheduler/control/parts/control_outputs.h"

#include "base/allocator.h"
#include "tests/support/test_support.h"

static void add(ControlOutputs *outputs, int64_t sequence, size_t size) {
    ArrayList arrays = {0};
    void *items;
    assert_ok(memory_alloc(1, sizeof(NamedArray), &items));
    arrays.items = items;
    arrays.items[0].size = size;
    arrays.count = 1;
    assert_ok(control_outputs_add(outputs, sequence, &arrays, sequence + 1));
    assert_null(arrays.items); /* they are the list's */
}

/* A list is moved behind another in its order, and both counts go with it. */
static void test_control_outputs_are_moved_as_a_whole(void **state) {
    (void)state;
    ControlOutputs stored = {0}, newer = {0}, none = {0};
    add(&stored, 0, 10);
    add(&newer, 1, 20);
    add(&newer, 2, 30);
    control_outputs_append(&stored, &newer);
    control_outputs_append(&stored, &none);
    assert_null(newer.first);
    assert_int_equal(newer.count, 0);
    assert_int_equal(stored.count, 3);
    assert_int_equal(stored.bytes, 60);
    int64_t sequence = 0;
    for (const ControlOutput *output = stored.first; output; output = output->next)
        assert_int_equal(output->sequence, sequence++);
    assert_int_equal(sequence, 3);
    assert_int_equal(stored.last->items_done, 3);
    control_outputs_deinit(&stored);
    assert_null(stored.first);
    control_outputs_append(&newer, &stored);
    assert_null(newer.first);
}

int test_control_outputs(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_outputs_are_moved_as_a_whole),
    };
    return cmocka_run_group_tests_name("control_outputs", tests, NULL, NULL);
}
