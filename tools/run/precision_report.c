#include "tools/run/precision_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "kernels/tensor/philox.h"
#include "scheduler/http/client/json_fields.h"
#include "serialize/arrays/array_values.h"
#include "tools/run/precision_compare.h"
#include "tools/client/remote.h"
#include "tools/run/run_machine.h"

static const char made_up[] = "generated", given[] = "given";

/* ---- counts ---- */

Error *precision_counts_json(const char *mode, const PrecisionReport *report, json_object **out) {
    json_object *object, *reasons = json_object_new_object();
    int64_t left = 0;
    TRY(json_fields_create(&object));
    for (uint32_t i = 0; i < PRECISION_LEFT_COUNT; i++) {
        if (report->left[i])
            json_fields_int(reasons, precision_left_name((PrecisionLeft)i), report->left[i]);
        left += report->left[i];
    }
    json_fields_text(object, "mode", mode);
    json_fields_int(object, "lowered", report->lowered);
    json_fields_int(object, "left", left);
    json_object_object_add(object, "left_by", reasons);
    *out = object;
    return NULL;
}

void precision_print_counts(json_object *precision) {
    json_object *reasons = remote_field(precision, "left_by");
    const char *before = "; left in float32: ";
    const int64_t lowered = remote_int(precision, "lowered");
    if (lowered == 0)
        printf("%s: nothing was lowered", remote_text(precision, "mode"));
    else
        printf(
            "%s: %lld operators were lowered", remote_text(precision, "mode"), (long long)lowered);
    for (uint32_t i = 0; i < PRECISION_LEFT_COUNT; i++) {
        const char *name = precision_left_name((PrecisionLeft)i);
        if (!remote_field(reasons, name)) continue;
        printf("%s%lld %s", before, (long long)remote_int(reasons, name),
            precision_left_text((PrecisionLeft)i));
        before = ", ";
    }
    printf("\n");
}

/* ---- inputs ---- */

static void fill_array(NamedArray *array, uint64_t key) {
    const uint32_t size = dtype_bits(array->dtype) / 8;
    const int64_t count = shape_count_unchecked(&array->shape);
    for (int64_t i = 0; i < count; i++) {
        const double value =
            dtype_is_float(array->dtype) ? philox_number(key, 0, (uint64_t)i, 1) : 1;
        (void)dtype_scalar_write(array->dtype, value, array->data + (uint64_t)i * size);
    }
}

static Error *make_input(const Port *port, uint64_t key, ArrayList *list) {
    NamedArray array = {0};
    double probe = 1;
    uint8_t bytes[8];
    Shape shape = port->shape;
    if (port->form != PORT_TENSOR || !port->rank_known || dtype_bits(port->dtype) < 8 ||
        !dtype_scalar_write(port->dtype, probe, bytes))
        FAIL(UNSUPPORTED, "input %s: nothing is made up for what it is", port->name);
    for (uint32_t i = 0; i < shape.rank; i++)
        if (shape.dims[i] < 0) shape.dims[i] = 1;
    TRY(named_array_init(&array, port->name, port->dtype, &shape));
    fill_array(&array, key);
    return array_list_add(list, &array);
}

static Error *read_inputs(const CommandContext *context, const Executable *executable,
    uint32_t *inout_function, Value **out_values) {
    ArrayList OWN_ARRAYS(list) = {0};
    const Function *of = &executable->functions[*inout_function];
    uint32_t count;
    if (command_flag(context, "input"))
        return run_inputs_read(context, executable, inout_function, out_values, &count);
    for (uint32_t i = 0; i < of->parameter_count; i++)
        if (!port_is_optional(&of->parameters[i])) TRY(make_input(&of->parameters[i], i, &list));
    return array_values_bind(&list, of, out_values);
}

/* ---- runs ---- */

static Error *add_to_list(void *self, NamedArray *inout_array) {
    return array_list_add(self, inout_array);
}

static Error *finish(Execution *execution, ArrayList *out) {
    TRY(run_machine_finish(execution));
    return array_values_export_result(execution, (ArraySink){.add = add_to_list, .self = out});
}

