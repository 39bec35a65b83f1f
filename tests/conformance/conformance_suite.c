#include "tests/conformance/conformance_suite.h"

#include <string.h>

const ConformanceUnsupported conformance_unsupported[] = {
#define UNSUPPORTED(device, operator_name, dtypes, reason) {device, operator_name, dtypes, reason},
#include "tests/conformance/cases/unsupported.def"
#undef UNSUPPORTED
    {0},
};

static const char *reason_in(const ConformanceUnsupported *rows, const ConformanceDevice *on,
    const char *operator_name, DType dtype) {
    for (; rows->device; rows++) {
        bool here =
            strcmp(rows->device, "*") == 0 || strcmp(rows->device, on->device->class_->kind) == 0;
        if (here && strcmp(rows->operator_name, operator_name) == 0 &&
            case_table_dtype_set(rows->dtypes) >> dtype & 1)
            return rows->reason;
    }
    return NULL;
}

const char *conformance_suite_reason(
    const ConformanceDevice *on, const char *operator_name, DType dtype) {
    return reason_in(conformance_unsupported, on, operator_name, dtype);
}

static void print_inputs(const ConformanceCase *row, DType dtype, TextBuilder *out) {
    Tensor *inputs[DEVICE_CALL_INPUTS_MAX] = {NULL};
    uint32_t count = case_table_inputs(row, dtype, inputs);
    for (uint32_t i = 0; i < count; i++) {
        text_appendf(out, "%s%s", i ? " " : "", inputs[i] ? dtype_name(inputs[i]->dtype) : "-");
        if (inputs[i]) shape_print(&inputs[i]->shape, out);
        tensor_release(inputs[i]);
    }
}

/* One row and element type behind each other in a suite. */
typedef struct Suite {
    const ConformanceDevice *on;
    const ConformanceCheckInfo *check;
    ConformanceReport *report;
    void *context;
    ConformanceTally *tally;
} Suite;

static void fail(const Suite *suite, const ConformanceCase *row, DType dtype, const char *message) {
    TextBuilder OWN_TEXT(inputs) = {0};
    print_inputs(row, dtype, &inputs);
    ConformanceFailure failure = {
        suite->on, suite->check, row, dtype, text_builder_get(&inputs), message};
    suite->tally->failed++;
    if (suite->report) suite->report(&failure, suite->context);
}

static void check_one(const Suite *suite, const ConformanceCase *row, DType dtype) {
    Error *error = suite->check->check(suite->on, row, dtype);
    const char *reason = reason_in(suite->check->unsupported, suite->on, row->operator_name, dtype);
    if (!error && reason) {
        TextBuilder OWN_TEXT(message) = {0};
        text_appendf(&message, "works, but unsupported.def lists it: %s", reason);
        fail(suite, row, dtype, text_builder_get(&message));
    } else if (!error) {
        suite->tally->passed++;
    } else if (error_code(error) == ERROR_UNSUPPORTED && reason) {
        suite->tally->unsupported++;
    } else {
        fail(suite, row, dtype, error_message(error));
    }
    error_free(error);
}

void conformance_suite_run(const ConformanceDevice *on, const ConformanceCheckInfo *check,
    const char *operator_name, ConformanceReport *report, void *context,
    ConformanceTally *inout_tally) {
    Suite suite = {on, check, report, context, inout_tally};
    for (uint32_t i = 0; i < case_table_count; i++) {
        const ConformanceCase *row = &case_table[i];
        if (operator_name && strcmp(operator_name, row->operator_name) != 0) continue;
        if (!check->applies(on, row)) continue;
        DTypeSet dtypes = case_table_dtypes(row);
        for (uint32_t dtype = 0; dtype < DTYPE_COUNT; dtype++)
            if (dtypes >> dtype & 1) check_one(&suite, row, (DType)dtype);
    }
}

void conformance_failure_print(const ConformanceFailure *failure, TextBuilder *out) {
    text_appendf(out, "%s:%d: %s: %s: %s %s (%s) %s: %s", case_table_file(failure->row),
        failure->row->line, failure->on->spec, failure->check->name, failure->row->operator_name,
        failure->row->attributes, failure->inputs, dtype_name(failure->dtype), failure->message);
}
