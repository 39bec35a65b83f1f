#include "kernels/cuda/library/cuda_cudnn_graph.h"

#include "kernels/cuda/library/cuda_cudnn.h"
#include "tests/kernels/fixtures/cuda_device_fixture.h"

/* One image of 2 channels, 4 x 5, by 3 filters of 3 x 3. */
static CudaCudnnConv plain_conv(void) {
    return (CudaCudnnConv){.type = CUDNN_DATA_FLOAT,
        .rank = 4,
        .from = {1, 2, 4, 5},
        .weights = {3, 2, 3, 3},
        .to = {1, 3, 4, 3},
        .stride = {1, 1},
        .dilation = {1, 1},
        .pad_begin = {1, 0},
        .pad_end = {1, 0}};
}

static Error *make(Device *base, const CudaCudnnConv *conv) {
    CudaDevice *device = cuda_device(base);
    CUDA_CUDNN_PILE(pile, device);
    CudnnDescriptor graph = NULL;
    TRY(cuda_cudnn_graph_make(&pile, device->cudnn->handle, conv, &graph));
    assert_non_null(graph);
    return NULL;
}

static void test_cuda_cudnn_graph_describes_each_kind(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    CudaCudnnConv conv = plain_conv();
    assert_ok(make(device, &conv));
    conv.type = CUDNN_DATA_BFLOAT16;
    conv.has_bias = true;
    assert_ok(make(device, &conv));
    conv.relu = conv.has_added = true;
    assert_ok(make(device, &conv));
    conv = plain_conv();
    conv.transposed = true;
    memcpy(conv.from, plain_conv().to, sizeof conv.from);
    memcpy(conv.to, plain_conv().from, sizeof conv.to);
    assert_ok(make(device, &conv));
}

static void test_cuda_cudnn_graph_of_sizes_that_do_not_fit_is_refused(void **state) {
    (void)state;
    OWN(Device, device) = cuda_device_fixture_get("");
    CudaCudnnConv conv = plain_conv();
    conv.to[2] = 5;
    assert_fails_saying(FAILED, "the size of an output", make(device, &conv));
    conv = plain_conv();
    conv.weights[1] = 4;
    assert_fails_saying(FAILED, "groups", make(device, &conv));
    conv = plain_conv();
    conv.dilation[1] = 0;
    assert_fails_saying(FAILED, "a convolution's window", make(device, &conv));
}

int test_cuda_cudnn_graph(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_cudnn_graph_describes_each_kind),
        cmocka_unit_test(test_cuda_cudnn_graph_of_sizes_that_do_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("cuda_cudnn_graph", tests, NULL, NULL);
}
