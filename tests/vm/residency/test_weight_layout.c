#include "vm/residency/weight_layout.h"

#include "tests/vm/vm_fixture.h"

static const char PROGRAM[] =
    "constant @d slot 1 = float32[5] {1, 2, 3, 4, 5}\nconstant @h slot 0 = int64[1] {3}\n"
    "constant @e slot 1 = float32[0] {}\nconstant @i = int 4\n"
    "constant @f slot 1 = float32[1] {9}\n"
    "function g() exported {\n AllocADT 0, @d, @h, @e, @i, @f -> r0\n Ret r0\n}\n";

static void make(const VmMachine *machine, WeightLayout *out) {
    const uint8_t needs_plain[] = {1, 1, 1, 1, 1};
    assert_ok(weight_layout_make(machine->residency, needs_plain, out));
}

static void test_weight_layout_puts_the_device_first(void **state) {
    (void)state;
    VmMachine machine = vm_machine(PROGRAM, "sim:0");
    WeightLayout OWN_LAYOUT(layout) = {0};
    make(&machine, &layout);
    assert_int_equal(layout.count, 4); /* an int has no bytes */
    static const uint32_t constants[] = {0, 2, 4, 1};
    static const uint64_t offsets[] = {0, 64, 64, 128}, sizes[] = {20, 0, 4, 8};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(layout.items[i].constant, constants[i]);
        assert_int_equal(layout.items[i].offset, offsets[i]);
        assert_int_equal(layout.items[i].size, sizes[i]);
        assert_int_equal(layout.items[i].packed, WEIGHT_ITEM_PLAIN);
        assert_int_equal(layout.items[i].slot, i < 3 ? SLOT_DEVICE : SLOT_HOST);
    }
    assert_int_equal(layout.device_bytes, 128);
    assert_int_equal(layout.key.size, 192);
    assert_int_equal(weight_layout_find(&layout, 0), 0);
    assert_int_equal(weight_layout_find(&layout, 19), 0);
    assert_int_equal(weight_layout_find(&layout, 20), 1);
    assert_int_equal(weight_layout_find(&layout, 64), 2);
    assert_int_equal(weight_layout_find(&layout, 135), 3);
    assert_int_equal(weight_layout_find(&layout, 136), 4);
    vm_machine_deinit(&machine);
}

/* What decides about a byte decides about the key. */
static void test_weight_layout_digests_places_forms_and_class(void **state) {
    (void)state;
    VmMachine machine = vm_machine(PROGRAM, "sim:0");
    WeightLayout OWN_LAYOUT(layout) = {0};
    WeightLayout OWN_LAYOUT(again) = {0};
    WeightLayout OWN_LAYOUT(fewer) = {0};
    WeightLayout OWN_LAYOUT(packed) = {0};
    const uint8_t without[] = {1, 1, 1, 1, 0};
    PackedWeight weight = {.primitive = 1, .input = 1, .constant = 4, .layout = 7, .bytes = 4};
    make(&machine, &layout);
    make(&machine, &again);
    assert_true(digest_equal(&layout.key.layout, &again.key.layout));
    assert_ok(weight_layout_make(machine.residency, without, &fewer));
    assert_false(digest_equal(&layout.key.layout, &fewer.key.layout));
    assert_true(digest_equal(&layout.key.executable, &fewer.key.executable));
    Residency changed = *machine.residency;
    changed.packed = &weight;
    changed.packed_count = 1;
    Digest digests[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(weight_layout_make(&changed, without, &packed));
        assert_int_equal(packed.items[0].packed, 0);
        digests[i] = packed.key.layout;
        weight_layout_deinit(&packed);
        weight.layout++;
    }
    assert_false(digest_equal(&digests[0], &digests[1]));
    vm_machine_deinit(&machine);
}

int test_weight_layout(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight_layout_puts_the_device_first),
        cmocka_unit_test(test_weight_layout_digests_places_forms_and_class),
    };
    return cmocka_run_group_tests_name("weight_layout", tests, NULL, NULL);
}
