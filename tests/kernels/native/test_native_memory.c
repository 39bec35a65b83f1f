#include "kernels/native/native_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/test_support.h"

static void test_both_sides_see_the_same_memory(void **state) {
    (void)state;
    NativeRings *rings[2] = {NULL, NULL};
    uint8_t *data[2] = {NULL, NULL};
    int descriptor = memfd_create("test", MFD_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)NATIVE_DATA + NATIVE_PAGE), 0);
    for (int i = 0; i < 2; i++) assert_ok(native_map(descriptor, &rings[i], &data[i]));
    data[0][NATIVE_PAGE - 1] = 7;
    assert_int_equal(data[1][NATIVE_PAGE - 1], 7);
    for (int i = 0; i < 2; i++) native_unmap(rings[i], data[i]);
    (void)close(descriptor);
}

static void test_what_is_no_file_is_not_mapped(void **state) {
    (void)state;
    NativeRings *rings = NULL;
    uint8_t *data = NULL;
    assert_fails_saying(OUT_OF_MEMORY, "no room for the memory", native_map(-1, &rings, &data));
    native_unmap(rings, data);
}

int test_native_memory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_sides_see_the_same_memory),
        cmocka_unit_test(test_what_is_no_file_is_not_mapped),
    };
    return cmocka_run_group_tests_name("native_memory", tests, NULL, NULL);
}
