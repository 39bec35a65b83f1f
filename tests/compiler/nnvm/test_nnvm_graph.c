#include "compiler/nnvm/nnvm_graph.h"

#include <string.h>

#include "tests/compiler/nnvm_run.h"
#include "tests/support/test_support.h"

static void refuses(ErrorCode code, const char *message, const char *json) {
    NnvmGraph *graph = NULL;
    test_assert_fails(nnvm_graph_read((const uint8_t *)json, strlen(json), &graph), code, message,
        json, __FILE__, __LINE__);
    assert_null(graph);
}

static void test_nnvm_graph_refuses_wrong_orders(void **state) {
    (void)state;
    nnvm_refused(INVALID, "node 1: n1: input 0 is the node's own result: a cycle", "null; relu 1");
    nnvm_refused(INVALID, "node 1: n1: input 0 is a result of node 2, which comes later",
        "null; relu 2; relu 1");
    nnvm_refused(INVALID, "node 1: n1: input 0: node 9 of 2", "null; relu 9");
    nnvm_refused(INVALID, "head 0: node 7 of 2", "null; relu 0; heads 7");
    nnvm_refused(
        INVALID, "head 0: result 1 of node 1 (n1), which has 1", "null; relu 0; heads 1:1");
}

static void test_nnvm_graph_refuses_what_is_no_graph(void **state) {
    (void)state;
    refuses(ERROR_CORRUPT, "the JSON ends early", "{\"nodes\": [");
    refuses(ERROR_CORRUPT, "byte 1 of the JSON", "{]");
    refuses(ERROR_INVALID, "no object", "[]");
    refuses(ERROR_INVALID, "the list \"nodes\" is missing", "{}");
    refuses(ERROR_INVALID, "0 nodes and 0 heads", "{\"nodes\": [], \"heads\": []}");
    refuses(ERROR_INVALID, "node 0: no object", "{\"nodes\": [1], \"heads\": [[0, 0]]}");
    refuses(ERROR_INVALID, "the number -1",
        "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": []}], \"heads\": [[-1, 0]]}");
    refuses(ERROR_INVALID, "node 0: x: attribute k is no text",
        "{\"nodes\": [{\"op\": \"null\", \"name\": \"x\", \"inputs\": [], \"attrs\": {\"k\": 1}}], "
        "\"heads\": [[0, 0]]}");
}

static void test_nnvm_graph_is_known_by_its_beginning(void **state) {
    (void)state;
    static const char yes[] = " {\n \"nodes\": [", no[] = "[\"nodes\"]", other[] = "{\"a\": 1}";
    assert_true(nnvm_graph_probe((const uint8_t *)yes, sizeof yes));
    assert_false(nnvm_graph_probe((const uint8_t *)no, sizeof no));
    assert_false(nnvm_graph_probe((const uint8_t *)other, sizeof other));
}

int test_nnvm_graph(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nnvm_graph_refuses_wrong_orders),
        cmocka_unit_test(test_nnvm_graph_refuses_what_is_no_graph),
        cmocka_unit_test(test_nnvm_graph_is_known_by_its_beginning),
    };
    return cmocka_run_group_tests_name("nnvm_graph", tests, NULL, NULL);
}
