#include "tests/vm/vm_fixture.h"
#include "vm/objects/scalar.h"

static void test_scalar_write_int_knows_each_range(void **state) {
    (void)state;
    uint64_t element;
    assert_true(scalar_write_int(DTYPE_INT8, -128, &element));
    assert_false(scalar_write_int(DTYPE_INT8, 128, &element));
    assert_false(scalar_write_int(DTYPE_INT8, -129, &element));
    assert_true(scalar_write_int(DTYPE_UINT32, UINT32_MAX, &element));
    assert_false(scalar_write_int(DTYPE_UINT32, (int64_t)UINT32_MAX + 1, &element));
    assert_false(scalar_write_int(DTYPE_UINT64, -1, &element));
    assert_true(scalar_write_int(DTYPE_INT64, INT64_MIN, &element));
    assert_false(scalar_write_int(DTYPE_FLOAT32, 1, &element));
    assert_false(scalar_write_int(DTYPE_INT4, 1, &element));
}

static void test_scalar_survives_writing_and_reading(void **state) {
    (void)state;
    const DType dtypes[] = {DTYPE_INT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT8,
        DTYPE_UINT16, DTYPE_UINT32, DTYPE_UINT64};
    for (uint32_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        uint64_t element = UINT64_MAX;
        Value in = value_int(dtype_is_signed(dtypes[i]) ? -7 : 7), out;
        assert_ok(scalar_write(&in, dtypes[i], &element));
        assert_ok(scalar_read(dtypes[i], &element, &out));
        assert_int_equal(out.tag, VALUE_INT);
        assert_int_equal(out.integer, in.integer);
    }
    const DType floats[] = {
        DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT8E4M3FN};
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t element = 0;
        Value in = value_float(-2.5), out;
        assert_ok(scalar_write(&in, floats[i], &element));
        assert_ok(scalar_read(floats[i], &element, &out));
        assert_true(out.tag == VALUE_FLOAT && out.real == -2.5);
    }
}

static void test_scalar_refuses_other_values(void **state) {
    (void)state;
    uint64_t element = UINT64_MAX;
    Value number = value_int(1), flag = value_bool(true), nil = value_nil(), out;
    assert_fails(INVALID, scalar_write(&number, DTYPE_BOOL, &element));
    assert_fails(INVALID, scalar_write(&flag, DTYPE_INT8, &element));
    assert_fails(INVALID, scalar_write(&nil, DTYPE_FLOAT32, &element));
    assert_fails(UNSUPPORTED, scalar_write(&number, DTYPE_FLOAT4E2M1, &element));
    assert_fails(INVALID, scalar_read(DTYPE_UINT64, &element, &out));
    assert_fails(UNSUPPORTED, scalar_read(DTYPE_INT4, &element, &out));
}

int test_scalar(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar_write_int_knows_each_range),
        cmocka_unit_test(test_scalar_survives_writing_and_reading),
        cmocka_unit_test(test_scalar_refuses_other_values),
    };
    return cmocka_run_group_tests_name("scalar", tests, NULL, NULL);
}
