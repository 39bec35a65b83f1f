#include "kernels/shape_rules/expansion_builder.h"

#include "base/allocator.h"
#include "tests/kernels/fixtures/infer_fixture.h"

typedef struct Fixture {
    InferFixture infer;
    Expansion *expansion;
    ExpansionBuilder builder;
} Fixture;

/* An expansion of an operator of one's own choice, still empty. */
static void fixture_init(Fixture *fixture, const char *name, const char *inputs) {
    void *block;
    infer_fixture_init(&fixture->infer, name, NULL, inputs, 1);
    assert_ok(memory_alloc(1, sizeof(Expansion), &block));
    fixture->expansion = block;
    fixture->builder = (ExpansionBuilder){&fixture->infer.request, fixture->expansion};
    assert_ok(expansion_builder_start(&fixture->builder));
}

static void fixture_deinit(Fixture *fixture) {
    operator_expansion_release(fixture->expansion);
    infer_fixture_deinit(&fixture->infer);
}

static void test_values_are_numbered_as_they_are_made(void **state) {
    (void)state;
    Fixture fixture;
    fixture_init(&fixture, "Add", "float32[2,3] float32[3]");
    ExpansionBuilder *builder = &fixture.builder;
    uint32_t value, scalar;
    assert_int_equal(expansion_input(builder, 1), 1);
    assert_int_equal(expansion_input(builder, 2), EXPANSION_ABSENT);
    assert_true(expansion_wants(builder, 0));
    assert_false(expansion_wants(builder, 1));
    assert_ok(expansion_scalar(builder, DTYPE_FLOAT32, 2, &scalar));
    assert_int_equal(scalar, 2);
    assert_ok(expansion_binary(builder, OPERATOR_MUL, 0, scalar, &value));
    assert_int_equal(value, 3);
    assert_int_equal(expansion_spec(builder, value).shape.rank, 2);
    expansion_set_output(builder, 0, value);
    expansion_set_output(builder, 1, value);
    assert_int_equal(fixture.expansion->outputs[0], 3);
    assert_int_equal(fixture.expansion->output_count, 1);
    fixture_deinit(&fixture);
}

static void test_nodes_that_change_nothing_are_left_out(void **state) {
    (void)state;
    Fixture fixture;
    fixture_init(&fixture, "Neg", "float32[2,3]");
    ExpansionBuilder *builder = &fixture.builder;
    uint32_t value;
    assert_ok(expansion_cast(builder, 0, DTYPE_FLOAT32, &value));
    assert_ok(expansion_reshape(builder, value, &(Shape){2, {2, 3}}, &value));
    assert_ok(expansion_transpose(builder, value, (int64_t[]){0, 1}, &value));
    assert_ok(expansion_slice(builder, value, 1, 0, 3, &value));
    assert_int_equal(value, 0);
    assert_int_equal(fixture.expansion->node_count, 0);
    assert_ok(expansion_slice(builder, value, 1, 1, 3, &value));
    assert_int_equal(expansion_spec(builder, value).shape.dims[1], 2);
    fixture_deinit(&fixture);
}

static void test_nodes_may_have_several_outputs_and_absent_inputs(void **state) {
    (void)state;
    Fixture fixture;
    fixture_init(&fixture, "Neg", "float32[4,3]");
    ExpansionBuilder *builder = &fixture.builder;
    uint32_t inputs[3] = {0, EXPANSION_ABSENT, EXPANSION_ABSENT}, halves, clipped;
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_set_int(attributes, "num_outputs", 2));
    assert_ok(expansion_call(
        builder, (ExpansionCall){OPERATOR_SPLIT, TAKE(attributes), 1, inputs, 2}, &halves));
    assert_int_equal(expansion_spec(builder, halves + 1).shape.dims[0], 2);
    assert_ok(
        expansion_call(builder, (ExpansionCall){OPERATOR_CLIP, NULL, 3, inputs, 1}, &clipped));
    assert_int_equal(fixture.expansion->nodes[1].input_count, 1);
    fixture_deinit(&fixture);
}

static void test_what_cannot_be_planned_is_refused(void **state) {
    (void)state;
    Fixture fixture;
    fixture_init(&fixture, "Neg", "float32[2,3]");
    ExpansionBuilder *builder = &fixture.builder;
    uint32_t value;
    assert_fails_saying(UNSUPPORTED, "NonZero: a shape that depends on data",
        expansion_unary(builder, OPERATOR_NON_ZERO, 0, &value));
    assert_fails_saying(UNSUPPORTED, "a constant of element type string",
        expansion_scalar(builder, DTYPE_STRING, 1, &value));
    assert_fails_saying(INVALID, "MatMul: 3 columns times 2 rows",
        expansion_binary(builder, OPERATOR_MATMUL, 0, 0, &value));
    fixture_deinit(&fixture);
}

static void test_expansions_have_a_limit(void **state) {
    (void)state;
    Fixture fixture;
    Error *error = NULL;
    uint32_t value;
    fixture_init(&fixture, "Neg", "float32[]");
    while (!error) error = expansion_scalar(&fixture.builder, DTYPE_FLOAT32, 1, &value);
    assert_fails_saying(UNSUPPORTED, "an expansion of more than 65536 values", error);
    fixture_deinit(&fixture);
    fixture_init(&fixture, "Neg", "float32[]");
    for (error = NULL; !error;) error = expansion_unary(&fixture.builder, OPERATOR_NEG, 0, &value);
    assert_fails_saying(UNSUPPORTED, "an expansion of more than 16384 nodes", error);
    fixture_deinit(&fixture);
}

int test_expansion_builder(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_numbered_as_they_are_made),
        cmocka_unit_test(test_nodes_that_change_nothing_are_left_out),
        cmocka_unit_test(test_nodes_may_have_several_outputs_and_absent_inputs),
        cmocka_unit_test(test_what_cannot_be_planned_is_refused),
        cmocka_unit_test(test_expansions_have_a_limit),
    };
    return cmocka_run_group_tests_name("expansion_builder", tests, NULL, NULL);
}
