#include "tests/kernels/cuda_headers.h"

#include "tests/support/test_support.h"

static void test_what_we_declare_is_what_nvidia_does(void **state) {
    (void)state;
    for (size_t i = 0; cuda_headers_ours[i].name; i++)
        if (cuda_headers_ours[i].value != cuda_headers_theirs[i].value)
            fail_msg("%s is %d, not %d", cuda_headers_ours[i].name,
                (int)cuda_headers_theirs[i].value, (int)cuda_headers_ours[i].value);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_we_declare_is_what_nvidia_does),
    };
    return cmocka_run_group_tests_name("cuda_headers", tests, NULL, NULL);
}
