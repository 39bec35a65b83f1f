#include "tests/conformance/conformance.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/digest.h"

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
    for (uint32_t i = 0; i < CONFORMANCE_OUTPUTS_MAX; i++) tensor_release(run->outputs[i]);
}

static ReferenceTensor widen(const Tensor *tensor) {
    if (!tensor) return (ReferenceTensor){0};
    ReferenceTensor wide = {true, tensor->dtype, tensor->shape, 0, NULL};
    wide.count = shape_count_unchecked(&tensor->shape);
    wide.values = calloc((size_t)wide.count + 1, sizeof(double));
    assert_non_null(wide.values);
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
    return info->tolerance > 2e-6 ? base * (wide ? 150 : 10) : base * 4;
}

static Error *compare_values(
    const ConformanceCase *row, const Tensor *made, const ReferenceTensor *expected) {
    double allowed = tolerance(row, made->dtype);
    for (int64_t i = 0; i < expected->count; i++) {
        double value = device_tensor_get(made, i), wanted = expected->values[i];
        bool same = value == wanted || (isnan(value) && isnan(wanted));
        if (!same && !(fabs(value - wanted) <= allowed * (1 + fabs(wanted))))
            FAIL(INTERNAL, "element %" PRId64 " of %" PRId64 " is %.9g, not %.9g", i,
                expected->count, value, wanted);
    }
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

uint64_t conformance_hash(const ConformanceRun *run) {
    uint64_t hashes[CONFORMANCE_OUTPUTS_MAX];
    for (uint32_t i = 0; i < run->call.output_count; i++)
        hashes[i] = device_tensor_hash(run->outputs[i]);
    return digest_xxh3(hashes, run->call.output_count * sizeof hashes[0]);
}

/* What no device does, and why. A device that lacks more needs a row here. */
static const struct {
    const char *operator_name;
    DTypeSet dtypes;
    const char *reason;
} unsupported[] = {
    {"LRN", DTYPE_BIT(DTYPE_FLOAT64), "of networks of 2012, which are float32"},
};

static bool may_lack(const ConformanceCase *row, DType dtype) {
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++)
        if (strcmp(unsupported[i].operator_name, row->operator_name) == 0 &&
            unsupported[i].dtypes >> dtype & 1)
            return true;
    return false;
}

/* How a row went over its element types. */
typedef struct Tally {
    uint32_t done, unsupported, failed;
} Tally;

static void check_row(
    Device *device, const ConformanceCase *row, ConformanceCheck *check, Tally *tally) {
    DTypeSet dtypes = case_table_dtypes(row);
    for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        if (!(dtypes >> dtype & 1)) continue;
        Error *error = check(device, row, (DType)dtype);
        if (error_code(error) == ERROR_UNSUPPORTED && may_lack(row, (DType)dtype)) {
            tally->unsupported++;
        } else if (error) {
            tally->failed++;
            print_error("cases.def:%d: %s: %s %s %s: %s\n", row->line, device->name,
                row->operator_name, row->attributes, dtype_name((DType)dtype),
                error_message(error));
        } else {
            tally->done++;
        }
        error_free(error);
    }
}

void conformance_for_each(const char *device_spec, ConformanceCheck *check) {
    Device *device = NULL;
    assert_ok(device_open(device_spec, &device));
    Tally tally = {0};
    for (uint32_t i = 0; i < case_table_count; i++)
        check_row(device, &case_table[i], check, &tally);
    device_close(device);
    print_message("%s: %u checks, %u unsupported, %u failed\n", device_spec, tally.done,
        tally.unsupported, tally.failed);
    assert_int_equal(tally.failed, 0);
}
