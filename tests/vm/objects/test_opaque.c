#include "tests/vm/vm_fixture.h"
#include "vm/objects/object.h"
#include "vm/objects/opaque.h"

static Opaque *heap(uint32_t count) {
    ShapeHeap *cells;
    Opaque *opaque;
    assert_ok(shape_heap_create(count, &cells));
    for (uint32_t i = 0; i < count; i++) cells->cells[i] = (int64_t)i * 10;
    assert_ok(opaque_create(NULL, &opaque_shape_heap, cells, &opaque));
    return opaque;
}

static void test_opaque_copy_is_apart_from_the_original(void **state) {
    (void)state;
    Opaque *original = heap(3), *copy;
    assert_ok(opaque_copy(original, &copy));
    ((ShapeHeap *)original->state)->cells[1] = 99;
    assert_int_equal(((ShapeHeap *)copy->state)->cells[1], 10);
    opaque_release(original);
    opaque_release(copy);
}

static void test_shape_heap_survives_save_and_load(void **state) {
    (void)state;
    Opaque *original = heap(3);
    ByteWriter OWN_BYTES(writer) = {0};
    assert_ok(opaque_shape_heap.save(original->state, &writer));
    ByteReader reader = byte_reader(writer.data, writer.size);
    void *loaded;
    assert_ok(opaque_shape_heap.load(&reader, &loaded));
    assert_int_equal(((ShapeHeap *)loaded)->count, 3);
    assert_int_equal(((ShapeHeap *)loaded)->cells[2], 20);
    opaque_shape_heap.destroy(loaded);
    opaque_release(original);
}

static void test_shape_heap_load_rejects_every_truncation(void **state) {
    (void)state;
    Opaque *original = heap(3);
    ByteWriter OWN_BYTES(writer) = {0};
    assert_ok(opaque_shape_heap.save(original->state, &writer));
    for (size_t size = 0; size < writer.size; size++) {
        ByteReader reader = byte_reader(writer.data, size);
        void *loaded;
        assert_fails(CORRUPT, opaque_shape_heap.load(&reader, &loaded));
    }
    opaque_release(original);
}

static void test_opaque_and_its_copies_are_charged_to_a_meter(void **state) {
    (void)state;
    ObjectMeter *meter;
    ShapeHeap *cells;
    Opaque *opaque, *copy, *more;
    assert_ok(object_meter_create(2000, &meter));
    assert_ok(shape_heap_create(100, &cells));
    assert_ok(opaque_create(meter, &opaque_shape_heap, cells, &opaque));
    assert_true(object_meter_used_bytes(meter) >= 800);
    assert_ok(opaque_copy(opaque, &copy));
    assert_true(object_meter_used_bytes(meter) >= 1600);
    assert_fails(EXHAUSTED, opaque_copy(opaque, &more));
    opaque_release(opaque);
    opaque_release(copy);
    assert_int_equal(object_meter_used_bytes(meter), 0);
    object_meter_release(meter);
}

int test_opaque(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opaque_copy_is_apart_from_the_original),
        cmocka_unit_test(test_shape_heap_survives_save_and_load),
        cmocka_unit_test(test_shape_heap_load_rejects_every_truncation),
        cmocka_unit_test(test_opaque_and_its_copies_are_charged_to_a_meter),
    };
    return cmocka_run_group_tests_name("opaque", tests, NULL, NULL);
}
