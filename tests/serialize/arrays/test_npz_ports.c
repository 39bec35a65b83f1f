#include "serialize/arrays/npz_ports.h"

#include "tests/serialize/array_fixtures.h"
#include "tests/serialize/memory_npz.h"

static Error *check(const Function *function, const char *name, const char *descr,
    const char *shape, uint64_t size, bool items) {
    ByteWriter OWN_BYTES(bytes) = {0};
    NpzFile OWN_NPZ(file) = {0};
    deflated_npz(name, descr, shape, size, &bytes);
    TRY(npz_file_open(bytes.data, bytes.size, UINT64_MAX, &file));
    return npz_ports_check(&file, function, items);
}

static void test_npz_ports_take_what_the_function_takes(void **state) {
    (void)state;
    char x[] = "x", one[] = "one", l[] = "l";
    Port ports[] = {
        {.name = x, .dtype = DTYPE_FLOAT32, .rank_known = true, .shape = {2, {-1, 3}}},
        {.name = one, .dtype = DTYPE_INT64, .rank_known = true, .shape = {1, {1}}},
        {.name = l,
            .form = PORT_LIST,
            .dtype = DTYPE_FLOAT32,
            .rank_known = true,
            .shape = {1, {2}}},
    };
    char main_name[] = "main";
    const Function function = {.name = main_name, .parameter_count = 3, .parameters = ports};
    assert_ok(check(&function, "x", "<f4", "(5, 3)", 60, false));
    assert_ok(check(&function, "l.0", "<f4", "(2,)", 8, false));
    assert_ok(check(&function, "l.count", "<i8", "()", 8, false));
    assert_ok(check(&function, "one", "<i8", "(7,)", 56, true));
    assert_fails_saying(
        INVALID, "input one has shape [7]", check(&function, "one", "<i8", "(7,)", 56, false));
    assert_fails_saying(
        INVALID, "input x is float64", check(&function, "x", "<f8", "(5, 3)", 120, false));
    assert_fails_saying(
        INVALID, "input x has shape [5, 4]", check(&function, "x", "<f4", "(5, 4)", 80, true));
    assert_fails_saying(
        INVALID, "input l.0 has shape [3]", check(&function, "l.0", "<f4", "(3,)", 12, false));
    assert_fails_saying(INVALID, "no input y", check(&function, "y", "<f4", "(2,)", 8, false));
}

int test_npz_ports(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz_ports_take_what_the_function_takes),
    };
    return cmocka_run_group_tests_name("npz_ports", tests, NULL, NULL);
}
