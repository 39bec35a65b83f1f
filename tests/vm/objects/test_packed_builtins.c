#include "tests/vm/vm_fixture.h"
#include "vm/objects/list.h"
#include "vm/objects/packed_internal.h"

/* Every builtin refuses every kind of argument that it cannot use, and never crashes on one. */
static void test_packed_builtins_take_any_value_without_a_crash(void **state) {
    (void)state;
    PackedRegistry *registry;
    assert_ok(packed_registry_create(&registry));
    Value values[] = {value_nil(), value_bool(true), value_int(-1), value_int(INT64_MAX),
        value_float(1e300), value_dtype(DTYPE_INT8),
        value_object(OBJECT_TENSOR, vm_floats(1, (float[]){1})),
        value_object(OBJECT_STORAGE, vm_storage(8))};
    enum { COUNT = sizeof values / sizeof values[0] };
    PackedCall call = {.registry = registry, .tail_function = UINT32_MAX};
#define PACKED_FUNCTION(function, name, arity, effect)                                             \
    for (uint32_t i = 0; i < COUNT * COUNT * COUNT; i++) {                                         \
        Value arguments[3] = {                                                                     \
            values[i % COUNT], values[i / COUNT % COUNT], values[i / COUNT / COUNT]};              \
        Value result;                                                                              \
        Error *error = packed_##function(&call, arguments, arity, NULL, &result);                  \
        if (!error) value_release(&result);                                                        \
        error_free(error);                                                                         \
    }
#include "vm/objects/packed_functions.def"
#undef PACKED_FUNCTION
    for (uint32_t i = 0; i < COUNT; i++) value_release(&values[i]);
    packed_registry_release(registry);
}

typedef struct Change {
    PackedFunction *function;
    uint32_t count, in_place_items;
    Value arguments[3];
} Change;

/* Runs a change of the list (1, 2) and checks whether the result is the list itself. */
static void check_change(const Change *change, bool last_use, bool held, bool in_place) {
    PackedCall call = {.tail_function = UINT32_MAX, .first_is_last_use = last_use};
    Value arguments[3] = {change->arguments[0], change->arguments[1], change->arguments[2]};
    Value result, other = value_nil();
    List *list;
    assert_ok(list_create(NULL, 2, &list));
    assert_ok(list_append(list, value_int(1)));
    assert_ok(list_append(list, value_int(2)));
    arguments[0] = value_object(OBJECT_LIST, list);
    if (held) other = value_copy(arguments[0]);
    assert_ok(change->function(&call, arguments, change->count, NULL, &result));
    assert_int_equal(result.list == list, in_place);
    assert_int_equal(result.list->count, change->in_place_items);
    if (!in_place) assert_int_equal(list->count, 2);
    value_release(&other);
    value_release(&arguments[0]);
    value_release(&result);
}

static void test_packed_builtins_change_a_list_in_place_where_nobody_sees_it(void **state) {
    (void)state;
    const Change changes[] = {
        {packed_list_set, 3, 2, {{0}, value_int(1), value_int(7)}},
        {packed_list_insert, 3, 3, {{0}, value_int(0), value_int(7)}},
        {packed_list_erase, 2, 1, {{0}, value_int(0)}},
        {packed_sequence_insert, 3, 3, {{0}, value_int(7), value_int(-1)}},
        {packed_sequence_erase, 2, 1, {{0}, value_int(-1)}},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        check_change(&changes[i], true, false, true);
        check_change(&changes[i], true, true, false);
        check_change(&changes[i], false, false, false);
    }
}

/* A list that is to hold itself holds what it was before. */
static void test_packed_builtins_do_not_put_a_list_into_itself(void **state) {
    (void)state;
    PackedCall call = {.tail_function = UINT32_MAX, .first_is_last_use = true};
    List *list;
    Value result;
    assert_ok(list_create(NULL, 1, &list));
    assert_ok(list_append(list, value_int(1)));
    Value arguments[3] = {
        value_object(OBJECT_LIST, list), value_int(0), value_object(OBJECT_LIST, list)};
    assert_ok(packed_list_set(&call, arguments, 3, NULL, &result));
    assert_ptr_not_equal(result.list, list);
    assert_ptr_equal(result.list->items[0].list, list);
    value_release(&result);
    value_release(&arguments[0]);
}

int test_packed_builtins(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_builtins_take_any_value_without_a_crash),
        cmocka_unit_test(test_packed_builtins_change_a_list_in_place_where_nobody_sees_it),
        cmocka_unit_test(test_packed_builtins_do_not_put_a_list_into_itself),
    };
    return cmocka_run_group_tests_name("packed_builtins", tests, NULL, NULL);
}
