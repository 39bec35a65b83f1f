#include "kernels/cpu/reduction/cpu_tree_nodes.h"

#include <math.h>

#include "tests/support/test_support.h"

enum { NODES = 5, ALIGNED = 16 };

/* x0 <= 1, then x1 <= 2, else three leaves. */
static const double limits[NODES] = {1, (double)INFINITY, 2, (double)INFINITY, (double)INFINITY};
static const int32_t good_links[2 * NODES] = {0, 1, 1, 1, 2, 3, 1, 3, 1, 4};

typedef struct Tables {
    float f32[2 * NODES];
    double f64[2 * NODES];
    int32_t links[2 * NODES];
    CpuTreeTables tables;
} Tables;

static void make(Tables *made, bool wide) {
    for (int i = 0; i < NODES; i++) {
        made->f64[2 * i] = (double)-INFINITY;
        made->f64[2 * i + 1] = limits[i];
    }
    for (int i = 0; i < 2 * NODES; i++) {
        made->f32[i] = (float)made->f64[i];
        made->links[i] = good_links[i];
    }
    made->tables = (CpuTreeTables){.wide = wide,
        .nodes = NODES,
        .columns = 2,
        .depth = 4,
        .intervals = wide ? (const void *)made->f64 : made->f32,
        .links = made->links};
}

static void check_walk(bool wide) {
    static const double rows[CPU_TREE_LANES][2] = {{0, 0}, {1, 9}, {2, 0}, {2, 2}, {2, 3},
        {(double)INFINITY, (double)INFINITY}, {1, 3}, {(double)-INFINITY, 3}};
    static const uint32_t ends[CPU_TREE_LANES] = {1, 1, 3, 3, 4, 4, 1, 1};
    float narrow[CPU_TREE_LANES][2];
    const void *lanes[CPU_TREE_LANES];
    uint32_t at[CPU_TREE_LANES] = {0};
    _Alignas(ALIGNED) unsigned char packed[NODES * CPU_TREE_NODE_BYTES];
    Tables made;
    make(&made, wide);
    for (int k = 0; k < CPU_TREE_LANES; k++) {
        for (int j = 0; j < 2; j++) narrow[k][j] = (float)rows[k][j];
        lanes[k] = wide ? (const void *)rows[k] : narrow[k];
    }
    assert_true(cpu_tree_nodes_pack(&made.tables, packed));
    cpu_tree_nodes_walk(&made.tables, packed, lanes, at);
    for (int k = 0; k < CPU_TREE_LANES; k++) assert_int_equal(at[k], ends[k]);
}

static void test_lanes_go_to_their_leaves(void **state) {
    (void)state;
    check_walk(false);
    check_walk(true);
}

static void refuse(int link, int32_t value, int limit, double number) {
    _Alignas(ALIGNED) unsigned char packed[NODES * CPU_TREE_NODE_BYTES];
    Tables made;
    make(&made, true);
    made.links[link] = value;
    made.f64[limit] = number;
    assert_false(cpu_tree_nodes_pack(&made.tables, packed));
}

static void test_tables_that_a_walk_could_leave_are_not_packed(void **state) {
    const double least = (double)-INFINITY;
    (void)state;
    refuse(0, 4, 0, least);       /* column 2 */
    refuse(0, -1, 0, least);      /* a large column */
    refuse(1, 4, 0, least);       /* the second child is node 5 */
    refuse(1, -1, 0, least);      /* a large node */
    refuse(9, 5, 0, least);       /* a leaf that leads to node 5 */
    refuse(0, 0, 0, 0);           /* a lower bound */
    refuse(0, 0, 1, (double)NAN); /* nothing is below NaN */
}

static void test_nan_is_found_wherever_it_is(void **state) {
    double wide[5] = {0};
    float narrow[5] = {0};
    (void)state;
    assert_false(cpu_tree_nodes_have_nan(true, wide, 5));
    assert_false(cpu_tree_nodes_have_nan(false, narrow, 5));
    wide[4] = (double)NAN;
    narrow[0] = NAN;
    assert_true(cpu_tree_nodes_have_nan(true, wide, 5));
    assert_true(cpu_tree_nodes_have_nan(false, narrow, 5));
    assert_false(cpu_tree_nodes_have_nan(true, wide, 4));
}

int test_cpu_tree_nodes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_go_to_their_leaves),
        cmocka_unit_test(test_tables_that_a_walk_could_leave_are_not_packed),
        cmocka_unit_test(test_nan_is_found_wherever_it_is),
    };
    return cmocka_run_group_tests_name("cpu_tree_nodes", tests, NULL, NULL);
}
