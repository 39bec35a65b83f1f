#include "kernels/cuda/library/cuda_cudnn.h"

#include <string.h>

#include "tests/kernels/fixtures/cuda_device_fixture.h"

/* What the fake library's engines need: one in float32, one that rounds to TF32. */
enum { PRECISE_BYTES = 2048, TENSOR_CORE_BYTES = 4096, MEMORY_BYTES = 16384 };

/* A signal of 4 by a filter of 2. */
static CudaCudnnConv plain_conv(void) {
    return (CudaCudnnConv){.type = CUDNN_DATA_FLOAT,
        .rank = 4,
        .from = {1, 1, 1, 4},
        .weights = {1, 1, 1, 2},
        .to = {1, 1, 1, 3},
        .stride = {1, 1},
        .dilation = {1, 1}};
}

/* Of the workspace of what is found; 0: nothing is. */
static uint64_t found_bytes(CudaDevice *device, const CudaCudnnConv *conv) {
    CudaCudnnProgram program = {0};
    bool found = false;
    assert_ok(cuda_cudnn_init(device, conv, &program, &found));
    const uint64_t bytes = found ? program.workspace_bytes : 0;
    cuda_cudnn_deinit(device, &program);
    return bytes;
}

/* Neither what adds up by chance, nor what is compiled first, nor what needs too much. */
static void test_cuda_cudnn_takes_the_first_engine_that_may_be(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CudaCudnnConv conv = plain_conv();
    assert_int_equal(found_bytes(device, &conv), PRECISE_BYTES);
    assert_int_equal(found_bytes(device, &conv), PRECISE_BYTES);
    conv.rounds = true;
    assert_int_equal(found_bytes(device, &conv), TENSOR_CORE_BYTES);
    conv.rounds = false;
    conv.type = CUDNN_DATA_HALF;
    assert_int_equal(found_bytes(device, &conv), TENSOR_CORE_BYTES);
    conv.relu = true; /* without a bias no engine has it */
    assert_int_equal(found_bytes(device, &conv), 0);
    conv.has_bias = true;
    assert_int_equal(found_bytes(device, &conv), TENSOR_CORE_BYTES);
}

static void test_cuda_cudnn_names_what_the_library_refuses(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaCudnnConv conv = plain_conv();
    CudaCudnnProgram program;
    bool found = true;
    conv.to[3] = 4;
    assert_fails_saying(FAILED, "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM: the size of",
        cuda_cudnn_init(cuda_device(base), &conv, &program, &found));
    assert_false(found);
}

static void check_runs(Device *base, DeviceStream *stream, uint64_t memory) {
    static const float from[] = {1, 2, 3, 4}, weights[] = {10, 1}, expected[] = {12, 23, 34};
    CudaDevice *device = cuda_device(base);
    const CudaCudnnConv conv = plain_conv();
    CudaCudnnProgram program;
    bool found = false;
    float to[3];
    const uint64_t at[CUDA_CUDNN_TENSOR_COUNT] = {memory, memory + 64, memory + 128};
    assert_ok(cuda_cudnn_init(device, &conv, &program, &found));
    assert_true(found);
    assert_ok(base->class_->copy_from_host(base, stream, at[0], from, sizeof from));
    assert_ok(base->class_->copy_from_host(base, stream, at[1], weights, sizeof weights));
    CUDA_SCOPE(scope);
    assert_ok(cuda_scope_enter(device, &scope));
    assert_ok(cuda_cudnn_run(device, &program, at, memory + 1024, cuda_stream(device, stream)));
    cuda_cudnn_deinit(device, &program); /* what is queued needs it no more */
    assert_ok(base->class_->copy_to_host(base, stream, to, at[2], sizeof to));
    assert_memory_equal(to, expected, sizeof to);
}

enum { THREADS = 3, RUNS = 20 };

static void *run_often(void *argument) {
    Device *base = argument;
    DeviceStream *stream;
    uint64_t memory;
    assert_ok(base->class_->stream_create(base, &stream));
    assert_ok(base->class_->alloc(base, stream, MEMORY_BYTES, &memory));
    for (int i = 0; i < RUNS; i++) check_runs(base, stream, memory);
    base->class_->free(base, stream, memory, MEMORY_BYTES);
    base->class_->stream_destroy(base, stream);
    return NULL;
}

/* One handle, which the library wants used by one thread at a time. */
static void test_cuda_cudnn_runs_from_several_threads(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, base), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&cuda_device(base)->used_bytes), 0);
}

static bool has_cudnn(Device *base) {
    TextBuilder OWN_TEXT(text) = {0};
    base->class_->determinism_class(base, &text);
    const bool named = strstr(text_builder_get(&text), "; cuDNN 91900") != NULL;
    bool listed = false;
    for (const Kernel *const *table = base->class_->kernels(base); *table; table++)
        listed = listed || strcmp((*table)->name, "cuda.cudnn_conv") == 0;
    assert_true(named == listed);
    return listed;
}

/* Other kernels then serve the device: a library that is too new for a GPU is no error of it. */
static void test_cuda_cudnn_is_left_alone_where_it_refuses_the_gpu(void **state) {
    (void)state;
    OWN(Device, with) = cuda_device_fixture_get("");
    assert_true(has_cudnn(with));
    cuda_device_fixture_set("FAKE_CUDNN_STATUS", "3007");
    OWN(Device, without) = cuda_device_fixture_get("");
    assert_false(has_cudnn(without));
    Device *none = NULL;
    cuda_device_fixture_set("FAKE_CUDNN_STATUS", "4004");
    assert_fails_saying(EXHAUSTED, "cudnnCreate", cuda_device_fixture_open("", &none));
    cuda_device_fixture_set("FAKE_CUDNN_STATUS", NULL);
}

int test_cuda_cudnn(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_cudnn_takes_the_first_engine_that_may_be),
        cmocka_unit_test(test_cuda_cudnn_names_what_the_library_refuses),
        cmocka_unit_test(test_cuda_cudnn_runs_from_several_threads),
        cmocka_unit_test(test_cuda_cudnn_is_left_alone_where_it_refuses_the_gpu),
    };
    return cmocka_run_group_tests_name("cuda_cudnn", tests, NULL, NULL);
}
