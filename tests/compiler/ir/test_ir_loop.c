#include "compiler/ir/ir_build.h"
#include "compiler/ir/ir_print.h"
#include "tests/compiler/compiler_fixtures.h"
#include "vm/objects/adt.h"

/* sum = sum + x for i < n while sum < limit */
static IrModule *loop_module(bool conditional) {
    IrModule *module;
    IrFunction *function;
    IrVariable *x, *n, *limit, *start, *go = NULL, *sum;
    IrType vector = ir_type_shaped(DTYPE_FLOAT32, 1, (int64_t[]){2});
    IrType number = ir_type_shaped(DTYPE_INT64, 0, NULL);
    IrLoop loop;
    assert_ok(ir_module_create(&module));
    assert_ok(ir_function_create(module, "main", true, NULL, &function));
    IrCursor at = ir_at_end(function->body);
    assert_ok(ir_function_add_parameter(function, "x", &vector, &x));
    assert_ok(ir_function_add_parameter(function, "n", &number, &n));
    assert_ok(ir_build_read_scalar(at, n, IR_TYPE_INT, &limit));
    assert_ok(ir_build_simple(at, "Sub", NULL, x, x, NULL, &start));
    if (conditional) assert_ok(ir_constant_bool(module, true, &go));
    assert_ok(ir_build_loop(at, NULL, limit, go, 1, &start, NULL, &loop));
    IrCursor inside = ir_at_end(loop.body);
    assert_ok(ir_build_simple(inside, "Add", NULL, loop.carried[0], x, NULL, &sum));
    if (conditional) {
        IrVariable *least;
        assert_ok(ir_build_simple(inside, "ReduceMax", NULL, sum, NULL, NULL, &least));
        assert_ok(ir_build_simple(inside, "Less", NULL, least, x, NULL, &go));
        assert_ok(ir_constant_bool(module, false, &go));
    }
    assert_ok(ir_build_loop_end(&loop, go, &sum));
    IrVariable *results[2] = {loop.results[0], NULL};
    assert_ok(ir_build_make_tensor(at, loop.iterations, DTYPE_INT64, &results[1]));
    assert_ok(ir_function_set_results(function, 2, results, NULL, NULL));
    assert_ok(ir_check(module, false));
    return module;
}

static void check_rounds(bool conditional, int64_t trips, float rounds) {
    uint64_t random = 5;
    OWN(IrModule, module) = loop_module(conditional);
    OWN(Executable, executable) = module_compile(module);
    Value arguments[2] = {value_random(&random, 1, (int64_t[]){2}), value_int64(trips)}, result;
    assert_ok(executable_run(executable, "sim:0", arguments, 2, &result));
    const float *x = tensor_data(arguments[0].tensor);
    const float *sum = tensor_data(result.adt->fields[0].tensor);
    for (uint32_t i = 0; i < 2; i++) assert_true(sum[i] == x[i] * rounds);
    assert_int_equal(*(int64_t *)tensor_data(result.adt->fields[1].tensor), (int64_t)rounds);
    value_release(&result);
    value_release(&arguments[0]);
    value_release(&arguments[1]);
}

static void test_ir_loop_runs_as_often_as_its_trip_count_says(void **state) {
    (void)state;
    check_rounds(false, 0, 0);
    check_rounds(false, 1, 1);
    check_rounds(false, 8, 8);
    check_rounds(false, -3, 0);
}

static void test_ir_loop_stops_when_its_condition_is_false(void **state) {
    (void)state;
    check_rounds(true, 0, 0);
    check_rounds(true, 8, 1);
}

static void test_ir_loop_end_wants_a_condition_exactly_where_the_loop_has_one(void **state) {
    (void)state;
    OWN(IrModule, module) = NULL;
    IrFunction *function;
    IrVariable *go, *trips;
    IrLoop loop;
    assert_ok(ir_module_create(&module));
    assert_ok(ir_function_create(module, "main", true, NULL, &function));
    assert_ok(ir_constant_bool(module, true, &go));
    assert_ok(ir_constant_int(module, 3, &trips));
    assert_ok(ir_build_loop(ir_at_end(function->body), "loop", trips, NULL, 0, NULL, NULL, &loop));
    assert_fails(INVALID, ir_build_loop_end(&loop, go, NULL));
    assert_ok(ir_build_loop_end(&loop, NULL, NULL));
}

int test_ir_loop(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ir_loop_runs_as_often_as_its_trip_count_says),
        cmocka_unit_test(test_ir_loop_stops_when_its_condition_is_false),
        cmocka_unit_test(test_ir_loop_end_wants_a_condition_exactly_where_the_loop_has_one),
    };
    return cmocka_run_group_tests_name("ir_loop", tests, NULL, NULL);
}
