/* bench_matmul SPEC [quick]: matrix products of a cuda device through the device table, beside the
 * same products straight from cuBLASLt. Prints rows of a Markdown table: what, device, result,
 * target. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "bench/raw_matmul.h"
#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/operator/plan.h"

enum { ROUNDS = 7, LAUNCHES = 10, OPERANDS = 3, BLOCK_ELEMENTS = 1 << 19 };
static const char TARGET[] = "0.95 x raw";

/* Of BERT-base and GPT-2 with one sequence and with 32, of attention, and square ones. */
static const MatmulShape shapes[] = {
    {DTYPE_NONE, 1, 1, 768, 768},
    {DTYPE_NONE, 1, 1, 50257, 768},
    {DTYPE_NONE, 1, 128, 768, 768},
    {DTYPE_NONE, 1, 4096, 768, 768},
    {DTYPE_NONE, 1, 4096, 3072, 768},
    {DTYPE_NONE, 1, 4096, 768, 3072},
    {DTYPE_NONE, 384, 128, 128, 64},
    {DTYPE_NONE, 1, 4096, 4096, 4096},
    {DTYPE_NONE, 1, 8192, 8192, 8192},
};
static const MatmulShape quick_shapes[] = {{DTYPE_NONE, 1, 5, 9, 8}, {DTYPE_NONE, 2, 4, 6, 3}};
static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16};

/* One product on both ways, over the same memory. */
typedef struct Product {
    MatmulShape shape;
    Device *device;
    DeviceStream *stream;
    DeviceEvent *before, *after;
    Plan *plan;
    RawMatmul raw;
    uint64_t sizes[OPERANDS + 1], addresses[OPERANDS + 1]; /* a, b, to; the workspace of both */
} Product;

static Error *make_plan(Product *product) {
    const MatmulShape *shape = &product->shape;
    const int64_t batch = (int64_t)shape->batch, depth = (int64_t)shape->depth;
    const TensorSpec inputs[] = {{true, shape->dtype, 0, {3, {batch, (int64_t)shape->rows, depth}}},
        {true, shape->dtype, 0, {3, {batch, depth, (int64_t)shape->columns}}}};
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_check(attributes, operator_get(OPERATOR_MATMUL)));
    PlanRequest request = {.operator_info = operator_get(OPERATOR_MATMUL),
        .attributes = attributes,
        .input_count = 2,
        .output_count = 1,
        .inputs = inputs};
    TRY(operator_infer(&request));
    return product->device->class_->plan(product->device, &request, &product->plan);
}

/* Multiplying zeros draws less power and runs at higher clocks than what models hold. */
static Error *fill(const Product *product, uint64_t address, uint64_t size, const void *block) {
    const uint64_t block_size = (uint64_t)BLOCK_ELEMENTS * dtype_bits(product->shape.dtype) / 8;
    for (uint64_t at = 0; at < size; at += block_size)
        TRY(product->device->class_->copy_from_host(product->device, product->stream, address + at,
            block, size - at < block_size ? size - at : block_size));
    return NULL;
}

static Error *make_operands(Product *product) {
    const MatmulShape *shape = &product->shape;
    const uint64_t item = dtype_bits(shape->dtype) / 8;
    const uint64_t sizes[] = {
        shape->rows * shape->depth, shape->depth * shape->columns, shape->rows * shape->columns};
    uint64_t random = 88172645463325252u;
    void *block;
    for (uint32_t i = 0; i < OPERANDS; i++) product->sizes[i] = sizes[i] * shape->batch * item;
    product->sizes[OPERANDS] = product->plan->workspace_bytes > product->raw.workspace_bytes
                                   ? product->plan->workspace_bytes
                                   : product->raw.workspace_bytes;
    for (uint32_t i = 0; i <= OPERANDS; i++)
        if (product->sizes[i] > 0)
            TRY(product->device->class_->alloc(
                product->device, product->stream, product->sizes[i], &product->addresses[i]));
    TRY(memory_alloc(BLOCK_ELEMENTS, item, &block));
    for (uint64_t i = 0; i < BLOCK_ELEMENTS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (void)dtype_scalar_write(
            shape->dtype, (double)(random >> 11) * 0x1p-53 - 0.5, (char *)block + i * item);
    }
    Error *error = NULL;
    for (uint32_t i = 0; i < 2 && !error; i++)
        error = fill(product, product->addresses[i], product->sizes[i], block);
    memory_free(block);
    TRY(error);
    return product->device->class_->stream_synchronize(product->device, product->stream);
}

static Error *product_init(
    Device *device, RawCublas *cublas, const MatmulShape *shape, Product *product) {
    *product = (Product){.shape = *shape, .device = device};
    TRY(device->class_->stream_create(device, &product->stream));
    TRY(device->class_->event_create(device, &product->before));
    TRY(device->class_->event_create(device, &product->after));
    TRY(make_plan(product));
    TRY(raw_matmul_init(cublas, shape, &product->raw));
    return make_operands(product);
}

