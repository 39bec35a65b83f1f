#include "kernels/cpu/dnnl/cpu_dnnl_library.h"

#include <stdio.h>

#include "base/library/shared_library.h"
#include "tests/kernels/fixtures/kernel_call.h"

/* The determinism class names the build that is loaded later, and does not load it. */
static void test_dnnl_library_is_named_by_its_build(void **state) {
    (void)state;
    char build[SHARED_LIBRARY_BUILD_SIZE], expected[96];
    TextBuilder OWN_TEXT(first) = {0}, OWN_TEXT(second) = {0};
    assert_ok(shared_library_read_build(DNNL_FILE, build));
    cpu_dnnl_library_print(&first);
    if (build[0]) {
        (void)snprintf(expected, sizeof expected, "oneDNN build %.16s", build);
        assert_string_equal(text_builder_get(&first), expected);
    }
    assert_ok(cpu_dnnl_open());
    assert_non_null(cpu_dnnl_engine());
    assert_int_equal(dnnl.version()->major, DNNL_VERSION_MAJOR);
    cpu_dnnl_library_print(&second);
    assert_string_equal(text_builder_get(&first), text_builder_get(&second));
}

int test_cpu_dnnl_library(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dnnl_library_is_named_by_its_build),
    };
    return cmocka_run_group_tests_name("cpu_dnnl_library", tests, NULL, NULL);
}
