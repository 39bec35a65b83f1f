#include "tests/kernels/kernel_call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/registry/device_registry.h"
#include "kernels/tensor/dtype.h"
#include "kernels/shape_rules/operator_infer.h"
#include "kernels/operator/plan.h"

enum { GUARD = 64 };

/* Memory of exactly this size at an odd multiple of the element, with guards around it. */
typedef struct Block {
    uint8_t *base;
    uint8_t *data; /* NULL for size 0 */
    uint64_t size, lead;
} Block;

static Block block_make(uint64_t size, uint64_t lead, uint8_t fill) {
    Block block = {.size = size, .lead = lead};
    if (size == 0) return block;
    const uint64_t total = (lead + size + 2 * GUARD + 63) / 64 * 64;
    block.base = aligned_alloc(64, total);
    assert_non_null(block.base);
    memset(block.base, 0xa5, total);
    block.data = block.base + GUARD + lead;
    memset(block.data, fill, size);
    return block;
}

static void block_check(const Block *block) {
    if (!block->base) return;
    for (uint64_t i = 0; i < GUARD + block->lead; i++) assert_int_equal(block->base[i], 0xa5);
    for (uint64_t i = 0; i < GUARD / 2; i++) assert_int_equal(block->data[block->size + i], 0xa5);
}

typedef struct Prepared {
    Attributes *attributes;
    PlanRequest request;
    TensorSpec specs[KERNEL_CALL_INPUTS_MAX];
    const void *values[KERNEL_CALL_INPUTS_MAX];
    Block inputs[KERNEL_CALL_INPUTS_MAX], outputs[KERNEL_CALL_OUTPUTS_MAX], workspace;
    uint64_t input_addresses[KERNEL_CALL_INPUTS_MAX], output_addresses[KERNEL_CALL_OUTPUTS_MAX];
    bool packed;
} Prepared;

static Error *read_attributes(const KernelCall *call, Prepared *prepared) {
    const char *text = call->attributes ? call->attributes : "{}";
    TRY(attributes_parse(&text, &prepared->attributes));
    return attributes_check(prepared->attributes, prepared->request.operator_info);
}

static uint64_t lead_of(const KernelMode *mode, DType dtype) {
    return mode->offset * (dtype_bits(dtype) / 8);
}

static Error *prepare_input(Device *device, const KernelCall *call, const KernelMode *mode,
    uint32_t i, Prepared *prepared) {
    const KernelInput *input = &call->inputs[i];
    if (input->dtype == DTYPE_NONE) return NULL;
    TensorSpec *spec = &prepared->specs[i];
    *spec = (TensorSpec){.present = true, .dtype = input->dtype, .shape = input->shape};
    uint64_t bytes;
    TRY(shape_bytes(&input->shape, input->dtype, &bytes));
    uint32_t layout = 0;
    uint64_t packed_bytes = 0;
    const PackRequest pack = {prepared->request.operator_info, prepared->attributes, i, *spec};
    if (mode->packed >> i & 1)
        TRY(device->class_->pack_rule(device, &pack, &layout, &packed_bytes));
    Block *block = &prepared->inputs[i];
    if (layout == 0) {
        *block = block_make(bytes, lead_of(mode, input->dtype), 0);
        if (bytes) memcpy(block->data, input->data, bytes);
    } else {
        *block = block_make(packed_bytes, 0, mode->fill);
        TRY(device->class_->pack(
            device, NULL, &pack, layout, input->data, (uint64_t)(uintptr_t)block->data));
        block_check(block);
        prepared->packed = true;
    }
    spec->layout = layout;
    prepared->values[i] = input->data;
    prepared->input_addresses[i] = (uint64_t)(uintptr_t)block->data;
    return NULL;
}

/* Output 0 goes over an input where the plan says that it may. */
static bool takes_in_place(const Plan *plan, const KernelMode *mode) {
    return mode->in_place >= 0 && mode->in_place < 8 && plan->in_place >> mode->in_place & 1;
}

