#include "tests/vm/vm_fixture.h"
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

int test_packed_builtins(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_builtins_take_any_value_without_a_crash),
    };
    return cmocka_run_group_tests_name("packed_builtins", tests, NULL, NULL);
}
