#include "compiler/ir/ir_print.h"
#include "tests/compiler/compiler_fixtures.h"
#include "vm/objects/object.h"

static void test_append_gives_what_its_golden_files_say(void **state) {
    (void)state;
    golden_check("append");
}

/* Keys and values of two batches of two heads, three rows a round; the shape is read, too. */
static const char decoding[] =
    "function @main(%0 \"x\": float32[2, 3, 2, 8], %1 \"n\": int64[]) {\n"
    "  %2: int = read_scalar(%1)\n"
    "  %3: float32[2, 2, 3, 8] = Transpose(%0) {perm=[0, 2, 1, 3]}\n"
    "  %4: int, %5: float32[2, 2, e, 8], %6: float32[2, 2, e, 8], %7: float32[2, 3, 2, 8], "
    "%8: int64[1, m] = call @decode.1(0, %2, %3, %3, %0, int64[1, 0]{})\n"
    "  -> %5, %6, %7, %8\n"
    "}\n"
    "function @decode.1(%9: int, %10: int, %11: float32[2, 2, p, 8], %12: float32[2, 2, p, 8], "
    "%13: float32[2, 3, 2, 8], %14: int64[1, l]) {\n"
    "  %15: bool = int_lt(%9, %10)\n"
    "  %16: int, %17: float32[2, 2, e, 8], %18: float32[2, 2, e, 8], %19: float32[2, 3, 2, 8], "
    "%20: int64[1, m] = if(%15) {\n"
    "    %21: int64[4] = shape_of(%11)\n"
    "    %22: int64[] = Gather(%21, int64[]{2}) {axis=0}\n"
    "    %23: float32[] = Cast(%22) {to=float32}\n"
    "    %24: float32[2, 3, 2, 8] = Add(%13, %23)\n"
    "    %25: float32[2, 2, 3, 8] = Transpose(%24) {perm=[0, 2, 1, 3]}\n"
    "    %26: float32[2, 2, 3, 8] = Sin(%25)\n"
    "    %27: float32[2, 2, q, 8] = Concat(%11, %25) {axis=2}\n"
    "    %28: float32[2, 2, q, 8] = Concat(%12, %26) {axis=2}\n"
    "    %29: float32[2, 2, 3, 8] = FusedAttention(%26, %27, %28) {scale=0.5}\n"
    "    %30: float32[2, 3, 2, 8] = Transpose(%29) {perm=[0, 2, 1, 3]}\n"
    "    %31: int64[1, 1] = Reshape(%22, int64[2]{1, 1})\n"
    "    %32: int64[1, m] = Concat(%14, %31) {axis=1}\n"
    "    %33: int = int_add(%9, 1)\n"
    "    %34: int, %35: float32[2, 2, e, 8], %36: float32[2, 2, e, 8], %37: float32[2, 3, 2, 8], "
    "%38: int64[1, m] = call @decode.1(%33, %10, %27, %28, %30, %32)\n"
    "    -> %34, %35, %36, %37, %38\n"
    "  } else {\n"
    "    -> %9, %11, %12, %13, %14\n"
    "  }\n"
    "  -> %16, %17, %18, %19, %20\n"
    "}\n";

static void check_same(const char *device, int64_t rounds, uint64_t seed) {
    OWN(IrModule, plain) = module_parse(decoding);
    OWN(IrModule, grown) = module_parse(decoding);
    TextBuilder OWN_TEXT(text) = {0};
    module_run_pass(grown, "append");
    assert_ok(ir_print_module(grown, &text));
    assert_non_null(strstr(text_builder_get(&text), "key_rows_first=1"));
    assert_null(strstr(text_builder_get(&text), "Concat"));
    OWN(Executable, expected_code) = module_compile_plainly(plain);
    OWN(Executable, code) = module_compile_plainly(grown);
    const int64_t dims[] = {2, 3, 2, 8};
    Value arguments[2] = {value_random(&seed, 4, dims), value_int64(rounds)}, expected, got;
    assert_ok(executable_run(expected_code, device, arguments, 2, &expected));
    assert_ok(executable_run(code, device, arguments, 2, &got));
    values_compare(&expected, &got, device, seed);
    value_release(&expected);
    value_release(&got);
    value_release(&arguments[0]);
    value_release(&arguments[1]);
}

static void test_append_changes_no_bit(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu", "sim:0", "sim:0,lacks=*"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        for (int64_t rounds = 0; rounds < 40; rounds += 13)
            check_same(devices[i], rounds, (uint64_t)rounds + 1);
}

int test_append(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_gives_what_its_golden_files_say),
        cmocka_unit_test(test_append_changes_no_bit),
    };
    return cmocka_run_group_tests_name("append", tests, NULL, NULL);
}
