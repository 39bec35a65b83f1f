#include "kernels/planning/pointwise_program.h"

#include "tests/kernels/fixtures/infer_fixture.h"

static void test_pointwise_program_reads_steps(void **state) {
    (void)state;
    OWN(PointwiseProgram, program) = NULL;
    assert_ok(pointwise_program_parse(
        "Mul i0 c0; Where i1 r0 c1 ;LeakyRelu r1 {alpha=0.5}; Clip r2 c0", 2, 2, &program));
    assert_int_equal(program->step_count, 4);
    assert_int_equal(program->steps[1].operand_count, 3);
    assert_int_equal(program->steps[1].operands[0].kind, POINTWISE_INPUT);
    assert_int_equal(program->steps[1].operands[1].kind, POINTWISE_STEP);
    assert_int_equal(program->steps[1].operands[2].kind, POINTWISE_CONSTANT);
    assert_int_equal(program->steps[1].operands[2].index, 1);
    assert_true(attributes_float(program->steps[2].attributes, "alpha") == 0.5);
    assert_int_equal(program->steps[3].operator_info->id, OPERATOR_CLIP);
}

static void test_pointwise_program_refuses_with_the_step(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "step 0: no operator name"},
        {"Neg i0;", "step 1: no operator name"},
        {"neg i0", "step 0: \"neg\" is not an elementwise operator"},
        {"MatMul i0 i0", "\"MatMul\" is not an elementwise"},
        {"Neg i0; Add r1 i0", "step 1: operand r1 of 1"},
        {"Neg i1", "operand i1 of 1"},
        {"Neg c1", "operand c1 of 1"},
        {"Neg", "Neg with 0 operands"},
        {"Neg i0 i0", "Neg with 2 operands"},
        {"Neg x0", "a wrong operand"},
        {"Neg i", "a wrong operand"},
        {"Neg i9999999", "a wrong operand"},
        {"Max i0 i0 i0 i0", "more than 3 operands"},
        {"LeakyRelu i0 {beta=1.0}", "unknown attribute beta"},
        {"LeakyRelu i0 {alpha=1.0} i0", "'i' behind a step"},
        {"Cast i0", "attribute to is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        PointwiseProgram *program = NULL;
        assert_fails_saying(
            INVALID, rows[i].message, pointwise_program_parse(rows[i].text, 1, 1, &program));
        assert_null(program);
    }
}

static void test_pointwise_program_is_bounded(void **state) {
    (void)state;
    PointwiseProgram *program = NULL;
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "Neg i0");
    for (uint32_t i = 1; i < POINTWISE_STEPS_MAX; i++) text_appendf(&text, ";Neg r%u", i - 1);
    assert_ok(pointwise_program_parse(text_builder_get(&text), 1, 0, &program));
    pointwise_program_release(program);
    text_append(&text, ";Neg i0");
    assert_fails_saying(INVALID, "more than 64 steps",
        pointwise_program_parse(text_builder_get(&text), 1, 0, &program));
}

/* Constants are of the type of the last operand that is none. */
static void test_pointwise_program_infers_types_of_constants(void **state) {
    (void)state;
    InferFixture fixture;
    OWN(PointwiseProgram, program) = NULL;
    TensorSpec steps[POINTWISE_STEPS_MAX];
    DType dtypes[POINTWISE_STEPS_MAX];
    infer_fixture_init(&fixture, "FusedElementwise",
        "{program=\"Greater i0 c0; Where r0 c0 i1; Neg r1\", constants=[1.5]}",
        "float64[2,1] float16[3]", 1);
    assert_ok(pointwise_program_of(&fixture.request, &program));
    assert_ok(pointwise_program_infer(program, fixture.specs, steps, dtypes));
    assert_int_equal(dtypes[0], DTYPE_FLOAT64);
    assert_int_equal(dtypes[1], DTYPE_FLOAT16);
    assert_int_equal(dtypes[2], DTYPE_NONE);
    assert_int_equal(steps[0].dtype, DTYPE_BOOL);
    assert_int_equal(steps[2].shape.dims[1], 3);
    infer_fixture_deinit(&fixture);
}

static void test_pointwise_program_of_constants_alone_is_refused(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"FusedElementwise", "{program=\"Add c0 c0\", constants=[1.0]}", "float32[2]",
            "! step 0: only constants"},
        {"FusedElementwise", "{program=\"Neg i0; Not r0\"}", "float32[2]", "! step 1: Not:"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_pointwise_program(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointwise_program_reads_steps),
        cmocka_unit_test(test_pointwise_program_refuses_with_the_step),
        cmocka_unit_test(test_pointwise_program_is_bounded),
        cmocka_unit_test(test_pointwise_program_infers_types_of_constants),
        cmocka_unit_test(test_pointwise_program_of_constants_alone_is_refused),
    };
    return cmocka_run_group_tests_name("pointwise_program", tests, NULL, NULL);
}
