#include <stdio.h>

#include "tests/compiler/compiler_fixtures.h"
#include "vm/objects/adt.h"

/* Ten rounds of a loop that passes its values on in another order. */
static void check_order(const char *order, const double *expected) {
    char text[2048];
    (void)snprintf(text, sizeof text,
        "function @main(%%0 \"n\": int64[]) {\n"
        "  %%1: int = read_scalar(%%0)\n"
        "  %%2: int, %%3: int, %%4: int, %%5: int, %%6: int = call @loop.1(%%1, 1, 2, 3, 4)\n"
        "  %%7: data = construct(%%3, %%4, %%5, %%6)\n"
        "  -> %%7\n"
        "}\n"
        "function @loop.1(%%10: int, %%11: int, %%12: int, %%13: int, %%14: int) {\n"
        "  %%20: int, %%21: int, %%22: int, %%23: int, %%24: int = if(%%10) {\n"
        "    %%25: int = int_sub(%%10, 1)\n"
        "    %%30: int, %%31: int, %%32: int, %%33: int, %%34: int = call @loop.1(%%25, %s)\n"
        "    -> %%30, %%31, %%32, %%33, %%34\n"
        "  } else {\n"
        "    -> %%10, %%11, %%12, %%13, %%14\n"
        "  }\n"
        "  -> %%20, %%21, %%22, %%23, %%24\n"
        "}\n",
        order);
    OWN(IrModule, module) = module_parse(text);
    OWN(Executable, executable) = module_compile(module);
    Value argument = value_int64(10), result;
    assert_ok(executable_run(executable, "cpu", &argument, 1, &result));
    for (uint32_t i = 0; i < 4; i++)
        assert_true((double)result.adt->fields[i].integer == expected[i]);
    value_release(&argument);
    value_release(&result);
}

static void test_emit_moves_opens_cycles_and_keeps_chains(void **state) {
    (void)state;
    check_order("%11, %12, %13, %14", (const double[]){1, 2, 3, 4});
    check_order("%12, %11, %14, %13", (const double[]){1, 2, 3, 4});
    check_order("%12, %13, %14, %11", (const double[]){3, 4, 1, 2});
    check_order("%12, %13, %11, %14", (const double[]){2, 3, 1, 4});
    check_order("%12, %13, %14, %14", (const double[]){4, 4, 4, 4});
    check_order("%12, %12, %12, 7", (const double[]){2, 2, 2, 7});
    check_order("%14, %11, %11, %13", (const double[]){4, 1, 1, 3});
}

int test_emit_moves(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emit_moves_opens_cycles_and_keeps_chains),
    };
    return cmocka_run_group_tests_name("emit_moves", tests, NULL, NULL);
}
