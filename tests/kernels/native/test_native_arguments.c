#include "kernels/native/native_arguments.h"

#include "base/allocator.h"
#include "kernels/native/native_loader.h"
#include "kernels/native/native_runtime.h"
#include "tests/kernels/native/native_fixture.h"

static uint8_t data[256];
static const NativeShared shared = {data};

static Error *read_values(const NativeValue *values, uint32_t count, uint32_t value_count,
    bool objects, NativeArguments *out) {
    static ByteWriter bytes; /* strings stay in it */
    bytes.size = 0;
    byte_write_u32(&bytes, count);
    byte_write_u32(&bytes, value_count);
    for (uint32_t i = 0; i < value_count; i++) native_value_write(&bytes, &values[i]);
    assert_ok(byte_writer_check(&bytes));
    ByteReader reader = byte_reader(bytes.data, bytes.size);
    return native_arguments_read(&reader, &shared, objects, out);
}

static NativeValue tensor_at(uint64_t place) {
    const int64_t dim = 2;
    return (NativeValue){.kind = NATIVE_TENSOR,
        .tensor = {.dtype = DTYPE_FLOAT32, .shape = shape_make(1, &dim), .place = place}};
}

static void test_arguments_are_views_or_objects(void **state) {
    (void)state;
    bool kept;
    NativeArguments arguments;
    OWN(NativeLoaded, loaded) = native_open();
    (void)loaded; /* its runtime's functions are used */
    const NativeValue values[] = {tensor_at(64), {.kind = NATIVE_TUPLE, .field_count = 2},
        tensor_at(128), {.kind = NATIVE_FLOAT, .real = 0.5}};
    for (int objects = 0; objects < 2; objects++) {
        assert_ok(read_values(values, 2, 4, objects, &arguments));
        assert_int_equal(arguments.items[0].type, objects ? ABI_TENSOR : ABI_TENSOR_VIEW);
        assert_int_equal(arguments.items[1].type, ABI_ARRAY);
        const AbiArrayObject *tuple = (const AbiArrayObject *)arguments.items[1].object;
        assert_int_equal(tuple->count, 2);
        const AbiTensorObject *inner = (const AbiTensorObject *)tuple->items[0].object;
        assert_ptr_equal(inner->tensor.data, data + 128);
        assert_true(tuple->items[1].real == 0.5);
        native_arguments_deinit(&arguments, &kept);
        assert_false(kept);
    }
}

static void test_what_holds_an_argument_is_noticed(void **state) {
    (void)state;
    bool kept;
    NativeArguments arguments;
    OWN(NativeLoaded, loaded) = native_open();
    (void)loaded; /* its runtime's functions are used */
    const NativeValue value = tensor_at(0);
    assert_ok(read_values(&value, 1, 1, true, &arguments));
    AbiObject *held = arguments.items[0].object;
    NativeHolder *holders = arguments.holders; /* stay */
    held->counts++;
    native_arguments_deinit(&arguments, &kept);
    assert_true(kept);
    native_runtime_release(held);
    memory_free(holders);
}

static void refuse(
    const char *text, const NativeValue *values, uint32_t count, uint32_t value_count) {
    bool kept;
    NativeArguments arguments;
    assert_fails_saying(CORRUPT, text, read_values(values, count, value_count, false, &arguments));
    native_arguments_deinit(&arguments, &kept);
    assert_false(kept);
}

static void test_arguments_from_outside_are_checked(void **state) {
    (void)state;
    NativeValue nested[NATIVE_DEPTH_MAX + 2];
    for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++)
        nested[i] = (NativeValue){.kind = NATIVE_TUPLE, .field_count = 1};
    refuse("tuples inside each other", nested, 1, NATIVE_DEPTH_MAX + 2);
    refuse("2 arguments of 1 values", nested, 2, 1);
    refuse("a tuple of 1 values", nested, 1, 1);
    const NativeValue far = tensor_at(UINT64_MAX - 4);
    refuse("outside the shared memory", &far, 1, 1);
    const NativeValue two[] = {{.kind = NATIVE_INT}, {.kind = NATIVE_INT}};
    refuse("belong to no argument", two, 1, 2);
}

int test_native_arguments(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_are_views_or_objects),
        cmocka_unit_test(test_what_holds_an_argument_is_noticed),
        cmocka_unit_test(test_arguments_from_outside_are_checked),
    };
    return cmocka_run_group_tests_name("native_arguments", tests, NULL, NULL);
}
