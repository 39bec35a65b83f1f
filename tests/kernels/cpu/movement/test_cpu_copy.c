#include <stdlib.h>

#include "kernels/cpu/movement/cpu_copy.h"
#include "tests/kernels/fixtures/everywhere.h"

typedef struct Case {
    uint32_t rank;
    int64_t dims[4], from[4], to[4];
    int64_t from_offset;
} Case;

enum { ELEMENTS = 70000 };

/* Element by element, byte by byte. */
static void reference(const Case *test, uint32_t size, char *to, const char *from) {
    int64_t count = 1;
    for (uint32_t d = 0; d < test->rank; d++) count *= test->dims[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, a = test->from_offset, b = 0;
        for (uint32_t d = test->rank; d-- > 0; rest /= test->dims[d]) {
            a += rest % test->dims[d] * test->from[d];
            b += rest % test->dims[d] * test->to[d];
        }
        memcpy(to + b * size, from + a * size, size);
    }
}

static void check(const Case *test, uint32_t size, uint32_t threads) {
    char *from = malloc(ELEMENTS * 8 + 8), *to = malloc(ELEMENTS * 8 + 8);
    char *expected = malloc(ELEMENTS * 8 + 8);
    uint64_t random = 3;
    CpuCopy copy;
    assert_true(from && to && expected);
    for (int i = 0; i < ELEMENTS * 8; i++) from[i] = (char)test_random(&random);
    memset(to, 0x5A, ELEMENTS * 8 + 8);
    memset(expected, 0x5A, ELEMENTS * 8 + 8);
    /* one byte off, so that nothing is aligned */
    reference(test, size, expected + 1, from + 1);
    cpu_copy_make(test->rank, test->dims, test->from, test->from_offset, test->to, 0, size, &copy);
    assert_ok(cpu_copy_run(cpu_device(everywhere_cpu()), threads, &copy, to + 1, from + 1));
    assert_memory_equal(to, expected, ELEMENTS * 8 + 8);
    free(from);
    free(to);
    free(expected);
}

static void test_copies_agree_with_one_element_at_a_time(void **state) {
    static const Case cases[] = {
        {0, {0}, {0}, {0}, 3},                                         /* one element */
        {1, {1000}, {1}, {1}, 0},                                      /* a run */
        {1, {1000}, {0}, {1}, 5},                                      /* one repeated */
        {1, {1000}, {-1}, {1}, 999},                                   /* backwards */
        {2, {37, 53}, {1, 37}, {53, 1}, 0},                            /* a transposition */
        {2, {256, 257}, {1, 256}, {257, 1}, 0},                        /* a larger one */
        {3, {5, 37, 2}, {2, 10, 1}, {74, 2, 1}, 0},                    /* pairs travel */
        {3, {5, 37, 3}, {3, 15, 1}, {111, 3, 1}, 0},                   /* triples */
        {4, {4, 5, 6, 7}, {1, 4, 20, 120}, {210, 42, 7, 1}, 0},        /* reversed */
        {4, {3, 4, 5, 64}, {1280, 64, 256, 1}, {1280, 320, 64, 1}, 0}, /* heads and rows */
        {3, {3, 40, 50}, {0, 0, 1}, {2000, 50, 1}, 0},                 /* rows repeated */
        {3, {3, 40, 50}, {0, 1, 0}, {2000, 50, 1}, 0},                 /* columns repeated */
        {2, {20, 2}, {3, 1}, {5, 1}, 1},                               /* gaps on both sides */
        {2, {20, 30}, {90, 3}, {30, 1}, 2},                            /* every third */
        {2, {30, 0}, {1, 1}, {1, 1}, 0},                               /* nothing */
        {3, {1, 50, 1}, {7, 2, 9}, {1, 3, 1}, 0},                      /* both strided */
        {3, {2, 3, 4}, {12, 1, 3}, {12, 4, 1}, 0},                     /* small tiles */
        {1, {60000}, {1}, {1}, 0},                                     /* cut into units */
    };
    static const uint32_t sizes[] = {1, 2, 4, 8};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < 4; k++) {
            check(&cases[i], sizes[k], 1);
            check(&cases[i], sizes[k], 8);
        }
}

static void test_copying_bytes_of_nothing_or_onto_itself_does_nothing(void **state) {
    char x[3] = "ab";
    (void)state;
    CpuDevice *device = cpu_device(everywhere_cpu());
    assert_ok(cpu_copy_bytes(device, 2, NULL, NULL, 0));
    assert_ok(cpu_copy_bytes(device, 2, x, x, 2));
    assert_string_equal(x, "ab");
}

int test_cpu_copy(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_agree_with_one_element_at_a_time),
        cmocka_unit_test(test_copying_bytes_of_nothing_or_onto_itself_does_nothing),
    };
    return cmocka_run_group_tests_name("cpu_copy", tests, NULL, NULL);
}
