#include "compiler/lower/slot_check.h"

#include "compiler/ir/ir_walk.h"
#include "tests/compiler/compiler_fixtures.h"
#include "tests/compiler/onnx_run.h"
#include "tests/compiler/random_outputs.h"
#include "tests/support/test_random.h"

#ifdef TEST_WITH_ADDRESS_SANITIZER
enum { SEEDS = 40 };
#else
enum { SEEDS = 200 };
#endif

static Executable *compile_seed(uint64_t seed, bool plainly) {
    OWN(IrModule, module) = NULL;
    assert_ok(onnx_model_import(random_outputs_make(seed), &module));
    return plainly ? module_compile_plainly(module) : module_compile(module);
}

static void run_on(Executable *executable, const char *device, const Value *x, uint64_t seed,
    const Value *expected, Value *out) {
    Error *error = executable_run(executable, device, x, 1, out);
    if (error)
        fail_msg("seed %llu on %s: %s", (unsigned long long)seed, device, error_message(error));
    if (expected) values_compare(expected, out, device, seed);
}

/* Whatever an operator's small outputs decide: the slots are right, which assign_slots and the
 * verifier refuse to be silent about, and the device computes what the cpu does. */
static void test_slot_check_holds_for_random_models_of_several_outputs(void **state) {
    (void)state;
    const TestSeeds seeds = test_seeds(SEEDS - 1);
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        uint64_t random = seed * 104729;
        Value x = value_random(&random, 2, (int64_t[]){6, 20}), on_host, on_device;
        for (int plainly = 0; plainly < 2; plainly++) {
            OWN(Executable, executable) = compile_seed(seed, plainly);
            run_on(executable, "cpu", &x, seed, NULL, &on_host);
            run_on(executable, "sim:0", &x, seed, &on_host, &on_device);
            value_release(&on_host);
            value_release(&on_device);
        }
        value_release(&x);
    }
}

static const char text[] = "function @main(%0 \"x\": float32[5, 20]) {\n"
                           "  %1, %2 = Split(%0, int64[2]{4, 1}) {axis=0}\n"
                           "  %3 = ReduceMax(%2) {keepdims=0}\n"
                           "  %4 = Cast(%3) {to=bool}\n"
                           "  %5 = if(%4) {\n"
                           "    -> %2\n"
                           "  } else {\n"
                           "    %6 = Neg(%2)\n"
                           "    -> %6\n"
                           "  }\n"
                           "  -> %5\n"
                           "}\n";

static IrModule *slotted(void) {
    IrModule *module = module_parse(text);
    module_run_pass(module, "infer_shapes");
    module_run_pass(module, "assign_slots");
    assert_ok(slot_check(module));
    return module;
}

static IrBinding *find(const IrModule *module, IrKind kind, const char *operator_name) {
    IrBinding *binding = ir_walk_first(module->functions[0]->body);
    for (; binding; binding = ir_walk_next(binding))
        if (binding->kind == kind &&
            (!operator_name || strcmp(binding->operator_info->name, operator_name) == 0))
            return binding;
    fail_msg("no such binding");
    return NULL;
}

static void test_slot_check_names_a_result_that_is_not_where_its_operator_runs(void **state) {
    (void)state;
    OWN(IrModule, module) = slotted();
    find(module, IR_OPERATOR, "Split")->results[1]->slot = 0;
    assert_fails_saying(INTERNAL, "function main: Split: result 1", slot_check(module));
}

static void test_slot_check_names_a_condition_on_the_device(void **state) {
    (void)state;
    OWN(IrModule, module) = slotted();
    IrBinding *test = find(module, IR_IF, NULL);
    test->operands[0] = module->functions[0]->body->parameters[0];
    assert_fails_saying(INTERNAL, "function main: if: operand 0", slot_check(module));
}

static void test_slot_check_names_strings_on_the_device(void **state) {
    (void)state;
    OWN(IrModule, module) = slotted();
    find(module, IR_OPERATOR, "Split")->results[0]->type.dtype = DTYPE_STRING;
    assert_fails_saying(INTERNAL, "has strings and is in slot 1", slot_check(module));
}

int test_slot_check(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot_check_holds_for_random_models_of_several_outputs),
        cmocka_unit_test(test_slot_check_names_a_result_that_is_not_where_its_operator_runs),
        cmocka_unit_test(test_slot_check_names_a_condition_on_the_device),
        cmocka_unit_test(test_slot_check_names_strings_on_the_device),
    };
    return cmocka_run_group_tests_name("slot_check", tests, NULL, NULL);
}
