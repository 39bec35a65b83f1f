#include "compiler/nnvm/graph_emit.h"

#include "tests/compiler/graph_run.h"
#include "tests/support/test_support.h"

static void test_graph_emit_calls_functions_with_destinations(void **state) {
    (void)state;
    graph_code("null 3@0; null 3@1; add 0 1 -> 3@2", "    AllocStorage 12, 64, 0, float32 -> r2\n"
                                                     "    AllocTensor r2!, 0, float32, 3 -> r3\n"
                                                     "    Call &add, r0!, r1!, r3\n"
                                                     "    Ret r3!\n");
}

static void test_graph_emit_gives_registers_back(void **state) {
    (void)state;
    graph_code("null 3@0; scale 0 -> 3@1; scale 1 -> 3@2; scale 2 -> 3@1",
        "    AllocStorage 12, 64, 0, float32 -> r1\n"
        "    AllocTensor r1!, 0, float32, 3 -> r2\n"
        "    Call &scale, r0!, r2\n"
        "    AllocStorage 12, 64, 0, float32 -> r1\n"
        "    AllocTensor r1!, 0, float32, 3 -> r0\n"
        "    Call &scale, r2!, r0\n"
        "    AllocStorage 12, 64, 0, float32 -> r1\n"
        "    AllocTensor r1!, 0, float32, 3 -> r2\n"
        "    Call &scale, r0!, r2\n"
        "    Ret r2!\n");
}

static void test_graph_emit_works_in_place_in_one_storage(void **state) {
    (void)state;
    graph_code("null 3@0; scale 0 -> 3@1; scale 1 -> s@1",
        "    AllocStorage 12, 64, 0, float32 -> r1\n"
        "    AllocTensor r1, 0, float32, 3 -> r2\n"
        "    Call &scale, r0!, r2\n"
        "    AllocTensor r1!, 0, float32 -> r0\n"
        "    Call &scale, r2!, r0\n"
        "    Ret r0!\n");
}

static void test_graph_emit_flattens(void **state) {
    (void)state;
    graph_code("null 2,3@0; flat scale 0 -> 3,2@1", "    ReshapeTensor r0!, @1 -> r1\n"
                                                    "    AllocStorage 24, 64, 0, float32 -> r2\n"
                                                    "    AllocTensor r2!, 0, float32, 6 -> r3\n"
                                                    "    Call &scale, r1!, r3\n"
                                                    "    ReshapeTensor r3!, @2 -> r1\n"
                                                    "    Ret r1!\n");
}

static void test_graph_emit_moves_views_and_copies(void **state) {
    (void)state;
    graph_code("null 2,3@0; __nop 0 -> 2,3@0; __nop 1 -> 6@0; __copy 2 -> 3,2@1; f 3 -> s@2",
        "    Move r0! -> r1\n"
        "    ReshapeTensor r1!, @1 -> r0\n"
        "    ReshapeTensor r0!, @2 -> r1\n"
        "    AllocStorage 24, 64, 0, float32 -> r2\n"
        "    AllocTensor r2!, 0, float32, 3, 2 -> r3\n"
        "    InvokePacked.host %0, r1! => r3\n"
        "    AllocStorage 4, 64, 0, float32 -> r2\n"
        "    AllocTensor r2!, 0, float32 -> r0\n"
        "    Call &f, r3!, r0\n"
        "    Ret r0!\n");
}

static void test_graph_emit_drops_what_nobody_reads(void **state) {
    (void)state;
    graph_code("null 0@0; both 0 -> 0@1 3@2; heads 1 0 1",
        "    AllocStorage 1, 64, 0, float32 -> r1\n"
        "    AllocTensor r1!, 0, float32, 0 -> r2\n"
        "    AllocStorage 12, 64, 0, float32 -> r3\n"
        "    AllocTensor r3!, 0, float32, 3 -> r4\n"
        "    Call &both, r0, r2, r4!\n"
        "    AllocADT 0, r2, r0!, r2! -> r4\n"
        "    Ret r4!\n");
}

int test_graph_emit(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_emit_calls_functions_with_destinations),
        cmocka_unit_test(test_graph_emit_gives_registers_back),
        cmocka_unit_test(test_graph_emit_works_in_place_in_one_storage),
        cmocka_unit_test(test_graph_emit_flattens),
        cmocka_unit_test(test_graph_emit_moves_views_and_copies),
        cmocka_unit_test(test_graph_emit_drops_what_nobody_reads),
    };
    return cmocka_run_group_tests_name("graph_emit", tests, NULL, NULL);
}
