#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
#include "tests/vm/relax/relax_case_runner.h"
#include "vm/objects/packed.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

Value relax_string(const char *text) {
    StringObject *string;
    assert_ok(string_object_create(NULL, text, strlen(text), &string));
    return value_object(OBJECT_STRING, string);
}

Value relax_shape(uint32_t rank, const int64_t *dims) {
    Shape shape = shape_make(rank, dims);
    ShapeObject *object;
    assert_ok(shape_object_create(&shape, &object));
    return value_object(OBJECT_SHAPE, object);
}

static Value host_tensor(DType dtype, uint32_t rank, const int64_t *dims, const void *values) {
    Shape shape = shape_make(rank, dims);
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    if (tensor_bytes(tensor) > 0) memcpy(tensor_data(tensor), values, tensor_bytes(tensor));
    return value_object(OBJECT_TENSOR, tensor);
}

Value relax_floats(uint32_t rank, const int64_t *dims, const float *values) {
    return host_tensor(DTYPE_FLOAT32, rank, dims, values);
}

Value relax_int32s(uint32_t count, const int32_t *values) {
    return host_tensor(DTYPE_INT32, 1, (int64_t[]){count}, values);
}

static Error *call_once(
    const char *name, Value *owned_arguments, uint32_t count, Value *out_result) {
    PackedRegistry *registry;
    assert_ok(packed_registry_create(&registry));
    MemoryPool *pools[2];
    for (uint32_t i = 0; i < 2; i++) assert_ok(memory_pool_create(device_host(), 0, &pools[i]));
    const PackedTarget *target = packed_registry_find(registry, name);
    assert_non_null(target);
    PackedCall call = {
        .registry = registry, .pools = {pools[0], pools[1]}, .tail_function = UINT32_MAX};
    *out_result = value_nil();
    Error *error = packed_target_call(target, name, &call, owned_arguments, count, out_result);
    for (uint32_t i = 0; i < call.tail_argument_count; i++) value_release(&call.tail_arguments[i]);
    memory_free(call.tail_arguments);
    packed_object_release(call.tail_packed);
    for (uint32_t i = 0; i < count; i++) value_release(&owned_arguments[i]);
    for (uint32_t i = 0; i < 2; i++) memory_pool_release(pools[i]);
    packed_registry_release(registry);
    return error;
}

Value relax_call(const char *name, Value *owned_arguments, uint32_t count) {
    Value result;
    assert_ok(call_once(name, owned_arguments, count, &result));
    return result;
}

void relax_refuses(const char *text, const char *name, Value *owned_arguments, uint32_t count) {
    Value result;
    Error *error = call_once(name, owned_arguments, count, &result);
    if (!error) fail_msg("%s works, and should say: %s", name, text);
    if (!strstr(error_message(error), text))
        fail_msg("%s says \"%s\", not \"%s\"", name, error_message(error), text);
    error_free(error);
    assert_int_equal(result.tag, VALUE_NIL);
}

void relax_try(const char *name, Value *owned_arguments, uint32_t count) {
    Value result;
    Error *error = call_once(name, owned_arguments, count, &result);
    value_release(&result);
    error_free(error); /* either is right */
}

/* Loads bytes; a state must be usable, and is released. */
static bool loads(const OpaqueKind *kind, const uint8_t *data, size_t size) {
    ByteReader reader = byte_reader(data, size);
    void *state;
    Error *error = kind->load(&reader, &state);
    if (error) {
        error_free(error);
        return false;
    }
    ByteWriter OWN_BYTES(again) = {0};
    assert_ok(kind->save(state, &again));
    kind->destroy(state);
    return true;
}

void relax_check_saving(const OpaqueKind *kind, const Opaque *opaque) {
    ByteWriter OWN_BYTES(bytes) = {0};
    ByteWriter OWN_BYTES(again) = {0};
    assert_ok(kind->save(opaque->state, &bytes));
    Opaque *copy;
    assert_ok(opaque_copy(opaque, &copy));
    assert_ok(kind->save(copy->state, &again));
    assert_int_equal(again.size, bytes.size);
    assert_memory_equal(again.data, bytes.data, bytes.size);
    opaque_release(copy);
    assert_true(loads(kind, bytes.data, bytes.size));
    for (size_t size = 0; size < bytes.size; size++) assert_false(loads(kind, bytes.data, size));
    for (size_t bit = 0; bit < bytes.size * 8; bit += 3) {
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        (void)loads(kind, bytes.data, bytes.size);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
