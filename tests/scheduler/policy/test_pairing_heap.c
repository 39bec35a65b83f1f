#include "scheduler/policy/pairing_heap.h"

#include "tests/support/test_support.h"

typedef struct Item {
    HeapNode node;
    uint64_t key;
    bool inside;
} Item;

static bool less(const HeapNode *a, const HeapNode *b) {
    const Item *x = HEAP_ITEM_CONST(a, Item, node), *y = HEAP_ITEM_CONST(b, Item, node);
    return x->key != y->key ? x->key < y->key : x < y;
}

/* Random pushes and removals of any element against a scan for the least. */
static void test_pairing_heap_gives_the_least_after_any_removal(void **state) {
    (void)state;
    enum { COUNT = 200, STEPS = 20000 };
    static Item items[COUNT];
    Heap heap = {0};
    uint64_t random = 5;
    for (int step = 0; step < STEPS; step++) {
        Item *item = &items[test_random(&random) % COUNT], *least = NULL;
        if (item->inside)
            heap_remove(&heap, &item->node, less);
        else {
            item->key = test_random(&random) % 50;
            heap_push(&heap, &item->node, less);
        }
        item->inside = !item->inside;
        for (int i = 0; i < COUNT; i++)
            if (items[i].inside && (!least || less(&items[i].node, &least->node)))
                least = &items[i];
        assert_ptr_equal(heap.root, least ? &least->node : NULL);
    }
}

static void test_pairing_heap_sorts(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static Item items[COUNT];
    Heap heap = {0};
    uint64_t random = 9, before = 0;
    for (int i = 0; i < COUNT; i++) {
        items[i].key = test_random(&random);
        heap_push(&heap, &items[i].node, less);
    }
    for (int i = 0; i < COUNT; i++) {
        Item *item = HEAP_ITEM(heap.root, Item, node);
        assert_true(item->key >= before);
        before = item->key;
        heap_remove(&heap, heap.root, less);
    }
    assert_null(heap.root);
}

int test_pairing_heap(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairing_heap_gives_the_least_after_any_removal),
        cmocka_unit_test(test_pairing_heap_sorts),
    };
    return cmocka_run_group_tests_name("pairing_heap", tests, NULL, NULL);
}
