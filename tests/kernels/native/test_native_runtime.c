#include "kernels/native/native_runtime.h"

#include "kernels/native/native_loader.h"
#include "tests/kernels/native/native_fixture.h"

static void test_global_functions_are_found_and_called(void **state) {
    (void)state;
    AbiAny made;
    AbiObject *function;
    OWN(NativeLoaded, loaded) = native_open();
    (void)loaded; /* its runtime is used */
    const AbiAny items[] = {{.type = ABI_INT, .integer = 4}};
    assert_ok(native_runtime_call_global("ffi.Array", items, 1, &made));
    assert_int_equal(made.type, ABI_ARRAY);
    assert_int_equal(((const AbiArrayObject *)made.object)->items[0].integer, 4);
    native_runtime_release_any(&made);
    assert_int_equal(made.type, ABI_NONE);
    assert_fails_saying(UNSUPPORTED, "needs the function no.such, which no loaded library",
        native_runtime_find("no.such", &function));
}

static void test_what_is_raised_becomes_an_error(void **state) {
    (void)state;
    OWN(NativeLoaded, loaded) = native_open();
    (void)loaded; /* its runtime is used */
    assert_int_equal(native_runtime_raise("too small"), -1);
    assert_fails_saying(FAILED, "ValueError: too small", native_runtime_raised(-1));
    assert_fails_saying(FAILED, "error number -3", native_runtime_raised(-3));
}

static void test_types_have_the_names_that_the_runtime_gives_them(void **state) {
    (void)state;
    OWN(NativeLoaded, loaded) = native_open();
    (void)loaded; /* its runtime is used */
    TextBuilder OWN_TEXT(text) = {0};
    native_runtime_append_type(130, &text);
    native_runtime_append_type(131, &text);
    assert_string_equal(text_builder_get(&text), "sample.Oddtype 131");
}

int test_native_runtime(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_global_functions_are_found_and_called),
        cmocka_unit_test(test_what_is_raised_becomes_an_error),
        cmocka_unit_test(test_types_have_the_names_that_the_runtime_gives_them),
    };
    return cmocka_run_group_tests_name("native_runtime", tests, NULL, NULL);
}
