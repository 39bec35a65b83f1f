#include "compiler/ir/ir_parse_value.h"
#include "tests/compiler/compiler_fixtures.h"

static Error *parse(IrModule *module, const char *text, IrVariable **out) {
    IrTokens tokens;
    TRY(ir_tokens_open(text, &tokens));
    return ir_parse_constant(module, &tokens, out);
}

static void test_ir_parse_value_reads_scalars_and_tensors(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrVariable *value;
    assert_ok(ir_module_create(&module));
    assert_ok(parse(module, "-7", &value));
    assert_int_equal(value->constant->integer, -7);
    assert_ok(parse(module, "false", &value));
    assert_int_equal(value->constant->tag, VALUE_BOOL);
    assert_ok(parse(module, "2.5", &value));
    assert_true(value->constant->real == 2.5);
    assert_ok(parse(module, "int64[2]{9223372036854775807, -1}", &value));
    assert_true(((int64_t *)tensor_data(ir_variable_tensor(value)))[0] == INT64_MAX);
    assert_ok(parse(module, "float32[2, 0]{}", &value));
    assert_int_equal(ir_variable_tensor(value)->shape.dims[1], 0);
    assert_fails(INVALID, parse(module, "float32[2]{1}", &value));
    assert_fails(INVALID, parse(module, "float32[n]{1}", &value));
    assert_fails(INVALID, parse(module, "float32[1, 1, 1, 1, 1, 1, 1, 1, 1]{1}", &value));
}

int test_ir_parse_value(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_parse_value_reads_scalars_and_tensors),
    };
    return cmocka_run_group_tests_name("ir_parse_value", tests, NULL, NULL);
}