static Error *launch(const Plan *plan, const KernelMode *mode, Prepared *prepared) {
    for (uint32_t i = 0; i < plan->output_count; i++) {
        uint64_t bytes;
        TRY(shape_bytes(&plan->outputs[i].shape, plan->outputs[i].dtype, &bytes));
        prepared->outputs[i] = block_make(bytes, lead_of(mode, plan->outputs[i].dtype), mode->fill);
        prepared->output_addresses[i] = (uint64_t)(uintptr_t)prepared->outputs[i].data;
    }
    if (takes_in_place(plan, mode))
        prepared->output_addresses[0] = prepared->input_addresses[mode->in_place];
    prepared->workspace = block_make(plan->workspace_bytes, 0, mode->fill);
    const Launch launch = {
        .inputs = prepared->input_addresses,
        .outputs = prepared->output_addresses,
        .workspace = (uint64_t)(uintptr_t)prepared->workspace.data,
        .threads = mode->threads,
    };
    Shape shapes[KERNEL_CALL_OUTPUTS_MAX];
    for (uint32_t i = 0; i < plan->output_count; i++) shapes[i] = plan->outputs[i].shape;
    TRY(plan->launch(plan, &launch, shapes));
    return NULL;
}

static void collect(const Plan *plan, const Prepared *prepared, KernelResult *out) {
    out->kernel_name = plan->kernel_name;
    out->was_packed = prepared->packed;
    out->count = plan->output_count;
    for (uint32_t i = 0; i < plan->output_count; i++) {
        out->dtypes[i] = plan->outputs[i].dtype;
        out->shapes[i] = plan->outputs[i].shape;
        out->bytes[i] = prepared->outputs[i].size;
        out->data[i] = malloc(out->bytes[i] + 1);
        assert_non_null(out->data[i]);
        if (out->bytes[i])
            memcpy(out->data[i], (void *)(uintptr_t)prepared->output_addresses[i], out->bytes[i]);
    }
}

static Error *run_prepared(Device *device, const KernelCall *call, const KernelMode *mode,
    Prepared *prepared, KernelResult *out) {
    TRY(read_attributes(call, prepared));
    prepared->request.attributes = prepared->attributes;
    for (uint32_t i = 0; i < call->input_count; i++)
        TRY(prepare_input(device, call, mode, i, prepared));
    TRY(operator_infer(&prepared->request));
    OWN(Plan, plan) = NULL;
    TRY(device->class_->plan(device, &prepared->request, &plan));
    TRY(launch(plan, mode, prepared));
    for (uint32_t i = 0; i < call->input_count; i++) block_check(&prepared->inputs[i]);
    for (uint32_t i = 0; i < plan->output_count; i++) block_check(&prepared->outputs[i]);
    block_check(&prepared->workspace);
    collect(plan, prepared, out);
    out->was_in_place = takes_in_place(plan, mode);
    return NULL;
}

Error *kernel_call_run(Device *device, const KernelCall *call, KernelMode mode, KernelResult *out) {
    Prepared prepared = {.request = {.operator_info = operator_find(call->name),
                             .input_count = call->input_count,
                             .output_count = call->output_count}};
    assert_non_null(prepared.request.operator_info);
    prepared.request.inputs = prepared.specs;
    prepared.request.values = prepared.values;
    KernelResult result = {0};
    Error *error = run_prepared(device, call, &mode, &prepared, &result);
    attributes_release(prepared.attributes);
    for (uint32_t i = 0; i < KERNEL_CALL_INPUTS_MAX; i++) free(prepared.inputs[i].base);
    for (uint32_t i = 0; i < KERNEL_CALL_OUTPUTS_MAX; i++) free(prepared.outputs[i].base);
    free(prepared.workspace.base);
    if (!error) *out = result;
    return error;
}

void kernel_result_deinit(KernelResult *result) {
    for (uint32_t i = 0; i < result->count; i++) free(result->data[i]);
    *result = (KernelResult){0};
}

static void check_same(const KernelCall *call, KernelMode mode, const KernelResult *result,
    const KernelResult *expected) {
    for (uint32_t i = 0; i < expected->count; i++) {
        assert_int_equal(result->bytes[i], expected->bytes[i]);
        if (memcmp(result->data[i], expected->data[i], expected->bytes[i]) == 0) continue;
        fail_msg("%s %s: output %u differs with %u threads, offset %u, packed %u, in place %d",
            call->name, call->attributes ? call->attributes : "", i, mode.threads, mode.offset,
            mode.packed, mode.in_place);
    }
}

void kernel_call_check_bits(Device *device, const KernelCall *call, KernelResult *out) {
    static const KernelMode modes[] = {
        {2, 0, 0, -1, 0x11},
        {3, 0, 0, -1, 0xff},
        {8, 3, 0, -1, 0x7f},
        {1, 1, 0, -1, 0xee},
        {1, 0, 0, 0, 0x33},
        {2, 1, 0, 1, 0x55},
        {1, 3, 0, 2, 0x77},
        {3, 0, 0, 3, 0x99},
    };
    assert_ok(kernel_call_run(device, call, KERNEL_MODE_PLAIN, out));
    for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        KernelResult other;
        assert_ok(kernel_call_run(device, call, modes[i], &other));
        check_same(call, modes[i], &other, out);
        kernel_result_deinit(&other);
    }
}

