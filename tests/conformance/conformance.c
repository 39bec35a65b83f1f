#include "tests/conformance/conformance.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/cuda_shim.h"

const ConformanceCheckInfo conformance_checks[] = {
#define CHECK(name, promise)                                                                       \
    {#name, promise, conformance_##name, conformance_##name##_applies, conformance_unsupported},
#include "tests/conformance/cases/checks.def"
#undef CHECK
};
const uint32_t conformance_check_count = sizeof conformance_checks / sizeof conformance_checks[0];

const ConformanceCheckInfo *conformance_check_find(const char *name) {
    for (uint32_t i = 0; i < conformance_check_count; i++)
        if (strcmp(conformance_checks[i].name, name) == 0) return &conformance_checks[i];
    return NULL;
}

Error *conformance_device_open(const char *spec, ConformanceDevice *out) {
    OWN(Device, device) = NULL;
    OWN(Device, cpu) = NULL;
    TextBuilder OWN_TEXT(here) = {0};
    TextBuilder OWN_TEXT(there) = {0};
    TRY(cuda_shim_open(spec, &device));
    TRY(device_open("cpu", &cpu));
    device->class_->determinism_class(device, &here);
    cpu->class_->determinism_class(cpu, &there);
    TRY(text_builder_check(&here));
    TRY(text_builder_check(&there));
    bool same = strcmp(text_builder_get(&here), text_builder_get(&there)) == 0;
    *out = (ConformanceDevice){spec, TAKE(device), TAKE(cpu), same};
    return NULL;
}

void conformance_device_deinit(ConformanceDevice *on) {
    device_close(on->device);
    device_close(on->cpu);
}

void conformance_prepare(
    Device *device, const ConformanceCase *row, DType dtype, ConformanceRun *out) {
    DType dtypes[CONFORMANCE_OUTPUTS_MAX];
    Shape shapes[CONFORMANCE_OUTPUTS_MAX];
    *out = (ConformanceRun){
        .call = {
            .device = device, .operator_name = row->operator_name, .attributes = row->attributes}};
    out->call.input_count = case_table_inputs(row, dtype, out->call.inputs);
    out->call.output_count = case_table_outputs(row, dtype, dtypes, shapes);
}

void conformance_run_deinit(ConformanceRun *run) {
    for (uint32_t i = 0; i < run->call.input_count; i++) tensor_release(run->call.inputs[i]);
    conformance_release_outputs(run->outputs);
}

void conformance_release_outputs(Tensor **outputs) {
    for (uint32_t i = 0; i < CONFORMANCE_OUTPUTS_MAX; i++) {
        tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
}

static ReferenceTensor widen(const Tensor *tensor) {
    if (!tensor) return (ReferenceTensor){0};
    ReferenceTensor wide = {true, tensor->dtype, tensor->shape, 0, NULL};
    wide.count = shape_count_unchecked(&tensor->shape);
    wide.values = calloc((size_t)wide.count + 1, sizeof(double));
    assert(wide.values);
    for (int64_t i = 0; i < wide.count; i++) wide.values[i] = device_tensor_get(tensor, i);
    return wide;
}

/* Relative to 1 + |expected|. Sums of products lose a few more bits than single operations. */
static double tolerance(const ConformanceCase *row, DType dtype) {
    double base = 0;
    if (dtype == DTYPE_FLOAT64) base = 1e-13;
    if (dtype == DTYPE_FLOAT32) base = 3e-7;
    if (dtype == DTYPE_FLOAT16) base = 1e-3;
    if (dtype == DTYPE_BFLOAT16) base = 8e-3;
    /* up to 144 products of up to 9 each may cancel out */
    const OperatorInfo *info = operator_find(row->operator_name);
    bool wide = dtype_bits(dtype) >= 32;
    /* the rows to be timed sum up to 32 times as many, or 768 that cancel out */
    if (!row->reference) base *= 16;
    return info->tolerance > 2e-6 ? base * (wide ? 150 : 10) : base * 4;
}

static Error *check_element(
    double value, double wanted, double allowed, int64_t index, int64_t count) {
    bool same = value == wanted || (isnan(value) && isnan(wanted));
    if (!same && !(fabs(value - wanted) <= allowed * (1 + fabs(wanted))))
        FAIL(INTERNAL, "element %" PRId64 " of %" PRId64 " is %.9g, not %.9g", index, count, value,
            wanted);
    return NULL;
}

static Error *compare_values(
    const ConformanceCase *row, const Tensor *made, const ReferenceTensor *expected) {
    double allowed = tolerance(row, made->dtype);
    for (int64_t i = 0; i < expected->count; i++)
        TRY(check_element(
            device_tensor_get(made, i), expected->values[i], allowed, i, expected->count));
    return NULL;
}

static Error *compare_type(const Tensor *made, DType dtype, const Shape *shape) {
    bool same = made->dtype == dtype && made->shape.rank == shape->rank;
    for (uint32_t i = 0; same && i < shape->rank; i++)
        same = shape->dims[i] == -1 || made->shape.dims[i] == shape->dims[i];
    if (same) return NULL;
    TextBuilder OWN_TEXT(text) = {0};
    shape_print(&made->shape, &text);
    FAIL(INTERNAL, "%s%s", dtype_name(made->dtype), text_builder_get(&text));
}

static Error *compare_all(
    const ConformanceRun *run, const ConformanceCase *row, DType dtype, ReferenceCall *call) {
    DType dtypes[CONFORMANCE_OUTPUTS_MAX];
    Shape shapes[CONFORMANCE_OUTPUTS_MAX];
    (void)case_table_outputs(row, dtype, dtypes, shapes);
    for (uint32_t i = 0; i < call->output_count; i++)
        TRY_WRAP(compare_type(run->outputs[i], dtypes[i], &shapes[i]), "output %u", i);
    row->reference(call);
    for (uint32_t i = 0; i < call->output_count; i++)
        TRY_WRAP(compare_values(row, run->outputs[i], &call->outputs[i]), "output %u", i);
    return NULL;
}

Error *conformance_compare(const ConformanceRun *run, const ConformanceCase *row, DType dtype) {
    ReferenceCall call = {.operator_info = operator_find(row->operator_name),
        .input_count = run->call.input_count,
        .output_count = run->call.output_count};
    Attributes *attributes = NULL;
    const char *text = row->attributes;
    TRY(attributes_parse(&text, &attributes));
    Error *error = attributes_check(attributes, call.operator_info);
    call.attributes = attributes;
    for (uint32_t i = 0; i < call.input_count; i++) call.inputs[i] = widen(run->call.inputs[i]);
    for (uint32_t i = 0; i < call.output_count; i++) {
        call.outputs[i] = widen(run->outputs[i]);
        for (int64_t j = 0; j < call.outputs[i].count; j++) call.outputs[i].values[j] = 0;
    }
    if (!error) error = compare_all(run, row, dtype, &call);
    for (uint32_t i = 0; i < call.input_count; i++) free(call.inputs[i].values);
    for (uint32_t i = 0; i < call.output_count; i++) free(call.outputs[i].values);
    attributes_release(attributes);
    return error;
}

static Error *compare_tensors(
    const ConformanceCase *row, const Tensor *made, const Tensor *expected) {
    TRY(compare_type(made, expected->dtype, &expected->shape));
    double allowed = tolerance(row, made->dtype);
    int64_t count = shape_count_unchecked(&made->shape);
    for (int64_t i = 0; i < count; i++)
        TRY(check_element(
            device_tensor_get(made, i), device_tensor_get(expected, i), allowed, i, count));
    return NULL;
}

Error *conformance_compare_outputs(
    const ConformanceRun *run, const ConformanceCase *row, Tensor *const *expected) {
    for (uint32_t i = 0; i < run->call.output_count; i++)
        TRY_WRAP(compare_tensors(row, run->outputs[i], expected[i]), "output %u", i);
    return NULL;
}

uint64_t conformance_hash(const ConformanceRun *run) {
    uint64_t hashes[CONFORMANCE_OUTPUTS_MAX];
    for (uint32_t i = 0; i < run->call.output_count; i++)
        hashes[i] = device_tensor_hash(run->outputs[i]);
    return digest_xxh3(hashes, run->call.output_count * sizeof hashes[0]);
}
