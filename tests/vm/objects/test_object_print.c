#include "tests/vm/vm_fixture.h"
#include "vm/objects/adt.h"
#include "vm/objects/list.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "vm/objects/opaque.h"
#include "vm/objects/packed.h"
#include "vm/objects/closure.h"

static void assert_prints(Value owned, const char *expected) {
    TextBuilder OWN_TEXT(text) = {0};
    value_print(&owned, &text);
    assert_string_equal(text_builder_get(&text), expected);
    value_release(&owned);
}

static void test_print_of_scalars(void **state) {
    (void)state;
    assert_prints(value_nil(), "nil");
    assert_prints(value_bool(true), "true");
    assert_prints(value_int(-5), "-5");
    assert_prints(value_float(0.5), "0.5");
    assert_prints(value_dtype(DTYPE_INT8), "int8");
}

static void test_print_of_every_kind_of_object(void **state) {
    (void)state;
    StringObject *string;
    ShapeObject *shape;
    ShapeHeap *heap;
    Opaque *opaque;
    PackedRegistry *registry;
    PackedObject *packed;
    Closure *closure;
    Shape dims = shape_make(2, (int64_t[]){2, 3});
    assert_ok(string_object_create(NULL, "ab", 2, &string));
    assert_prints(value_object(OBJECT_STRING, string), "\"ab\"");
    assert_ok(shape_object_create(&dims, &shape));
    assert_prints(value_object(OBJECT_SHAPE, shape), "shape [2, 3]");
    assert_ok(shape_heap_create(4, &heap));
    assert_ok(opaque_create(NULL, &opaque_shape_heap, heap, &opaque));
    assert_prints(value_object(OBJECT_OPAQUE, opaque), "shape_heap of 4 cells");
    assert_ok(packed_registry_create(&registry));
    assert_ok(packed_object_create(registry, "list.size", &packed));
    packed_registry_release(registry);
    assert_prints(value_object(OBJECT_PACKED_FUNCTION, packed), "packed function list.size");
    assert_prints(value_object(OBJECT_TENSOR, vm_floats(2, (float[]){1, 2})), "tensor float32[2]");
    assert_prints(value_object(OBJECT_STORAGE, vm_storage(8)), "storage of 8 bytes in slot 0");
    assert_ok(closure_create(NULL, 3, CLOSURE_LAST, 1, &closure));
    closure->bound[0] = value_int(9);
    assert_prints(value_object(OBJECT_CLOSURE, closure), "closure of function 3 with last (9)");
}

static void test_print_cuts_what_is_long_or_deep(void **state) {
    (void)state;
    List *list;
    assert_ok(list_create(NULL, 0, &list));
    for (int i = 0; i < 100; i++) assert_ok(list_append(list, value_int(i)));
    assert_prints(value_object(OBJECT_LIST, list),
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...]");
    Value inner = value_int(1);
    for (int i = 0; i < 1000; i++) {
        Adt *adt;
        assert_ok(adt_create(NULL, 0, 1, &adt));
        adt->fields[0] = inner;
        inner = value_object(OBJECT_ADT, adt);
    }
    assert_prints(inner, "(((((((...)))))))");
}

int test_object_print(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_of_scalars),
        cmocka_unit_test(test_print_of_every_kind_of_object),
        cmocka_unit_test(test_print_cuts_what_is_long_or_deep),
    };
    return cmocka_run_group_tests_name("object_print", tests, NULL, NULL);
}
