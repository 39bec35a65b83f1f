#include "kernels/tensor/tensor_dlpack.h"

#include "kernels/registry/device_registry.h"
#include "tests/support/test_support.h"

/* A producer's tensor over static memory; counts deletions. */
typedef struct Producer {
    DLManagedTensor managed;
    int64_t shape[9], strides[9];
    float data[12];
    int deleted;
} Producer;

static void delete_producer(DLManagedTensor *managed) {
    ((Producer *)managed->manager_ctx)->deleted++;
}

static void producer_init(Producer *producer, int rank, int64_t a, int64_t b) {
    *producer = (Producer){.shape = {a, b}};
    for (int i = 0; i < 12; i++) producer->data[i] = (float)i;
    producer->managed = (DLManagedTensor){.dl_tensor = {.data = producer->data,
                                              .device = {kDLCPU, 0},
                                              .ndim = rank,
                                              .dtype = {kDLFloat, 32, 1},
                                              .shape = producer->shape},
        .manager_ctx = producer,
        .deleter = delete_producer};
}

static void test_dlpack_import_shares_compact_memory(void **state) {
    (void)state;
    Producer producer;
    Tensor *tensor = NULL;
    producer_init(&producer, 2, 2, 3);
    producer.managed.dl_tensor.byte_offset = 8;
    assert_ok(tensor_dlpack_import(device_host(), &producer.managed, &tensor));
    assert_ptr_equal(tensor_data(tensor), &producer.data[2]);
    assert_true(tensor->storage->sealed);
    assert_int_equal(producer.deleted, 0);
    tensor_release(tensor);
    assert_int_equal(producer.deleted, 1);
}

static void test_dlpack_import_copies_strided_memory(void **state) {
    (void)state;
    Producer producer;
    OWN(Tensor, tensor) = NULL;
    producer_init(&producer, 2, 3, 2);
    producer.strides[0] = 1;
    producer.strides[1] = 3;
    producer.managed.dl_tensor.strides = producer.strides;
    assert_ok(tensor_dlpack_import(device_host(), &producer.managed, &tensor));
    assert_int_equal(producer.deleted, 1);
    static const float wanted[] = {0, 3, 1, 4, 2, 5};
    assert_memory_equal(tensor_data(tensor), wanted, sizeof wanted);
}

/* Consumed whatever happens. */
static void test_dlpack_import_refuses_and_deletes(void **state) {
    (void)state;
    for (int i = 0; i < 9; i++) {
        Producer producer;
        Tensor *tensor = NULL;
        producer_init(&producer, 2, 2, 3);
        DLTensor *from = &producer.managed.dl_tensor;
        if (i == 0) from->device.device_type = kDLCUDA;
        if (i == 1) from->dtype.lanes = 4;
        if (i == 2) from->dtype.bits = 24;
        if (i == 3) from->ndim = 9;
        if (i == 4) from->ndim = -1;
        if (i == 5) from->data = NULL;
        if (i == 6) from->byte_offset = 2;
        if (i == 7) producer.shape[0] = -2;
        if (i == 8) producer.shape[0] = producer.shape[1] = INT64_MAX;
        Error *error = tensor_dlpack_import(device_host(), &producer.managed, &tensor);
        assert_int_equal(error_code(error), i < 3 ? ERROR_UNSUPPORTED : ERROR_INVALID);
        error_free(error);
        assert_null(tensor);
        assert_int_equal(producer.deleted, 1);
    }
}

static void test_dlpack_export_keeps_the_tensor_alive(void **state) {
    (void)state;
    Tensor *tensor = NULL;
    DLManagedTensor *managed = NULL;
    Shape shape = {.rank = 2, .dims = {2, 3}};
    assert_ok(tensor_create_on_host(device_host(), DTYPE_BFLOAT16, &shape, &tensor));
    assert_ok(tensor_dlpack_export(tensor, &managed));
    assert_ptr_equal(managed->dl_tensor.data, tensor_data(tensor));
    tensor_release(tensor);
    ((uint16_t *)managed->dl_tensor.data)[5] = 7;
    assert_int_equal(managed->dl_tensor.ndim, 2);
    assert_int_equal(managed->dl_tensor.strides[0], 3);
    assert_int_equal(managed->dl_tensor.dtype.code, kDLBfloat);
    OWN(Tensor, back) = NULL;
    assert_ok(tensor_dlpack_import(device_host(), managed, &back));
    assert_int_equal(((uint16_t *)tensor_data(back))[5], 7);
    assert_int_equal(back->dtype, DTYPE_BFLOAT16);
}

/* 4-bit floats, three to two bytes. */
static void test_dlpack_takes_packed_elements_that_are_compact(void **state) {
    (void)state;
    Producer producer;
    OWN(Tensor, tensor) = NULL;
    Tensor *none = NULL;
    DLManagedTensor *managed = NULL;
    producer_init(&producer, 1, 3, 0);
    producer.managed.dl_tensor.dtype = (DLDataType){17, 4, 1};
    assert_ok(tensor_dlpack_import(device_host(), &producer.managed, &tensor));
    assert_int_equal(tensor->dtype, DTYPE_FLOAT4E2M1);
    assert_int_equal(tensor_bytes(tensor), 2);
    assert_ok(tensor_dlpack_export(tensor, &managed));
    assert_int_equal(managed->dl_tensor.dtype.code, 17);
    assert_int_equal(managed->dl_tensor.dtype.bits, 4);
    managed->deleter(managed);
    producer_init(&producer, 1, 3, 0);
    producer.managed.dl_tensor.dtype = (DLDataType){kDLInt, 2, 1};
    producer.strides[0] = 2;
    producer.managed.dl_tensor.strides = producer.strides;
    assert_fails_saying(UNSUPPORTED, "a strided DLPack tensor of int2",
        tensor_dlpack_import(device_host(), &producer.managed, &none));
}

static void test_dlpack_export_refuses_device_memory(void **state) {
    (void)state;
    OWN(Device, device) = NULL;
    OWN(MemoryPool, pool) = NULL;
    OWN(Tensor, tensor) = NULL;
    DLManagedTensor *managed = NULL;
    MemoryAnswer answer;
    Shape shape = {.rank = 1, .dims = {3}};
    assert_ok(device_open("sim:0", &device));
    assert_ok(memory_pool_create(device, 0, &pool));
    assert_ok(tensor_create_in_pool(pool, 1, DTYPE_INT32, &shape, &answer, &tensor));
    assert_fails_saying(UNSUPPORTED, "sim:0", tensor_dlpack_export(tensor, &managed));
}

int test_tensor_dlpack(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dlpack_import_shares_compact_memory),
        cmocka_unit_test(test_dlpack_import_copies_strided_memory),
        cmocka_unit_test(test_dlpack_import_refuses_and_deletes),
        cmocka_unit_test(test_dlpack_export_keeps_the_tensor_alive),
        cmocka_unit_test(test_dlpack_takes_packed_elements_that_are_compact),
        cmocka_unit_test(test_dlpack_export_refuses_device_memory),
    };
    return cmocka_run_group_tests_name("tensor_dlpack", tests, NULL, NULL);
}
