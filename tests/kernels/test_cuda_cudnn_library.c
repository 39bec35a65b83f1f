/* What is described to cuDNN, before NVIDIA's own library: it makes plans for a GPU that is only
 * described to it, too. Every convolution of the conformance suite is planned for GPUs of each
 * generation that it may meet. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/plugin/cuda_class.h"
#include "kernels/cuda/library/cuda_cudnn_descriptor.h"
#include "kernels/cuda/library/cuda_cudnn.h"
#include "kernels/operator/kernel_table.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/fixtures/infer_fixture.h"

/* Its first version that reads a GPU's description back; what meson takes for skipped. */
enum { NEEDED_VERSION = 91100, SKIPPED = 77, TEXT_MAX = 1024, WORKSPACE_BYTES_MAX = 257 << 20 };

/* What LeakSanitizer asks: the library keeps what it made where there is no GPU. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }

typedef struct Gpu {
    const char *name;
    int sm, units, shared_bytes; /* 10 * major + minor; per block at most */
    bool has_bfloat16;
} Gpu;

static const Gpu gpus[] = {
    {"NVIDIA T4", 75, 40, 65536, false},
    {"NVIDIA A100", 80, 108, 166912, true},
    {"NVIDIA L4", 89, 58, 101376, true},
    {"NVIDIA H200", 90, 132, 232448, true},
};

enum { GPU_COUNT = sizeof gpus / sizeof gpus[0] };

typedef struct Case {
    const char *operator_name, *attributes, *inputs;
} Case;