/* Another kernel may have served the packed call: the same bits when it is the same one. */
static void check_near(const KernelResult *result, const KernelResult *expected) {
    for (uint32_t i = 0; i < expected->count; i++) {
        if (strcmp(result->kernel_name, expected->kernel_name) == 0 &&
            strncmp(result->kernel_name, "cpu.dnnl", 8) != 0)
            assert_memory_equal(result->data[i], expected->data[i], expected->bytes[i]);
        const int64_t count = shape_count_unchecked(&expected->shapes[i]);
        double *values = malloc((size_t)count * sizeof(double) + 1);
        assert_non_null(values);
        for (int64_t j = 0; j < count; j++) values[j] = kernel_result_at(expected, i, j);
        kernel_check_close(result, i, values, 1e-5);
        free(values);
    }
}

bool kernel_call_check_packed(
    Device *device, const KernelCall *call, uint32_t packed, const KernelResult *plain) {
    static const uint32_t threads[] = {1, 2, 3, 8};
    KernelResult first = {0};
    for (uint32_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        const KernelMode mode = {threads[i], i, packed, -1, 0x44};
        KernelResult other;
        assert_ok(kernel_call_run(device, call, mode, &other));
        if (other.was_packed && i > 0) check_same(call, mode, &other, &first);
        if (other.was_packed && i == 0) check_near(&other, plain);
        if (i == 0)
            first = other;
        else
            kernel_result_deinit(&other);
    }
    const bool was_packed = first.was_packed;
    kernel_result_deinit(&first);
    return was_packed;
}

static double half_value(DType dtype, uint16_t bits) {
    if (dtype == DTYPE_BFLOAT16) {
        const uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return (double)value;
    }
    const int exponent = bits >> 10 & 31;
    const double mantissa = (double)(bits & 1023);
    const double magnitude = exponent == 0    ? ldexp(mantissa, -24)
                             : exponent == 31 ? (bits & 1023 ? (double)NAN : (double)INFINITY)
                                              : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

double kernel_result_at(const KernelResult *result, uint32_t output, int64_t index) {
    const void *data = result->data[output];
    switch ((int)result->dtypes[output]) {
    case DTYPE_FLOAT32:
        return (double)((const float *)data)[index];
    case DTYPE_FLOAT64:
        return ((const double *)data)[index];
    case DTYPE_INT32:
        return (double)((const int32_t *)data)[index];
    case DTYPE_INT64:
        return (double)((const int64_t *)data)[index];
    case DTYPE_UINT32:
        return (double)((const uint32_t *)data)[index];
    case DTYPE_UINT64:
        return (double)((const uint64_t *)data)[index];
    case DTYPE_UINT8:
        return (double)((const uint8_t *)data)[index];
    case DTYPE_INT8:
        return (double)((const int8_t *)data)[index];
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
        return half_value(result->dtypes[output], ((const uint16_t *)data)[index]);
    default:
        fail_msg("%s", dtype_name(result->dtypes[output]));
    }
    return 0;
}

void kernel_check_close(
    const KernelResult *result, uint32_t output, const double *expected, double tolerance) {
    const int64_t count = shape_count_unchecked(&result->shapes[output]);
    for (int64_t i = 0; i < count; i++) {
        const double value = kernel_result_at(result, output, i);
        if (isnan(expected[i]) && isnan(value)) continue;
        if (value == expected[i]) continue;
        if (!(fabs(value - expected[i]) <= tolerance * (1 + fabs(expected[i]))))
            fail_msg("%s: output %u, element %lld of %lld is %.9g, not %.9g", result->kernel_name,
                output, (long long)i, (long long)count, value, expected[i]);
    }
}

float *kernel_random_floats(uint64_t seed, int64_t count) {
    float *values = malloc((size_t)count * sizeof(float) + 1);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)((double)(test_random(&seed) >> 11) * 0x1p-52 - 1);
    return values;
}

Device *kernel_cpu_device(void) {
    static Device *device;
    if (!device) assert_ok(device_open("cpu:threads=8", &device));
    return device;
}

Device *kernel_portable_device(void) {
    static Device *device;
    if (!device) assert_ok(device_open_portable(&device));
    return device;
}
