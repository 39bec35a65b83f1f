#include "kernels/tensor/tensor.h"
#include "serialize/relax/relax_translate.h"
#include "tests/serialize/relax_example.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

static void test_relax_translate_constants_of_every_kind(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_23);
    assert_ok(relax_translate(&example.file, NULL, &executable));
    const Constant *constants = executable->constants;
    const Tensor *tensor = constants[0].value.tensor;
    assert_int_equal(tensor->dtype, DTYPE_FLOAT32);
    assert_int_equal(tensor->shape.dims[1], 3);
    assert_memory_equal(tensor_data(tensor), example.data, sizeof example.data);
    assert_int_equal(constants[0].slot, 1);
    assert_int_equal(constants[1].value.shape->dims[0], 2);
    assert_string_equal(constants[2].value.string->text, "hello");
    assert_int_equal(constants[3].value.integer, INT64_MIN);
    assert_true(constants[4].value.real == 0.125);
    assert_int_equal(constants[5].value.dtype, DTYPE_FLOAT16);
}

static void test_relax_translate_constants_reads_booleans_of_older_versions(void **state) {
    (void)state;
    OWN(Executable, executable) = NULL;
    RelaxExample example;
    relax_example_init(&example, RELAX_TVM_0_16);
    example.constants[5].dtype = (RelaxDType){1, 1, 1};
    assert_ok(relax_translate(&example.file, NULL, &executable));
    assert_int_equal(executable->constants[5].value.dtype, DTYPE_BOOL);
}

static void refused(RelaxExample *example, const char *text) {
    Executable *executable;
    assert_fails_saying(UNSUPPORTED, text, relax_translate(&example->file, NULL, &executable));
    relax_example_init(example, RELAX_TVM_0_23);
}

static void test_relax_translate_constants_refuses_what_has_no_place(void **state) {
    (void)state;
    RelaxExample example;
    const int64_t dims[256] = {-1};
    relax_example_init(&example, RELAX_TVM_0_23);
    example.constants[5].dtype.lanes = 4;
    refused(&example, "constant 5: element type {code 2, 16 bits, 4 lanes}");
    example.constants[0].tensor.dtype = (RelaxDType){0, 4, 1};
    refused(&example, "constant 0: element type int4 of less than a byte");
    example.constants[1].shape.rank = 256;
    example.constants[1].shape.dims = (const uint8_t *)dims;
    refused(&example, "constant 1: a shape of 256 dimensions; there may be 255");
    Executable *executable;
    example.constants[2].string.size = 2;
    example.constants[2].string.data = "\xff\xff";
    assert_fails_saying(INVALID, "constant 2", relax_translate(&example.file, NULL, &executable));
}

int test_relax_translate_constants(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_translate_constants_of_every_kind),
        cmocka_unit_test(test_relax_translate_constants_reads_booleans_of_older_versions),
        cmocka_unit_test(test_relax_translate_constants_refuses_what_has_no_place),
    };
    return cmocka_run_group_tests_name("relax_translate_constants", tests, NULL, NULL);
}
