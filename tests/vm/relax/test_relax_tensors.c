#include "tests/vm/relax/relax_case_runner.h"
#include "kernels/tensor/tensor.h"

static void test_relax_tensors_answer_as_tvm(void **state) {
    (void)state;
    relax_cases_run("tensors");
}

static void test_relax_tensors_refuse_what_they_cannot_read(void **state) {
    (void)state;
    const int64_t none = 0, two = 2;
    relax_refuses("the condition is a nil, not a bool", "vm.builtin.read_if_cond",
        RELAX_ARGUMENTS(value_nil()));
    relax_refuses("argument 0 is a nil, not a tensor", "vm.builtin.ensure_zero_offset",
        RELAX_ARGUMENTS(value_nil()));
    relax_refuses("the condition has no element", "vm.builtin.read_if_cond",
        RELAX_ARGUMENTS(relax_int32s(0, NULL)));
    relax_refuses("the condition is float32", "vm.builtin.read_if_cond",
        RELAX_ARGUMENTS(relax_floats(1, &two, (float[]){1, 0})));
    relax_refuses("device type 99; the types are 1 to 17", "vm.builtin.to_device",
        RELAX_ARGUMENTS(relax_floats(1, &none, NULL), value_int(99), value_int(0)));
    relax_refuses("device 3; an execution has one", "vm.builtin.to_device",
        RELAX_ARGUMENTS(relax_floats(1, &none, NULL), value_int(2), value_int(3)));
}

/* A tensor that no function has written has no value to give. */
static void test_relax_tensors_refuse_unwritten_ones(void **state) {
    (void)state;
    Value tensor = relax_int32s(1, (int32_t[]){1});
    tensor_set_unwritten(tensor.tensor);
    const int64_t one = 1;
    relax_refuses("the condition is not written", "vm.builtin.read_if_cond",
        RELAX_ARGUMENTS(value_copy(tensor)));
    relax_refuses("the tensor is not written", "vm.builtin.reshape",
        RELAX_ARGUMENTS(value_copy(tensor), relax_shape(1, &one)));
    relax_refuses("the tensor is not written", "vm.builtin.to_device",
        RELAX_ARGUMENTS(value_copy(tensor), value_int(1), value_int(0)));
    relax_refuses(
        "the tensor is not written", "vm.builtin.tensor_to_shape", RELAX_ARGUMENTS(tensor));
}

int test_relax_tensors(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_tensors_answer_as_tvm),
        cmocka_unit_test(test_relax_tensors_refuse_what_they_cannot_read),
        cmocka_unit_test(test_relax_tensors_refuse_unwritten_ones),
    };
    return cmocka_run_group_tests_name("relax_tensors", tests, NULL, NULL);
}
