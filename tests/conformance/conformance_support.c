#include "tests/conformance/conformance_support.h"

#include <string.h>

#include "tests/conformance/conformance.h"

static uint8_t served_by(const Plan *plan) {
    if (plan->view) return SERVED_AS_VIEW;
    if (plan->origin == PLAN_OF_EXPANSION) return SERVED_BY_EXPANSION;
    return plan->origin == PLAN_OF_HOST ? SERVED_BY_HOST : SERVED_BY_KERNEL;
}

static void add_kernel(ConformanceSupport *support, DType dtype, const char *name) {
    uint32_t *count = &support->kernel_count[dtype];
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(support->kernels[dtype][i], name) == 0) return;
    if (*count < SUPPORT_KERNELS_MAX) support->kernels[dtype][(*count)++] = name;
}

/* Where a row has no T: of the leading input, or where that only says a shape, of the output. */
static DType fixed_type(const ConformanceCase *row, const DeviceCall *call) {
    DType dtypes[CONFORMANCE_OUTPUTS_MAX];
    Shape shapes[CONFORMANCE_OUTPUTS_MAX];
    (void)case_table_outputs(row, DTYPE_NONE, dtypes, shapes);
    bool is_shape = operator_reads_value(operator_find(row->operator_name), 0);
    return call->input_count > 0 && !is_shape ? call->inputs[0]->dtype : dtypes[0];
}

/* Shape rules refuse element types that an operator does not have as INVALID. */
static void ask(
    Device *device, const ConformanceCase *row, DType tested, ConformanceSupport *inout) {
    ConformanceRun run;
    OWN(Plan, plan) = NULL;
    conformance_prepare(device, row, tested, &run);
    DType dtype = tested == DTYPE_NONE ? fixed_type(row, &run.call) : tested;
    Error *error = device_call_plan(&run.call, &plan);
    if (!error) {
        inout->served[dtype] |= served_by(plan);
        add_kernel(inout, dtype, plan->kernel_name);
    } else if (error_code(error) != ERROR_INVALID) {
        inout->served[dtype] |= SERVED_NOT;
    }
    error_free(error);
    conformance_run_deinit(&run);
}

void conformance_support_ask(Device *device, const OperatorInfo *info, ConformanceSupport *out) {
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < case_table_count; i++) {
        const ConformanceCase *row = &case_table[i];
        if (!row->reference || strcmp(row->operator_name, info->name) != 0) continue;
        DTypeSet declared = case_table_dtypes(row);
        bool fixed = declared == DTYPE_BIT(DTYPE_NONE);
        DTypeSet asked = fixed ? declared : DTYPES_SIZED;
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++)
            if (asked >> dtype & 1) ask(device, row, (DType)dtype, out);
    }
}

const char *conformance_support_letters(uint8_t served) {
    static const char *const letters[32] = {"", "K", "E", "KE", "H", "KH", "EH", "KEH", "V", "KV",
        "EV", "KEV", "HV", "KHV", "EHV", "KEHV", "-", "K-", "E-", "KE-", "H-", "KH-", "EH-", "KEH-",
        "V-", "KV-", "EV-", "KEV-", "HV-", "KHV-", "EHV-", "KEHV-"};
    return letters[served & 31];
}

static const struct {
    const char *name;
    DTypeSet dtypes;
} columns[] = {
    {"float64", DTYPE_BIT(DTYPE_FLOAT64)},
    {"float32", DTYPE_BIT(DTYPE_FLOAT32)},
    {"float16", DTYPE_BIT(DTYPE_FLOAT16)},
    {"bfloat16", DTYPE_BIT(DTYPE_BFLOAT16)},
    {"int64", DTYPE_BIT(DTYPE_INT64)},
    {"int32", DTYPE_BIT(DTYPE_INT32)},
    {"int16", DTYPE_BIT(DTYPE_INT16)},
    {"int8", DTYPE_BIT(DTYPE_INT8)},
    {"uint64", DTYPE_BIT(DTYPE_UINT64)},
    {"uint32", DTYPE_BIT(DTYPE_UINT32)},
    {"uint16", DTYPE_BIT(DTYPE_UINT16)},
    {"uint8", DTYPE_BIT(DTYPE_UINT8)},
    {"bool", DTYPE_BIT(DTYPE_BOOL)},
    {"float8", DTYPES_ANY & ~(DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL))},
    {"packed", DTYPES_PACKED},
};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

static void print_row(Device *device, const OperatorInfo *info, TextBuilder *out) {
    ConformanceSupport support;
    conformance_support_ask(device, info, &support);
    text_appendf(out, "| %s |", info->name);
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        uint8_t served = 0;
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++)
            if (columns[i].dtypes >> dtype & 1) served |= support.served[dtype];
        text_appendf(out, " %s |", conformance_support_letters(served));
    }
    text_append(out, "\n");
}

void conformance_support_print(Device *device, const char *operator_name, TextBuilder *out) {
    text_append(out, "| operator |");
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) text_appendf(out, " %s |", columns[i].name);
    text_append(out, "\n| --- |");
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) text_append(out, " --- |");
    text_append(out, "\n");
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        if (!operator_name || strcmp(operator_name, info->name) == 0) print_row(device, info, out);
    }
}
