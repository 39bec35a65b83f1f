#include "serialize/arrays/npz_file.h"

#include "base/allocator.h"
#include "serialize/arrays/npz.h"
#include "tests/serialize/array_fixtures.h"
#include "tests/serialize/memory_npz.h"

/* What the heads say is what reading them gives. */
static void test_npz_file_says_what_reading_gives(void **state) {
    (void)state;
    static const char *const names[] = {"numpy_stored.npz", "numpy_deflated.npz"};
    for (int k = 0; k < 2; k++) {
        size_t size = 0;
        uint8_t *data = golden_file(names[k], &size);
        ArrayList OWN_ARRAYS(arrays) = {0};
        NpzFile OWN_NPZ(file) = {0};
        assert_ok(npz_read(data, size, 1 << 20, &arrays));
        assert_ok(npz_file_open(data, size, 1 << 20, &file));
        assert_int_equal(file.count, arrays.count);
        for (size_t i = 0; i < file.count; i++) {
            NamedArray outline = {0};
            const NamedArray *array = &arrays.items[i];
            assert_string_equal(file.items[i].name, array->name);
            assert_int_equal(file.items[i].dtype, array->dtype);
            assert_true(shape_equal(&file.items[i].shape, &array->shape));
            if (array->dtype != DTYPE_STRING) assert_int_equal(file.items[i].bytes, array->size);
            assert_ok(npz_array_outline(&file.items[i], &outline));
            assert_int_equal(outline.dtype, array->dtype);
            assert_int_equal(outline.size, array->size);
            named_array_deinit(&outline);
        }
        memory_unmap(data, size);
    }
}

/* Two gigabytes of zeros in two megabytes: nothing is unpacked to see how much it is. */
static void test_npz_file_takes_no_memory_for_elements(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bomb) = {0};
    NpzFile OWN_NPZ(file) = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    NamedArray outline = {0};
    const uint64_t size = (uint64_t)1 << 31, room = 64 << 20;
    deflated_npz("x", "<f4", "(536870912,)", size, &bomb);
    uint64_t before = resident_bytes();
    assert_ok(npz_file_open(bomb.data, bomb.size, UINT64_MAX, &file));
    assert_int_equal(file.bytes, size);
    assert_ok(npz_array_outline(&file.items[0], &outline));
    assert_fails_saying(
        INVALID, "more than 1000000 bytes", npz_read(bomb.data, bomb.size, 1000000, &arrays));
    assert_true(resident_bytes() < before + room);
    named_array_deinit(&outline);
}

int test_npz_file(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz_file_says_what_reading_gives),
        cmocka_unit_test(test_npz_file_takes_no_memory_for_elements),
    };
    return cmocka_run_group_tests_name("npz_file", tests, NULL, NULL);
}