static void product_deinit(Product *product) {
    const DeviceClass *class_ = product->device->class_;
    for (uint32_t i = 0; i <= OPERANDS; i++)
        if (product->addresses[i])
            class_->free(
                product->device, product->stream, product->addresses[i], product->sizes[i]);
    if (product->raw.cublas) raw_matmul_deinit(&product->raw);
    plan_release(product->plan);
    if (product->after) class_->event_destroy(product->device, product->after);
    if (product->before) class_->event_destroy(product->device, product->before);
    if (product->stream) class_->stream_destroy(product->device, product->stream);
}

/* As raw_matmul_time. */
static Error *time_table(const Product *product, double *out_ns) {
    Device *device = product->device;
    const Plan *plan = product->plan;
    const Launch launch = {.inputs = product->addresses,
        .outputs = &product->addresses[2],
        .stream = product->stream,
        .workspace = product->addresses[OPERANDS],
        .threads = 1};
    uint64_t ns;
    TRY(device->class_->event_record(device, product->before, product->stream));
    for (uint32_t i = 0; i < LAUNCHES; i++)
        TRY(plan->launch(plan, &launch, &plan->outputs[0].shape));
    TRY(device->class_->event_record(device, product->after, product->stream));
    TRY(device->class_->stream_synchronize(device, product->stream));
    TRY(device->class_->event_elapsed(device, product->before, product->after, &ns));
    *out_ns = (double)ns / LAUNCHES;
    return NULL;
}

/* The best of both, in turns; the first round warms up. */
static Error *measure(const Product *product, double *out_table_ns, double *out_raw_ns) {
    double table = INFINITY, raw = INFINITY, ns;
    for (int i = 0; i <= ROUNDS; i++) {
        TRY(time_table(product, &ns));
        if (i > 0) table = fmin(table, ns);
        TRY(raw_matmul_time(&product->raw, product->addresses, product->addresses[2],
            product->addresses[OPERANDS], LAUNCHES, &ns));
        if (i > 0) raw = fmin(raw, ns);
    }
    *out_table_ns = table;
    *out_raw_ns = raw;
    return NULL;
}

static Error *measure_shape(
    const char *spec, Device *device, RawCublas *cublas, const MatmulShape *shape) {
    Product product;
    double table_ns = 0, raw_ns = 0;
    Error *error = product_init(device, cublas, shape, &product);
    if (!error) error = measure(&product, &table_ns, &raw_ns);
    if (!error) {
        const double operations = 2.0 * (double)(shape->batch * shape->rows) *
                                  (double)shape->columns * (double)shape->depth;
        printf("| product %s %llu x [%llu,%llu] [%llu,%llu] | %s | %.1f us by %s, %.0f GFLOP/s; "
               "raw %.1f us: %.2f x raw | %s |\n",
            dtype_name(shape->dtype), (unsigned long long)shape->batch,
            (unsigned long long)shape->rows, (unsigned long long)shape->depth,
            (unsigned long long)shape->depth, (unsigned long long)shape->columns, spec,
            table_ns * 1e-3, product.plan->kernel_name, operations / table_ns, raw_ns * 1e-3,
            raw_ns / table_ns, TARGET);
        (void)fflush(stdout); /* what follows may be cut off for want of time */
    }
    product_deinit(&product);
    return error;
}

static Error *measure_shapes(const char *spec, Device *device, RawCublas *cublas, bool quick) {
    const MatmulShape *list = quick ? quick_shapes : shapes;
    const size_t count =
        quick ? sizeof quick_shapes / sizeof quick_shapes[0] : sizeof shapes / sizeof shapes[0];
    for (size_t i = 0; i < count; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
            MatmulShape shape = list[i];
            shape.dtype = dtypes[d];
            TRY(measure_shape(spec, device, cublas, &shape));
        }
    return NULL;
}

static Error *run(const char *spec, bool quick) {
    OWN(Device, device) = NULL;
    RawCublas cublas = {0};
    TRY(device_open(spec, &device));
    if (strcmp(device->class_->kind, "cuda") != 0)
        FAIL(USAGE, "%s: matrix products are compared on cuda devices", spec);
    Error *error = raw_cublas_open(device->index, &cublas);
    if (error && error_code(error) == ERROR_UNSUPPORTED) { /* not here: nothing to compare with */
        printf("| products beside raw cuBLASLt | %s | %s | %s |\n", spec, error_message(error),
            TARGET);
        error_free(error);
        return NULL;
    }
    if (!error) error = measure_shapes(spec, device, &cublas, quick);
    raw_cublas_close(&cublas);
    return error;
}

int main(int argc, char **argv) {
    const bool quick = argc == 3 && strcmp(argv[2], "quick") == 0;
    if (argc != 2 && !quick) {
        (void)fprintf(stderr, "usage: bench_matmul SPEC [quick]\n");
        return 2;
    }
    Error *error = run(argv[1], quick);
    if (error) (void)fprintf(stderr, "bench_matmul: %s\n", error_message(error));
    int code = error ? 1 : 0;
    error_free(error);
    return code;
}
