#include "tests/kernels/fixtures/infer_fixture.h"

static void test_draws_have_the_shape_and_type_asked_for(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"RandomUniformLike", NULL, "float16[2,3]", "float16[2, 3]"},
        {"RandomNormalLike", "{dtype=float64}", "bool[2,3]", "float64[2, 3]"},
        {"RandomUniformLike", NULL, "int32[2]", "! dtype int32"},
        {"Bernoulli", NULL, "float32[2,3]", "float32[2, 3]"},
        {"Bernoulli", "{dtype=uint8}", "float32[]", "uint8[]"},
        {"Bernoulli", NULL, "int32[2]", "! probabilities of int32"},
        {"Bernoulli", "{dtype=float8e5m2}", "float32[2]", "! dtype float8e5m2"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

static void test_dropout_follows_its_training_mode(void **state) {
    (void)state;
    static const InferRow rows[] = {
        {"TrainingDropout", NULL, "float32[2,3] float32[] bool[]=1", "float32[2, 3] bool[2, 3]"},
        {"TrainingDropout", NULL, "float32[2,3] float64[] bool[]=0", "float32[2, 3] bool[2, 3]"},
        {"TrainingDropout", NULL, "int32[2,3]", "! input 0 is int32"},
        {"TrainingDropout", NULL, "float32[2,3] float32[1]", "! a ratio of rank 1"},
        {"TrainingDropout", NULL, "float32[2,3] int32[]", "! a ratio of int32"},
        {"TrainingDropout", NULL, "float32[2,3] - int32[]=1",
            "! training_mode of rank 0 and element type int32"},
        {"TrainingDropout", NULL, "float32[2,3] - bool[1]=1", "! training_mode of rank 1"},
        {"TrainingDropout", NULL, "float32[2,3] - bool[]", "! the value of input 2 is not known"},
    };
    infer_fixture_check(rows, sizeof rows / sizeof rows[0]);
}

int test_expand_random(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws_have_the_shape_and_type_asked_for),
        cmocka_unit_test(test_dropout_follows_its_training_mode),
    };
    return cmocka_run_group_tests_name("expand_random", tests, NULL, NULL);
}
