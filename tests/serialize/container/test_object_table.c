#include "serialize/container/object_table.h"

#include "kernels/tensor/tensor.h"
#include "tests/support/test_support.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"

/* Children before parents, each once. */
static void test_object_table_orders_children_before_parents(void **state) {
    (void)state;
    OWN(ObjectTable, table) = NULL;
    static const Shape scalar = {0};
    Tensor *tensor;
    Adt *pair, *outer;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT64, &scalar, &tensor));
    assert_ok(adt_create(NULL, 0, 2, &pair));
    pair->fields[0] = value_object(OBJECT_TENSOR, tensor);
    pair->fields[1] = value_copy(pair->fields[0]);
    assert_ok(adt_create(NULL, 1, 2, &outer));
    outer->fields[0] = value_object(OBJECT_ADT, pair);
    outer->fields[1] = value_copy(outer->fields[0]);
    Value root = value_object(OBJECT_ADT, outer);
    assert_ok(object_table_create(&table));
    assert_ok(object_table_add(table, root));
    assert_ok(object_table_add(table, value_int(5)));
    assert_ok(object_table_add(table, root));
    assert_int_equal(object_table_count(table), 4);
    assert_int_equal(object_table_find(table, tensor->storage), 0);
    assert_int_equal(object_table_find(table, tensor), 1);
    assert_int_equal(object_table_find(table, pair), 2);
    assert_int_equal(object_table_find(table, outer), 3);
    assert_int_equal(object_table_find(table, &root), UINT32_MAX);
    value_release(&root);
}

/* Nothing recurses: a list in a list in a list, a million times. */
static void test_object_table_takes_deep_nesting(void **state) {
    (void)state;
    enum { DEPTH = 1000000 };
    OWN(ObjectTable, table) = NULL;
    Value inner = value_nil();
    for (int i = 0; i < DEPTH; i++) {
        List *list;
        assert_ok(list_create(NULL, 1, &list));
        assert_ok(list_append(list, inner));
        inner = value_object(OBJECT_LIST, list);
    }
    assert_ok(object_table_create(&table));
    assert_ok(object_table_add(table, inner));
    assert_int_equal(object_table_count(table), DEPTH);
    assert_ptr_equal(object_table_get(table, DEPTH - 1).object, inner.object);
    value_release(&inner);
}

int test_object_table(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object_table_orders_children_before_parents),
        cmocka_unit_test(test_object_table_takes_deep_nesting),
    };
    return cmocka_run_group_tests_name("object_table", tests, NULL, NULL);
}
