#include "vm/code/device_strings.h"

#include "tests/vm/vm_fixture.h"

/* As the verifier has noted it. */
static bool on_device(const char *text) {
    Executable *executable = vm_parse(text);
    const bool found = device_strings_find(executable);
    assert_int_equal(executable->device_strings, found);
    executable_release(executable);
    return found;
}

#define CASTS "primitive %text = Cast {to=string}\nprimitive %number = Cast {to=float32}\n"

static void test_device_strings_are_constants_and_results_there(void **state) {
    (void)state;
    assert_true(on_device("constant @s slot 1 = string[1] {\"1\"}\nfunction f() {\n Ret 1\n}\n"));
    assert_true(on_device(CASTS "function g() {\n Ret 1\n}\n"
                                "function f(x: float32[2]) -> (y: any) exported {\n"
                                " InvokePacked %text r0 -> r0\n Ret r0\n}\n"));
}

static void test_device_strings_are_not_those_of_the_host(void **state) {
    (void)state;
    assert_false(on_device("constant @n slot 1 = float32[1] {1}\nconstant @w = string \"1\"\n"
                           "constant @s slot 0 = string[1] {\"1\"}\nprimitive %relu = Relu\n" CASTS
                           "function f(x: string[2]) -> (y: any) exported {\n"
                           " InvokePacked.host %number @s -> r1\n DeviceCopy r1, 1 -> r1\n"
                           " InvokePacked %relu r1 -> r1\n InvokePacked %number r1 -> r1\n"
                           " DeviceCopy r1, 0 -> r1\n InvokePacked.host %text r1 -> r1\n"
                           " DeviceCopy r1, 1 -> r2\n Ret r2\n}\n"));
}

int test_device_strings(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_strings_are_constants_and_results_there),
        cmocka_unit_test(test_device_strings_are_not_those_of_the_host),
    };
    return cmocka_run_group_tests_name("device_strings", tests, NULL, NULL);
}
