#include "compiler/compile.h"

#include "base/text.h"
#include "tests/compiler/compiler_fixtures.h"
#include "tests/compiler/random_module.h"
#include "tests/support/test_random.h"
#include "vm/assembly/assembly.h"

#ifdef TEST_WITH_ADDRESS_SANITIZER
enum { SEEDS = 80 };
#else
enum { SEEDS = 250 };
#endif
enum { ARGUMENTS = 3 };

static Executable *compile_random(uint64_t seed, bool plainly) {
    OWN(IrModule, module) = NULL;
    assert_ok(random_module_create(seed, &module));
    return plainly ? module_compile_plainly(module) : module_compile(module);
}

static void compare_run(Executable *executable, const char *device, const Value *arguments,
    const Value *expected, uint64_t seed) {
    Value got;
    Error *error = executable_run(executable, device, arguments, ARGUMENTS, &got);
    if (error)
        fail_msg("seed %llu on %s: %s", (unsigned long long)seed, device, error_message(error));
    values_compare(expected, &got, device, seed);
    value_release(&got);
}

/* The passes that make programs better do not change what they compute, bit for bit, wherever it
 * runs. */
static void test_compile_keeps_what_random_programs_compute(void **state) {
    (void)state;
    const TestSeeds seeds = test_seeds(SEEDS - 1);
    uint32_t failures = 0;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        uint64_t random = seed * 7919;
        Value arguments[ARGUMENTS] = {value_random(&random, 2, (int64_t[]){2, 3}),
            value_random(&random, 2, (int64_t[]){2, 3}), value_int64((int64_t)(seed % 4))};
        OWN(Executable, plain) = compile_random(seed, true);
        OWN(Executable, best) = compile_random(seed, false);
        Value expected;
        Error *error = executable_run(plain, "cpu", arguments, ARGUMENTS, &expected);
        /* some programs fail: joins of different shapes */
        failures += error != NULL;
        if (!error) {
            compare_run(best, "cpu", arguments, &expected, seed);
            if (seed % 5 == 0) compare_run(best, "sim:0", arguments, &expected, seed);
            value_release(&expected);
        }
        error_free(error);
        for (uint32_t i = 0; i < ARGUMENTS; i++) value_release(&arguments[i]);
    }
    assert_true(failures <= (seeds.end - seeds.first) / 5 + 1);
}

static void test_compile_gives_the_same_bytes_each_time(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        TextBuilder OWN_TEXT(first) = {0}, OWN_TEXT(second) = {0};
        OWN(Executable, one) = compile_random(seed, false);
        OWN(Executable, other) = compile_random(seed, false);
        assert_ok(assembly_print(one, true, &first));
        assert_ok(assembly_print(other, true, &second));
        assert_string_equal(text_builder_get(&first), text_builder_get(&second));
    }
}

static const char loop_text[] = "function @main(%0 \"n\": int64[]) {\n"
                                "  %1: int = read_scalar(%0)\n"
                                "  %2: int, %3: int = call @loop.1(0, 0, %1)\n"
                                "  %4: int64[] = make_tensor int64(%3)\n"
                                "  -> %4 \"sum\"\n"
                                "}\n"
                                "function @loop.1(%5: int, %6: int, %7: int) {\n"
                                "  %8: bool = int_lt(%5, %7)\n"
                                "  %9: int, %10: int = if(%8) {\n"
                                "    %11: int = int_add(%5, 1)\n"
                                "    %12: int = int_add(%6, %5)\n"
                                "    %13: int, %14: int = call @loop.1(%11, %12, %7)\n"
                                "    -> %13, %14\n"
                                "  } else {\n"
                                "    -> %5, %6\n"
                                "  }\n"
                                "  -> %9, %10\n"
                                "}\n";

/* A million rounds in a depth of two frames. */
static void test_compile_makes_loops_of_self_tail_calls(void **state) {
    (void)state;
    OWN(IrModule, module) = module_parse(loop_text);
    OWN(Executable, executable) = module_compile(module);
    Value argument = value_int64(1000000), result;
    assert_ok(executable_run(executable, "cpu", &argument, 1, &result));
    Value expected = value_int64(INT64_C(499999500000));
    values_compare(&expected, &result, "loop", 0);
    value_release(&argument);
    value_release(&result);
    value_release(&expected);
}

static void test_compile_names_ports_and_their_symbols(void **state) {
    (void)state;
    OWN(IrModule, module) =
        module_parse("function @main(%0 \"x\": float32[batch, 4], %1: list(float32[2])) {\n"
                     "  %2 = Relu(%0)\n"
                     "  -> %2 \"y\"\n"
                     "}\n");
    OWN(Executable, executable) = module_compile(module);
    const Function *main_function = &executable->functions[0];
    assert_string_equal(main_function->parameters[0].name, "x");
    assert_string_equal(main_function->parameters[0].symbols[0], "batch");
    assert_int_equal(main_function->parameters[0].shape.dims[0], -1);
    assert_int_equal(main_function->parameters[0].shape.dims[1], 4);
    assert_int_equal(main_function->parameters[1].form, PORT_LIST);
    assert_int_equal(main_function->parameters[1].dtype, DTYPE_FLOAT32);
    assert_string_equal(main_function->results[0].name, "y");
    assert_string_equal(main_function->results[0].symbols[0], "batch");
}

static void test_compile_dumps_behind_the_pass_asked_for(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(text) = {0};
    CompileOptions options = {.dump_after = "shape-reads", .dump = &text};
    OWN(IrModule, module) = module_parse("function @main(%0 \"x\": float32[2]) {\n"
                                         "  %1 = Shape(%0)\n"
                                         "  -> %1\n"
                                         "}\n");
    OWN(Executable, executable) = NULL;
    assert_ok(compile_module(module, &options, &executable));
    assert_non_null(strstr(text_builder_get(&text), "shape_of(%0)"));
}

static void test_compile_refuses_what_it_does_not_do_in_one_sentence(void **state) {
    (void)state;
    const uint8_t byte = 0;
    CompileOptions options = {.folder = NULL};
    Executable *executable = NULL;
    assert_fails_saying(USAGE, "relax", compile_source("relax", &byte, 1, &options, &executable));
    assert_fails_saying(CORRUPT, "JSON", compile_source("nnvm", &byte, 1, &options, &executable));
    assert_fails_saying(USAGE, "onnx", compile_source("elf", &byte, 1, &options, &executable));
    options.precision = "int4";
    assert_fails_saying(
        USAGE, "bf16 or int8", compile_source("onnx", &byte, 1, &options, &executable));
    options.precision = "int8";
    assert_fails_saying(
        UNSUPPORTED, "compiled already", compile_source("lva", &byte, 1, &options, &executable));
    options = (CompileOptions){.dump_after = "nothing", .folder = NULL};
    assert_fails_saying(
        USAGE, "fold_constants", compile_source("onnx", &byte, 1, &options, &executable));
    assert_null(executable);
}

int test_compile(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compile_keeps_what_random_programs_compute),
        cmocka_unit_test(test_compile_gives_the_same_bytes_each_time),
        cmocka_unit_test(test_compile_makes_loops_of_self_tail_calls),
        cmocka_unit_test(test_compile_names_ports_and_their_symbols),
        cmocka_unit_test(test_compile_dumps_behind_the_pass_asked_for),
        cmocka_unit_test(test_compile_refuses_what_it_does_not_do_in_one_sentence),
    };
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
