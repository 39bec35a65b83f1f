#include <string.h>

#include "compiler/nnvm/graph_plan.h"
#include "tests/compiler/graph_run.h"
#include "tests/support/test_support.h"

/* A plan with its graph. */
typedef struct Found {
    NnvmGraph *graph;
    GraphPlan *plan;
} Found;

static void found_deinit(Found *found) {
    graph_plan_release(found->plan);
    nnvm_graph_release(found->graph);
}
#define OWN_FOUND(name) __attribute__((cleanup(found_deinit))) name

static void find(const char *nodes, Found *out) {
    TextBuilder OWN_TEXT(json) = {0};
    graph_write(nodes, &json);
    assert_ok(nnvm_graph_read((const uint8_t *)text_builder_get(&json), json.size, &out->graph));
    assert_ok(graph_plan_read(out->graph, &out->plan));
    assert_ok(graph_lives_find(out->plan));
}

static void test_graph_lives_end_where_nobody_reads_any_more(void **state) {
    (void)state;
    Found OWN_FOUND(found) = {0};
    find("null 3@0; scale 0 -> 3@1; scale 1 -> 5@2; scale 2 -> 9@1; scale 3 -> 3@2", &found);
    const GraphPlan *plan = found.plan;
    assert_int_equal(plan->life_count, 4); /* each of the two storages twice */
    assert_int_equal(plan->lives[0].bytes, 12);
    assert_int_equal(plan->lives[2].bytes, 36);
    assert_int_equal(plan->results[0].life, GRAPH_NONE);
    assert_int_equal(plan->results[1].last_read, 2);
    assert_int_equal(plan->results[4].last_read, 5); /* a head */
}

static void test_graph_lives_go_on_through_functions_in_place(void **state) {
    (void)state;
    Found OWN_FOUND(found) = {0};
    find("null 3@0; scale 0 -> 3@1; scale 1 -> 4@1; add 2 2 -> 3@2", &found);
    const GraphPlan *plan = found.plan;
    assert_int_equal(plan->life_count, 2);
    assert_int_equal(plan->lives[0].bytes, 16);
    assert_int_equal(plan->lives[0].first, 1);
    assert_int_equal(plan->lives[0].last, 2);
    assert_int_equal(plan->results[1].life, plan->results[2].life);
}

static void test_graph_lives_follow_views(void **state) {
    (void)state;
    Found OWN_FOUND(found) = {0};
    find("null 3@0; scale 0 -> 2,3@1; __nop 1 -> 6@1; __copy 2 -> 6@1; scale 3 -> 6@2", &found);
    const GraphPlan *plan = found.plan;
    assert_int_equal(plan->results[3].content, 1);
    assert_int_equal(plan->nodes[3].kind, GRAPH_NOP); /* within one storage */
    assert_int_equal(plan->life_count, 2);
}

static void test_graph_lives_refuse_what_is_overwritten(void **state) {
    (void)state;
    graph_refused(INVALID,
        "node 3: n3 (add): input 0: result 0 of node 1 (n1) is read from storage 1, which node 2 "
        "(n2) has overwritten",
        "null 3@0; scale 0 -> 3@1; scale 0 -> 3@1; add 1 2 -> 3@2");
    graph_refused(INVALID, "head 0: result 0 of node 1 (n1) is read from storage 1, which node 3",
        "null 3@0; scale 0 -> 3@1; scale 0 -> 3@2; scale 2 -> 3@1; heads 1 2");
    graph_refused(INVALID, "node 3: n3 (scale): input 0: result 0 of node 1 (n1) is read from",
        "null 3@0; scale 0 -> 3@1; scale 1 -> 3@1; scale 1 -> 3@2"); /* after a function in place */
    graph_refused(INVALID, "node 4: n4 (scale): input 0: result 0 of node 2 (n2) is read from",
        "null 3@0; scale 0 -> 3@1; __nop 1 -> 1,3@1; scale 1 -> 3@1; scale 2 -> 3@2");
}

static void test_graph_lives_refuse_shared_storages(void **state) {
    (void)state;
    graph_refused(INVALID,
        "node 1: n1: storage 0, which node 0 (n0) has, too: one value for two variables",
        "null 3@0; null 3@0; add 0 1 -> 3@2");
    graph_refused(INVALID,
        "node 2: n2 (add): result 0: it is written to storage 1, which holds the variable of node "
        "1 (n1)",
        "null 3@0; null 3@1; add 0 1 -> 3@1");
    graph_refused(INVALID,
        "node 1: n1 (both): result 1: it is written to storage 1, as result 0 of the same node is",
        "null 3@0; both 0 -> 3@1 3@1");
}

static void test_graph_lives_refuse_views_of_nothing(void **state) {
    (void)state;
    graph_refused(INVALID,
        "node 1: n1 (__nop): result 0 is in storage 1, where no input is: nothing writes it",
        "null 3@0; __nop 0 -> 3@1");
    graph_refused(UNSUPPORTED,
        "node 1: n1 (__nop): result 0 is 16 bytes of float32, and input 0 is 12 bytes of float32",
        "null 3@0; __nop 0 -> 4@0");
    graph_refused(INVALID, "node 1: n1 (__copy): copies 12 bytes of float32 to 16 bytes of float32",
        "null 3@0; __copy 0 -> 4@1");
}

int test_graph_lives(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_lives_end_where_nobody_reads_any_more),
        cmocka_unit_test(test_graph_lives_go_on_through_functions_in_place),
        cmocka_unit_test(test_graph_lives_follow_views),
        cmocka_unit_test(test_graph_lives_refuse_what_is_overwritten),
        cmocka_unit_test(test_graph_lives_refuse_shared_storages),
        cmocka_unit_test(test_graph_lives_refuse_views_of_nothing),
    };
    return cmocka_run_group_tests_name("graph_lives", tests, NULL, NULL);
}
