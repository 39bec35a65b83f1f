#include "tests/vm/vm_fixture.h"
#include "vm/assembly/assembly.h"
#include "vm/objects/string_object.h"
#include "vm/objects/shape_object.h"

static void test_constants_of_every_kind(void **state) {
    (void)state;
    Executable *executable = vm_parse(
        "constant @0 = int -5\nconstant @1 = float 0x1.8p1\nconstant @2 = bool true\n"
        "constant @3 = dtype bfloat16\nconstant @4 = string \"a\\\"b\\x7e\"\nconstant @5 = shape "
        "[2, 3]\n"
        "constant @6 = float bits 0x7ff8000000000001\nconstant @7 slot 0 = bool[2] {true, false}\n"
        "constant @8 = uint64[1] {18446744073709551615}\nconstant @9 = float16[2] x\"003c00c0\"\n"
        "constant @10 = float32[2, 1] {\n  1.5,\n  nan\n}\n");
    const Constant *constants = executable->constants;
    assert_int_equal(constants[0].value.integer, -5);
    assert_true(constants[1].value.real == 3.0);
    assert_int_equal(constants[3].value.dtype, DTYPE_BFLOAT16);
    assert_string_equal(constants[4].value.string->text, "a\"b~");
    assert_int_equal(constants[5].value.shape->dims[1], 3);
    uint64_t bits;
    memcpy(&bits, &constants[6].value.real, sizeof bits);
    assert_true(bits == UINT64_C(0x7ff8000000000001));
    assert_int_equal(constants[7].slot, 0);
    assert_true(((uint8_t *)tensor_data(constants[7].value.tensor))[0]);
    assert_true(((uint64_t *)tensor_data(constants[8].value.tensor))[0] == UINT64_MAX);
    assert_int_equal(((uint16_t *)tensor_data(constants[9].value.tensor))[1], 0xc000);
    assert_int_equal(constants[10].slot, 1);
    executable_release(executable);
}

static void assert_rejected(const char *constant, const char *saying) {
    TextBuilder OWN_TEXT(text) = {0};
    text_appendf(&text, "constant @a = %s\n", constant);
    Executable *executable;
    assert_fails_saying(
        INVALID, saying, assembly_parse(text_builder_get(&text), text.size, &executable));
}

/* Sizes are checked against the text before anything is allocated. */
static void test_constants_with_wrong_data_are_refused(void **state) {
    (void)state;
    assert_rejected("float32[2] {1}", "',' is missing");
    assert_rejected("float32[1] {1, 2}", "'}' is missing");
    assert_rejected("int8[1] {128}", "an element of the tensor's type");
    assert_rejected("int8[2] x\"00\"", "as many bytes as elements need");
    assert_rejected("int8[1] x\"zz\"", "hexadecimal digits");
    assert_rejected("float32[4611686018427387904, 4] {1}", "2^62");
    assert_rejected("float32[1000000000000] {1}", "the data of so large a tensor is missing");
    assert_rejected("int4[2] {1, 2}", "bytes");
    assert_rejected("int8[1, 1, 1, 1, 1, 1, 1, 1, 1] {1}", "too many dimensions");
    assert_rejected("shape [-1, x]", "line 1");
    assert_rejected("nothing", "an element type is missing");
    assert_rejected("bool maybe", "true or false");
    assert_rejected("string \"\\q\"", "escapes are");
}

int test_assembly_constant(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_of_every_kind),
        cmocka_unit_test(test_constants_with_wrong_data_are_refused),
    };
    return cmocka_run_group_tests_name("assembly_constant", tests, NULL, NULL);
}
