/* A set becomes a search. */
#include "compiler/frontend/nodes/onnx_trees.h"

#include "tests/support/test_support.h"

enum { VALUES = 5, ROOM = 3 + TREE_MEMBER_NODES * VALUES };

/* The node where a value ends, behind nodes that only go on. */
static uint32_t search(const TreeEnsemble *ensemble, double value) {
    uint32_t at = 0, steps = 0;
    while (ensemble->nodes[at].mode != TREE_LEAF) {
        const TreeNode *node = &ensemble->nodes[at];
        const bool yes = node->mode == TREE_GO ||
                         (node->mode == TREE_LEQ ? value <= node->split : value == node->split);
        at = yes ? node->yes : node->no;
        assert_true(++steps <= ensemble->detour + 1);
    }
    return at;
}

static void test_tree_members_are_found(void **state) {
    (void)state;
    TreeNode nodes[ROOM] = {
        {.mode = TREE_EQ, .yes = 1, .no = 2}, {.mode = TREE_LEAF}, {.mode = TREE_LEAF}};
    TreeEnsemble ensemble = {.nodes = nodes, .node_count = 3};
    double values[VALUES] = {7, -1, 3, 7, 0.5};
    tree_expand_members(&ensemble, 0, VALUES, values);
    assert_true(ensemble.node_count <= ROOM);
    const double inside[] = {7, -1, 3, 0.5}, outside[] = {8, -2, 3.5, 0, 6};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        assert_int_equal(search(&ensemble, inside[i]), 1);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_int_equal(search(&ensemble, outside[i]), 2);
}

static void test_tree_members_of_an_empty_set_are_none(void **state) {
    (void)state;
    TreeNode nodes[3] = {
        {.mode = TREE_EQ, .yes = 1, .no = 2}, {.mode = TREE_LEAF}, {.mode = TREE_LEAF}};
    TreeEnsemble ensemble = {.nodes = nodes, .node_count = 3};
    double none = 0;
    tree_expand_members(&ensemble, 0, 0, &none);
    assert_int_equal(search(&ensemble, 0), 2);
}

int test_onnx_tree_members(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_members_are_found),
        cmocka_unit_test(test_tree_members_of_an_empty_set_are_none),
    };
    return cmocka_run_group_tests_name("onnx_tree_members", tests, NULL, NULL);
}
