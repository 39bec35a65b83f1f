#include "serialize/arrays/array_list.h"

#include "base/allocator.h"
#include "kernels/tensor/dtype_bits.h"
#include "tests/serialize/serialize_fixtures.h"

static void add(ArrayList *list, const char *name, DType dtype, int64_t count, uint8_t first) {
    NamedArray array = {0};
    Shape shape = shape_make(1, &count);
    assert_ok(named_array_init(&array, name, dtype, &shape));
    for (uint64_t i = 0; i < array.size; i++) array.data[i] = (uint8_t)(first + i);
    assert_ok(array_list_add(list, &array));
    assert_null(array.name);
}

static void add_text(ArrayList *list, const char *name, const char *text) {
    NamedArray array = {0};
    const Shape scalar = {0};
    assert_ok(named_array_init_texts(&array, name, &scalar, &text));
    assert_ok(array_list_add(list, &array));
}

static void test_array_list_finds_by_name_and_refuses_doubles(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(list) = {0};
    assert_ok(array_list_check_names(&list));
    add(&list, "b", DTYPE_INT8, 3, 0);
    add(&list, "a", DTYPE_FLOAT32, 0, 0);
    assert_ok(array_list_check_names(&list));
    assert_ptr_equal(array_list_find(&list, "a"), &list.items[1]);
    assert_null(array_list_find(&list, "c"));
    add(&list, "b", DTYPE_INT8, 1, 0);
    assert_fails_saying(INVALID, "two arrays are named b", array_list_check_names(&list));
}

/* Large data are mapped on huge pages, small ones are not: both are zeroed and released right. */
static void test_array_data_of_any_size(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, (1 << 20) - 1, 1 << 20, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *data = NULL;
        assert_ok(array_data_alloc(sizes[i], &data));
        assert_int_equal(data != NULL, sizes[i] > 0);
        if (data) assert_int_equal(data[0] | data[sizes[i] - 1], 0);
        if (data) memset(data, 1, sizes[i]);
        array_data_free(data, sizes[i]);
    }
}

static void test_array_list_applies_dtypes(void **state) {
    (void)state;
    ArrayList OWN_ARRAYS(list) = {0};
    add_text(&list, "x.dtype", "bfloat16");
    add(&list, "x", DTYPE_UINT16, 2, 1);
    add(&list, "xx", DTYPE_UINT16, 2, 1);
    add(&list, "n", DTYPE_UINT8, 5, 11);
    add_text(&list, "n.dtype", "int4");
    add_text(&list, "alone.dtype", "bfloat16");
    add_text(&list, "f.dtype", "float32"); /* says nothing new */
    add(&list, "f", DTYPE_FLOAT32, 1, 0);
    assert_ok(array_list_apply_dtypes(&list));
    assert_int_equal(list.count, 5);
    assert_int_equal(array_list_find(&list, "x")->dtype, DTYPE_BFLOAT16);
    assert_int_equal(array_list_find(&list, "xx")->dtype, DTYPE_UINT16);
    assert_int_equal(array_list_find(&list, "alone.dtype")->dtype, DTYPE_STRING);
    const NamedArray *nibbles = array_list_find(&list, "n");
    assert_int_equal(nibbles->dtype, DTYPE_INT4);
    assert_int_equal(nibbles->size, 3);
    assert_memory_equal(nibbles->data, ((uint8_t[]){0xcb, 0xed, 0x0f}), 3);
    assert_int_equal(nibbles->shape.dims[0], 5);
    uint8_t back[5];
    dtype_bits_unpack(4, nibbles->data, 0, 5, back);
    assert_memory_equal(back, ((uint8_t[]){11, 12, 13, 14, 15}), 5);
}

/* Every packed type: one element to a byte outside, packed inside. */
static void test_array_list_packs_what_is_less_than_a_byte(void **state) {
    (void)state;
    for (uint32_t i = 1; i < DTYPE_COUNT; i++) {
        const DType dtype = (DType)i;
        if (!dtype_in(DTYPES_PACKED, dtype)) continue;
        ArrayList OWN_ARRAYS(list) = {0};
        add(&list, "x", DTYPE_UINT8, 3, 1);
        add_text(&list, "x.dtype", dtype_name(dtype));
        assert_ok(array_list_apply_dtypes(&list));
        const NamedArray *array = array_list_find(&list, "x");
        uint8_t back[3];
        assert_int_equal(array->dtype, dtype);
        assert_int_equal(array->size, (3 * dtype_bits(dtype) + 7) / 8);
        dtype_bits_unpack(dtype_bits(dtype), array->data, 0, 3, back);
        assert_memory_equal(back, ((uint8_t[]){1, 2, 3}), 3);
        assert_int_equal(array_raw_dtype(dtype), DTYPE_UINT8);
    }
}

static void test_array_list_refuses_wrong_dtypes(void **state) {
    (void)state;
    static const struct {
        DType dtype;
        uint8_t first;
        const char *text, *why;
    } rows[] = {
        {DTYPE_UINT16, 0, "bfloat17", "there is no element type bfloat17"},
        {DTYPE_UINT16, 0, "string", "there is no element type string"},
        {DTYPE_UINT8, 0, "bfloat16", "written as uint16, not as uint8"},
        {DTYPE_INT8, 0, "float8e5m2", "written as uint8, not as int8"},
        {DTYPE_UINT32, 0, "float32", "not as uint32"},
        {DTYPE_UINT8, 12, "uint4", "element 4 is 16, but has only 4 bits"},
        {DTYPE_UINT8, 1, "int2", "element 3 is 4, but has only 2 bits"},
        {DTYPE_UINT8, 63, "float6e2m3", "element 1 is 64, but has only 6 bits"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArrayList OWN_ARRAYS(list) = {0};
        add(&list, "x", rows[i].dtype, 5, rows[i].first);
        add_text(&list, "x.dtype", rows[i].text);
        assert_fails_saying(INVALID, rows[i].why, array_list_apply_dtypes(&list));
    }
}

static void test_array_bools_are_0_or_1(void **state) {
    (void)state;
    assert_ok(array_check_bools(NULL, 0));
    assert_ok(array_check_bools((uint8_t[]){0, 1, 1, 0}, 4));
    assert_fails(INVALID, array_check_bools((uint8_t[]){0, 1, 2, 0}, 4));
}

int test_array_list(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_list_finds_by_name_and_refuses_doubles),
        cmocka_unit_test(test_array_data_of_any_size),
        cmocka_unit_test(test_array_list_applies_dtypes),
        cmocka_unit_test(test_array_list_packs_what_is_less_than_a_byte),
        cmocka_unit_test(test_array_list_refuses_wrong_dtypes),
        cmocka_unit_test(test_array_bools_are_0_or_1),
    };
    return cmocka_run_group_tests_name("array_list", tests, NULL, NULL);
}
