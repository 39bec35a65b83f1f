#include "tests/vm/vm_fixture.h"
#include "vm/objects/packed_signature.h"

static void test_packed_signature_names_the_argument(void **state) {
    (void)state;
    Value values[] = {value_int(1), value_float(2), value_bool(true), value_nil()};
    assert_ok(packed_signature_check("ifi", values, 3));
    assert_ok(packed_signature_check("i[fi", values, 1));
    assert_ok(packed_signature_check("f*", values, 3));
    assert_ok(packed_signature_check("[f*", values, 0));
    assert_ok(packed_signature_check("aS", values + 2, 2));
    assert_fails_saying(
        INVALID, "argument 1 is a float, not an int", packed_signature_check("ii", values, 2));
    assert_fails_saying(
        INVALID, "argument 3 is a nil, not a number", packed_signature_check("[f*", values, 4));
    assert_fails_saying(
        INVALID, "argument 1 is missing: a shape", packed_signature_check("ih", values, 1));
    assert_fails_saying(
        INVALID, "2 arguments; there may be 1", packed_signature_check("i", values, 2));
}

int test_packed_signature(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packed_signature_names_the_argument),
    };
    return cmocka_run_group_tests_name("packed_signature", tests, NULL, NULL);
}