static Error *run(
    const CommandContext *context, WorkerPool *pool, const Executable *executable, ArrayList *out) {
    RunMachine OWN_MACHINE(machine) = {0};
    uint32_t function;
    Value *values;
    TRY(executable_find_function(executable, "main", &function));
    if (!executable->functions[function].parameters &&
        executable->functions[function].parameter_count)
        FAIL(UNSUPPORTED, "its inputs have no names");
    TRY(run_machine_open(context, pool, executable_retain(executable), &machine));
    TRY(read_inputs(context, executable, &function, &values));
    const uint32_t count = executable->functions[function].parameter_count;
    Error *error = execution_create(
        machine.residency, &machine.options, function, values, count, &machine.execution);
    array_values_release(values, count);
    return error ? error : finish(machine.execution, out);
}

static Error *compare(const ArrayList *expected, const ArrayList *got, json_object *outputs) {
    for (size_t i = 0; i < expected->count; i++) {
        json_object *item;
        const NamedArray *array = array_list_find(got, expected->items[i].name);
        PrecisionErrors errors;
        TRY(json_fields_create(&item));
        json_fields_text(item, "name", expected->items[i].name);
        json_object_array_add(outputs, item);
        if (!precision_compare(&expected->items[i], array, &errors)) {
            json_fields_text(item, "differs", "in shape or type");
            continue;
        }
        json_fields_real(item, "max_abs_error", errors.max_abs);
        json_fields_real(item, "rms_error_relative", errors.rms_relative);
        if (errors.rows) json_fields_real(item, "argmax_agreement", errors.argmax);
        if (errors.whole) json_fields_real(item, "equal", errors.equal);
    }
    return NULL;
}

static Error *measure(const CommandContext *context, WorkerPool *pool, const Executable *full,
    const Executable *lowered, json_object *outputs) {
    ArrayList OWN_ARRAYS(expected) = {0};
    ArrayList OWN_ARRAYS(got) = {0};
    TRY(run(context, pool, full, &expected));
    TRY(run(context, pool, lowered, &got));
    return compare(&expected, &got, outputs);
}

Error *precision_measure(const CommandContext *context, ModelAccess *access, const char *path,
    const ModelFileOptions *options, const Executable *lowered, json_object *inout_precision) {
    const bool is_given = command_flag(context, "input");
    OWN(Executable, full) = NULL;
    ModelFileOptions float32 = *options;
    float32.precision = NULL;
    float32.report = NULL;
    float32.warnings = NULL;
    TRY(model_file_load(access->pool, path, &float32, &full));
    json_object *outputs = json_object_new_array();
    if (!outputs) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    json_fields_text(inout_precision, "inputs", is_given ? given : made_up);
    json_object_object_add(inout_precision, "outputs", outputs);
    Error *error = measure(context, access->pool, full, lowered, outputs);
    if (!error || is_given) return error;
    json_fields_text(inout_precision, "unmeasured", error_message(error));
    error_free(error); /* the answer has the message */
    return NULL;
}

static void print_output(json_object *output) {
    printf("  %-24s ", remote_text(output, "name"));
    if (remote_field(output, "differs")) {
        printf("differs %s\n", remote_text(output, "differs"));
        return;
    }
    printf("max abs error %.3g, relative RMS error %.3g", remote_real(output, "max_abs_error"),
        remote_real(output, "rms_error_relative"));
    if (remote_field(output, "argmax_agreement"))
        printf(
            ", arg max agrees in %.4g %% of rows", remote_real(output, "argmax_agreement") * 100);
    if (remote_field(output, "equal"))
        printf(", %.4g %% of elements equal", remote_real(output, "equal") * 100);
    printf("\n");
}

void precision_print_errors(json_object *precision) {
    json_object *outputs = remote_field(precision, "outputs");
    const bool is_given = strcmp(remote_text(precision, "inputs"), given) == 0;
    if (remote_field(precision, "unmeasured")) {
        printf("the accuracy was not measured, give inputs with --input: %s\n",
            remote_text(precision, "unmeasured"));
        return;
    }
    printf("against float32, on %s:\n", is_given ? "the inputs given"
                                                 : "inputs made up (floats from N(0, 1), integers "
                                                   "1, free dimensions 1)");
    for (size_t i = 0; i < json_object_array_length(outputs); i++)
        print_output(json_object_array_get_idx(outputs, i));
}
