#include "tests/kernels/fixtures/cuda_fixture.h"

static const CudaCall extremes_are_found_where_the_cpu_finds_them[] = {
    {"cuda.arg_reduce", "ArgMax", "{axis=1}", DTYPES_NUMBER, 0, 1, "T[3,300]"},
    {"cuda.arg_reduce", "ArgMax", "{axis=1}", DTYPES_NUMBER, 0, 1, "T[70,5]"},
    {"cuda.arg_reduce", "ArgMax", "{axis=1}", DTYPES_NUMBER, 0, 1, "T[2,70,3]:0:3"},
    {"cuda.arg_reduce", "ArgMax", "{axis=0, keepdims=0}", DTYPES_NUMBER, 0, 1, "T[3,300]"},
    {"cuda.arg_reduce", "ArgMax", "{axis=0, keepdims=0}", DTYPES_NUMBER, 0, 1, "T[70,5]"},
    {"cuda.arg_reduce", "ArgMax", "{axis=0, keepdims=0}", DTYPES_NUMBER, 0, 1, "T[2,70,3]:0:3"},
    {"cuda.arg_reduce", "ArgMax", "{axis=-1, select_last_index=1}", DTYPES_NUMBER, 0, 1,
        "T[3,300]"},
    {"cuda.arg_reduce", "ArgMax", "{axis=-1, select_last_index=1}", DTYPES_NUMBER, 0, 1, "T[70,5]"},
    {"cuda.arg_reduce", "ArgMax", "{axis=-1, select_last_index=1}", DTYPES_NUMBER, 0, 1,
        "T[2,70,3]:0:3"},
    {"cuda.arg_reduce", "ArgMin", "{axis=1}", DTYPES_NUMBER, 0, 1, "T[3,300]"},
    {"cuda.arg_reduce", "ArgMin", "{axis=1}", DTYPES_NUMBER, 0, 1, "T[70,5]"},
    {"cuda.arg_reduce", "ArgMin", "{axis=1}", DTYPES_NUMBER, 0, 1, "T[2,70,3]:0:3"},
    {"cuda.arg_reduce", "ArgMin", "{axis=0, keepdims=0}", DTYPES_NUMBER, 0, 1, "T[3,300]"},
    {"cuda.arg_reduce", "ArgMin", "{axis=0, keepdims=0}", DTYPES_NUMBER, 0, 1, "T[70,5]"},
    {"cuda.arg_reduce", "ArgMin", "{axis=0, keepdims=0}", DTYPES_NUMBER, 0, 1, "T[2,70,3]:0:3"},
    {"cuda.arg_reduce", "ArgMin", "{axis=-1, select_last_index=1}", DTYPES_NUMBER, 0, 1,
        "T[3,300]"},
    {"cuda.arg_reduce", "ArgMin", "{axis=-1, select_last_index=1}", DTYPES_NUMBER, 0, 1, "T[70,5]"},
    {"cuda.arg_reduce", "ArgMin", "{axis=-1, select_last_index=1}", DTYPES_NUMBER, 0, 1,
        "T[2,70,3]:0:3"},
};

static void test_extremes_are_found_where_the_cpu_finds_them(void **state) {
    (void)state;
    cuda_fixture_check(extremes_are_found_where_the_cpu_finds_them);
}

static const CudaCall top_k_orders_as_the_cpu_does[] = {
    {"cuda.top_k", "TopK", NULL, DTYPES_NUMBER, 0, 2, "T[3,300] i64[1]=5"},
    {"cuda.top_k", "TopK", NULL, DTYPES_NUMBER, 0, 2, "T[9]:0:2 i64[1]=9"},
    {"cuda.top_k", "TopK", NULL, DTYPES_NUMBER, 0, 2, "T[2,5] i64[1]=0"},
    {"cuda.top_k", "TopK", "{largest=0}", DTYPES_NUMBER, 0, 2, "T[3,300] i64[1]=5"},
    {"cuda.top_k", "TopK", "{largest=0}", DTYPES_NUMBER, 0, 2, "T[9]:0:2 i64[1]=9"},
    {"cuda.top_k", "TopK", "{largest=0}", DTYPES_NUMBER, 0, 2, "T[2,5] i64[1]=0"},
    {"cuda.top_k", "TopK", "{axis=0}", DTYPES_NUMBER, 0, 2, "T[7,3] i64[1]=2"},
};

/* Equal elements go by their place. */
static void test_top_k_orders_as_the_cpu_does(void **state) {
    (void)state;
    cuda_fixture_check(top_k_orders_as_the_cpu_does);
}

static const CudaCall sums_are_added_on_in_order[] = {
    {"cuda.cum_sum", "CumSum", NULL, DTYPES_NUMBER, 0, 1, "T[3,50] i64[]=1"},
    {"cuda.cum_sum", "CumSum", NULL, DTYPES_NUMBER, 0, 1, "T[30,3] i32[]=0"},
    {"cuda.cum_sum", "CumSum", NULL, DTYPES_NUMBER, 0, 1, "T[2,0] i32[]=1"},
    {"cuda.cum_sum", "CumSum", "{exclusive=1}", DTYPES_NUMBER, 0, 1, "T[3,50] i64[]=1"},
    {"cuda.cum_sum", "CumSum", "{exclusive=1}", DTYPES_NUMBER, 0, 1, "T[30,3] i32[]=0"},
    {"cuda.cum_sum", "CumSum", "{exclusive=1}", DTYPES_NUMBER, 0, 1, "T[2,0] i32[]=1"},
    {"cuda.cum_sum", "CumSum", "{reverse=1}", DTYPES_NUMBER, 0, 1, "T[3,50] i64[]=1"},
    {"cuda.cum_sum", "CumSum", "{reverse=1}", DTYPES_NUMBER, 0, 1, "T[30,3] i32[]=0"},
    {"cuda.cum_sum", "CumSum", "{reverse=1}", DTYPES_NUMBER, 0, 1, "T[2,0] i32[]=1"},
    {"cuda.cum_sum", "CumSum", "{exclusive=1, reverse=1}", DTYPES_NUMBER, 0, 1, "T[3,50] i64[]=1"},
    {"cuda.cum_sum", "CumSum", "{exclusive=1, reverse=1}", DTYPES_NUMBER, 0, 1, "T[30,3] i32[]=0"},
    {"cuda.cum_sum", "CumSum", "{exclusive=1, reverse=1}", DTYPES_NUMBER, 0, 1, "T[2,0] i32[]=1"},
};

static void test_sums_are_added_on_in_order(void **state) {
    (void)state;
    cuda_fixture_check(sums_are_added_on_in_order);
}

int test_cuda_lanes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extremes_are_found_where_the_cpu_finds_them),
        cmocka_unit_test(test_top_k_orders_as_the_cpu_does),
        cmocka_unit_test(test_sums_are_added_on_in_order),
    };
    return cmocka_run_group_tests_name("cuda_lanes", tests, NULL, NULL);
}