static const Case cases[] = {
#define CASE(operator_name, attributes, inputs, outputs, dtypes, reference)                        \
    {#operator_name, attributes, inputs},
#define BENCH(operator_name, attributes, inputs, outputs, dtypes)                                  \
    {#operator_name, attributes, inputs},
#define FORMULA(operator_name, attributes, inputs, outputs, dtypes, formula)                       \
    {#operator_name, attributes, inputs},
#include "tests/conformance/cases/cases.def"
};

static bool is_served(const char *operator_name) {
    return kernel_rows_find(cuda_cudnn_tables(), operator_find(operator_name)->id) != NULL;
}

/* As the library prints the description of a GPU that it finds (CUDNN_ATTR_DEVICEPROP_JSON_…). */
static Error *describe(CudaCudnnPile *pile, const Gpu *gpu, CudnnDescriptor *out) {
    char text[TEXT_MAX];
    const int size = snprintf(text, sizeof text,
        "{\"deviceName\": \"%s\", \"deviceVer\": %d, \"multiProcessorCount\": %d, "
        "\"maxSharedMemoryPerBlockOptin\": %d, \"driverVer\": 13000, \"cudaDeviceId\": 0, "
        "\"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64], "
        "\"regsPerBlock\": 65536, \"warpSize\": 32, \"maxSharedMemoryPerBlock\": 49152, "
        "\"reservedSharedMemoryPerBlock\": 1024, \"maxRegistersPerSM\": 65536, "
        "\"maxCtasPerSM\": 16, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 1024, "
        "\"pciDeviceId\": 0, \"isTccDriver\": 0, \"supportCoopLaunch\": 1, "
        "\"totalGlobalMem\": 16000000000, \"smClockRateKHz\": 1500000, "
        "\"memClockRateKHz\": 2500000, \"l2CacheSize\": 41943040}",
        gpu->name, gpu->sm * 10, gpu->units, gpu->shared_bytes);
    TRY(cuda_cudnn_descriptor_make(pile, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, out));
    TRY(cuda_cudnn_descriptor_set(pile->device, *out, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
        CUDNN_TYPE_CHAR, size, text));
    return cuda_cudnn_descriptor_finalize(pile->device, *out);
}

/* A device of which nothing is there but its description. */
typedef struct Described {
    CudaDevice device;
    CudaCudnn cudnn;
    CudaCudnnPile pile;
} Described;

static Described *open_described(const Gpu *gpu) {
    Described *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->device.base.class_ = &cuda_device_class;
    (void)snprintf(made->device.base.name, sizeof made->device.base.name, "%s", gpu->name);
    made->device.api = cuda_symbols_get();
    made->device.cudnn = &made->cudnn;
    made->pile.device = &made->device;
    assert_int_equal(pthread_mutex_init(&made->cudnn.mutex, NULL), 0);
    assert_ok(describe(&made->pile, gpu, &made->cudnn.gpu));
    return made;
}

static void close_described(Described *described) {
    cuda_cudnn_descriptor_destroy_all(&described->pile);
    (void)pthread_mutex_destroy(&described->cudnn.mutex);
    free(described);
}

/* The inputs with an element type for each T. */
static void write_inputs(const char *inputs, DType dtype, char *out) {
    size_t size = 0;
    for (; *inputs; inputs++)
        size += (size_t)snprintf(out + size, TEXT_MAX - size, "%.*s", *inputs == 'T' ? TEXT_MAX : 1,
            *inputs == 'T' ? dtype_name(dtype) : inputs);
}

static bool has_elements(const PlanRequest *request) {
    return shape_count_unchecked(&request->outputs[0].shape) > 0;
}

static void check_case(Described *described, const Gpu *gpu, const Case *row, DType dtype) {
    InferFixture fixture;
    OWN(Plan, plan) = NULL;
    char inputs[TEXT_MAX];
    write_inputs(row->inputs, dtype, inputs);
    infer_fixture_init(&fixture, row->operator_name, row->attributes, inputs, 1);
    assert_ok(operator_infer(&fixture.request));
    assert_ok(
        kernel_rows_plan(&described->device.base, cuda_cudnn_tables(), 0, &fixture.request, &plan));
    const bool wanted =
        has_elements(&fixture.request) && (dtype != DTYPE_BFLOAT16 || gpu->has_bfloat16);
    if (wanted != (plan != NULL))
        fail_msg("%s: %s %s %s: %s", gpu->name, row->operator_name, row->attributes, inputs,
            plan ? "is planned" : "no plan");
    if (plan) assert_true(plan->workspace_bytes <= WORKSPACE_BYTES_MAX);
    infer_fixture_deinit(&fixture);
}

static void test_every_convolution_is_planned_by_the_library(void **state) {
    (void)state;
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    for (size_t g = 0; g < GPU_COUNT; g++) {
        Described *described = open_described(&gpus[g]);
        for (int rounds = 0; rounds < 2; rounds++) {
            described->device.options.tf32 = rounds;
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                for (size_t d = 0; d < 3 && is_served(cases[i].operator_name); d++)
                    check_case(described, &gpus[g], &cases[i], dtypes[d]);
        }
        close_described(described);
    }
}

/* A plan as the library prints it: its engine, that one's choices, the graph. To be freed. */
static char *print_plan(CudaDevice *device, const CudaCudnnConv *conv) {
    CudaCudnnProgram program;
    bool found = false;
    int64_t size = 0;
    assert_ok(cuda_cudnn_init(device, conv, &program, &found));
    assert_true(found);
    assert_ok(cuda_cudnn_check(device,
        device->api->cudnnBackendGetAttribute(program.plan,
            CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &size, NULL),
        "its size"));
    char *text = calloc(1, (size_t)size + 1);
    assert_non_null(text);
    assert_ok(cuda_cudnn_check(device,
        device->api->cudnnBackendGetAttribute(program.plan,
            CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, size, &size, text),
        "its text"));
    cuda_cudnn_deinit(device, &program);
    return text;
}

static const CudaCudnnConv plain = {.type = CUDNN_DATA_FLOAT,
    .rank = 4,
    .from = {1, 64, 56, 56},
    .weights = {64, 64, 3, 3},
    .to = {1, 64, 56, 56},
    .stride = {1, 1},
    .dilation = {1, 1},
    .pad_begin = {1, 1},
    .pad_end = {1, 1}};

/* The same each time; and plans live on when all that they were made of is gone. */
static void test_a_plan_is_a_function_of_its_convolution(void **state) {
    (void)state;
    CudaCudnnConv conv = plain;
    conv.type = CUDNN_DATA_HALF;
    conv.has_added = conv.has_bias = conv.relu = true;
    Described *described = open_described(&gpus[GPU_COUNT - 1]);
    char *first = print_plan(&described->device, &conv);
    char *second = print_plan(&described->device, &conv);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "CONV_ADD_BIAS_ACT")); /* one fused kernel of the library's */
    free(first);
    free(second);
    close_described(described);
}

/* TF32 is not used unbidden: the two differ in their engines. */
static void test_rounding_is_another_engine(void **state) {
    (void)state;
    CudaCudnnConv conv = plain;
    Described *described = open_described(&gpus[GPU_COUNT - 1]);
    char *exact = print_plan(&described->device, &conv);
    conv.rounds = true;
    char *rounding = print_plan(&described->device, &conv);
    assert_string_not_equal(exact, rounding);
    free(exact);
    free(rounding);
    close_described(described);
}

int main(void) {
    Error *error = cuda_symbols_load(CUDA_LIBRARY_CUDNN);
    if (error || cuda_symbols_get()->cudnnGetVersion() < NEEDED_VERSION) {
        (void)printf("skipped: %s\n",
            error ? error_message(error) : "this cuDNN reads no description of a GPU");
        error_free(error);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_convolution_is_planned_by_the_library),
        cmocka_unit_test(test_a_plan_is_a_function_of_its_convolution),
        cmocka_unit_test(test_rounding_is_another_engine),
    };
    return cmocka_run_group_tests_name("cuda_cudnn_library", tests, NULL, NULL);
}
