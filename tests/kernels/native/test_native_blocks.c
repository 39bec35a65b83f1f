#include "kernels/native/native_blocks.h"

#include "kernels/native/native_memory.h"
#include "tests/kernels/native/native_fixture.h"

enum { DATA_BYTES = 4096 };

static void test_tensors_that_overlap_share_a_block(void **state) {
    (void)state;
    _Alignas(64) float items[32] = {0};
    static uint8_t data[DATA_BYTES];
    NativeBlocks blocks;
    NativeValue arguments[] = {native_floats(items + 4, 8, false), {.kind = NATIVE_INT},
        native_floats(items, 8, true), native_floats(items + 20, 4, false)};
    assert_ok(native_blocks_create(arguments, 4, 128, &blocks));
    assert_int_equal(blocks.count, 2);
    uint64_t first = arguments[2].tensor.place;
    assert_true(first >= 128 + NATIVE_GUARD);
    assert_int_equal(arguments[0].tensor.place, first + 4 * sizeof(float));
    assert_int_equal(arguments[3].tensor.place % NATIVE_ALIGNMENT, 20 * sizeof(float) % 64);
    for (int i = 0; i < 32; i++) items[i] = (float)i;
    native_blocks_send(&blocks, data);
    /* bytes of the joined block come back, those of the read-only one do not */
    ((float *)(data + first))[11] = 100;
    ((float *)(data + arguments[3].tensor.place))[0] = 100;
    assert_ok(native_blocks_check(&blocks, data));
    native_blocks_receive(&blocks, data);
    assert_true(items[11] == 100 && items[10] == 10);
    assert_true(items[20] == 20);
    native_blocks_deinit(&blocks);
}

static void test_writing_around_a_block_is_found(void **state) {
    (void)state;
    float items[4] = {1, 2, 3, 4};
    static uint8_t data[DATA_BYTES];
    NativeBlocks blocks;
    NativeValue argument = native_floats(items, 4, true);
    assert_ok(native_blocks_create(&argument, 1, 0, &blocks));
    native_blocks_send(&blocks, data);
    uint8_t *behind = data + argument.tensor.place + sizeof items, kept = *behind;
    *behind ^= 1;
    assert_fails_saying(
        FAILED, "outside its tensor of 16 bytes", native_blocks_check(&blocks, data));
    *behind = kept;
    data[argument.tensor.place - 1] ^= 1;
    assert_fails_saying(FAILED, "outside its tensor", native_blocks_check(&blocks, data));
    native_blocks_deinit(&blocks);
}

static void test_tensors_without_bytes_and_too_many_bytes(void **state) {
    (void)state;
    float item = 0;
    NativeBlocks blocks;
    NativeValue argument = native_floats(&item, 0, true);
    assert_ok(native_blocks_create(&argument, 1, 64, &blocks));
    assert_int_equal(blocks.count, 0);
    native_blocks_deinit(&blocks);
    argument = native_floats(&item, INT64_C(1) << 40, true);
    assert_fails_saying(
        EXHAUSTED, "more than 68719476736 bytes", native_blocks_create(&argument, 1, 64, &blocks));
}

int test_native_blocks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_that_overlap_share_a_block),
        cmocka_unit_test(test_writing_around_a_block_is_found),
        cmocka_unit_test(test_tensors_without_bytes_and_too_many_bytes),
    };
    return cmocka_run_group_tests_name("native_blocks", tests, NULL, NULL);
}
