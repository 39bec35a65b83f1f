#include <pthread.h>
#include <stdlib.h>

#include "kernels/cuda/runtime/cuda_staging.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"

enum { LARGE = 3 * CUDA_STAGING_LARGE_BYTES + 12345, THREADS = 3 };

/* Around the sizes at which copies are cut, from odd addresses on both sides. */
static void test_cuda_transfer_moves_bytes_of_any_size(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 4, 8, 12, 63, CUDA_STAGING_SMALL_BYTES,
        CUDA_STAGING_SMALL_BYTES + 1, CUDA_STAGING_LARGE_BYTES - 1, CUDA_STAGING_LARGE_BYTES,
        CUDA_STAGING_LARGE_BYTES + 1, 2 * CUDA_STAGING_LARGE_BYTES, LARGE};
    OWN(Device, device) = cuda_device_fixture_get("");
    const DeviceClass *class_ = device->class_;
    DeviceStream *stream;
    uint64_t address, other;
    uint8_t *sent = cuda_device_fixture_bytes(LARGE + 1, 5), *received = calloc(LARGE + 1, 1);
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->alloc(device, stream, LARGE + 4, &address));
    assert_ok(class_->alloc(device, stream, LARGE + 3, &other));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memset(received, 0, LARGE + 1);
        assert_ok(class_->copy_from_host(device, stream, address + 3 + i % 2, sent + 1, sizes[i]));
        assert_ok(class_->copy(device, stream, other + 1, address + 3 + i % 2, sizes[i]));
        assert_ok(class_->copy_to_host(device, stream, received + 1, other + 1, sizes[i]));
        assert_memory_equal(received + 1, sent + 1, sizes[i]);
        assert_int_equal(received[0], 0);
    }
    class_->free(device, stream, address, LARGE + 4);
    class_->free(device, stream, other, LARGE + 3);
    class_->stream_destroy(device, stream);
    free(sent);
    free(received);
}

/* The link reads and writes such memory itself; the bytes are the caller's when the call returns.
 */
static void test_cuda_transfer_takes_pinned_memory_as_it_is(void **state) {
    (void)state;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "1000");
    OWN(Device, device) = cuda_device_fixture_get("");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    const DeviceClass *class_ = device->class_;
    enum { SIZE = 2 * CUDA_STAGING_SMALL_BYTES };
    CUDA_SCOPE(scope);
    void *block;
    uint64_t address;
    DeviceStream *stream;
    assert_ok(cuda_scope_enter(cuda_device(device), &scope));
    assert_int_equal(scope.api->cuMemHostAlloc(&block, SIZE, 0), CUDA_SUCCESS);
    assert_ok(class_->stream_create(device, &stream));
    assert_ok(class_->alloc(device, stream, SIZE, &address));
    memset(block, 7, SIZE);
    assert_ok(class_->copy_from_host(device, stream, address, block, SIZE));
    memset(block, 0, SIZE);
    assert_ok(class_->copy_to_host(device, stream, block, address, SIZE));
    for (int i = 0; i < SIZE; i++) assert_int_equal(((uint8_t *)block)[i], 7);
    assert_int_equal(atomic_load(&cuda_device(device)->staging->next_upload), 0);
    class_->free(device, stream, address, SIZE);
    class_->stream_destroy(device, stream);
    assert_int_equal(scope.api->cuMemFreeHost(block), CUDA_SUCCESS);
}

typedef struct Copier {
    Device *device;
    uint64_t seed;
    bool right;
} Copier;

static Error *copy_to_and_fro(Copier *self, const uint8_t *sent, uint8_t *received, uint64_t size) {
    const DeviceClass *class_ = self->device->class_;
    DeviceStream *stream;
    uint64_t address;
    TRY(class_->stream_create(self->device, &stream));
    TRY(class_->alloc(self->device, stream, size, &address));
    TRY(class_->copy_from_host(self->device, stream, address, sent, size));
    TRY(class_->copy_to_host(self->device, stream, received, address, size));
    class_->free(self->device, stream, address, size);
    class_->stream_destroy(self->device, stream);
    return NULL;
}

static void *run_copier(void *argument) {
    enum { SIZE = CUDA_STAGING_LARGE_BYTES + 4321 };
    Copier *self = argument;
    uint8_t *sent = malloc(SIZE), *received = malloc(SIZE);
    self->right = sent && received;
    for (int round = 0; round < 6 && self->right; round++) {
        uint64_t size = round % 2 ? 777 : SIZE;
        for (uint64_t i = 0; i < size; i++)
            sent[i] = (uint8_t)(self->seed + i * 7 + (uint64_t)round);
        Error *error = copy_to_and_fro(self, sent, received, size);
        self->right = !error && memcmp(sent, received, size) == 0;
        error_free(error);
    }
    free(sent);
    free(received);
    return NULL;
}

/* All share the slots of one device. */
static void test_cuda_transfer_serves_many_threads(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    Copier copiers[THREADS];
    pthread_t threads[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        copiers[i] = (Copier){device, i * 31, false};
        assert_int_equal(pthread_create(&threads[i], NULL, run_copier, &copiers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) assert_true(copiers[i].right);
}

int test_cuda_transfer(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_transfer_moves_bytes_of_any_size),
        cmocka_unit_test(test_cuda_transfer_takes_pinned_memory_as_it_is),
        cmocka_unit_test(test_cuda_transfer_serves_many_threads),
    };
    return cmocka_run_group_tests_name("cuda_transfer", tests, NULL, NULL);
}
