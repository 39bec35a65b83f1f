#include "tests/kernels/string_fixture.h"

#include <stdlib.h>

#include "base/text.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/kernels/everywhere.h"

enum { ELEMENTS_MAX = 64 };

Tensor *string_fixture_tensor(const char *texts, uint32_t rank, const int64_t *dims) {
    StringView views[ELEMENTS_MAX];
    Shape shape = shape_make(rank, dims);
    int64_t count = shape_count_unchecked(&shape);
    assert_true(count <= ELEMENTS_MAX);
    for (int64_t i = 0; i < count; i++) {
        size_t size = strcspn(texts, "|");
        views[i] = (StringView){texts, size};
        texts += size + (texts[size] == '|');
    }
    Tensor *tensor;
    assert_ok(string_tensor_create(&shape, views, &tensor));
    assert_ok(string_tensor_check(tensor));
    return tensor;
}

static void release_outputs(StringCall *call) {
    for (uint32_t i = 0; i < STRING_CALL_INPUTS_MAX; i++) {
        tensor_release(call->outputs[i]);
        call->outputs[i] = NULL;
    }
}

void string_call_deinit(StringCall *call) {
    release_outputs(call);
    for (uint32_t i = 0; i < call->input_count; i++) tensor_release(call->inputs[i]);
}

static Error *make_outputs(
    StringCall *call, const Plan *plan, const Shape *shapes, const uint64_t *bytes) {
    for (uint32_t i = 0; i < call->output_count; i++) {
        DType dtype = plan->outputs[i].dtype;
        if (dtype == DTYPE_STRING)
            TRY(tensor_create_bytes_on_host(
                device_host(), dtype, &shapes[i], bytes[i], &call->outputs[i]));
        else
            TRY(tensor_create_on_host(device_host(), dtype, &shapes[i], &call->outputs[i]));
    }
    return NULL;
}

static Error *run_plan(StringCall *call, const Plan *plan) {
    uint64_t inputs[STRING_CALL_INPUTS_MAX], outputs[STRING_CALL_INPUTS_MAX];
    uint64_t bytes[STRING_CALL_INPUTS_MAX] = {0};
    Shape shapes[STRING_CALL_INPUTS_MAX];
    void *workspace = calloc(plan->workspace_bytes + 1, 1);
    for (uint32_t i = 0; i < call->input_count; i++) inputs[i] = tensor_address(call->inputs[i]);
    for (uint32_t i = 0; i < call->output_count; i++) shapes[i] = plan->outputs[i].shape;
    Launch launch = {.inputs = inputs,
        .outputs = outputs,
        .workspace = (uint64_t)(uintptr_t)workspace,
        .threads = 4};
    Error *error = plan->measure ? plan->measure(plan, &launch, shapes) : NULL;
    if (!error && plan->measure_bytes) error = plan->measure_bytes(plan, &launch, shapes, bytes);
    if (!error) error = make_outputs(call, plan, shapes, bytes);
    for (uint32_t i = 0; !error && i < call->output_count; i++)
        outputs[i] = tensor_address(call->outputs[i]);
    if (!error) error = plan->launch(plan, &launch, shapes);
    for (uint32_t i = 0; !error && i < call->output_count; i++)
        assert_ok(string_tensor_check(call->outputs[i]));
    free(workspace);
    return error;
}

static Error *plan_call(const StringCall *call, const Attributes *attributes, Plan **out) {
    TensorSpec specs[STRING_CALL_INPUTS_MAX];
    const void *values[STRING_CALL_INPUTS_MAX] = {NULL};
    const OperatorInfo *info = operator_find(call->operator_name);
    PlanRequest request = {.operator_info = info,
        .attributes = attributes,
        .input_count = call->input_count,
        .output_count = call->output_count,
        .inputs = specs,
        .values = values};
    for (uint32_t i = 0; i < call->input_count; i++) {
        specs[i] = tensor_spec(call->inputs[i]);
        if (operator_reads_value(info, i)) values[i] = tensor_data(call->inputs[i]);
    }
    TRY(operator_infer(&request));
    Device *device = everywhere_portable();
    TRY(device->class_->plan(device, &request, out));
    if (!*out) FAIL(UNSUPPORTED, "no kernel");
    return NULL;
}

Error *string_call_run(StringCall *call) {
    OWN(Attributes, attributes) = NULL;
    OWN(Plan, plan) = NULL;
    const char *text = call->attributes ? call->attributes : "{}";
    release_outputs(call);
    TRY(attributes_parse(&text, &attributes));
    TRY(attributes_check(attributes, operator_find(call->operator_name)));
    TRY(plan_call(call, attributes, &plan));
    return run_plan(call, plan);
}

void string_fixture_expect(const Tensor *tensor, const char *expected) {
    TextBuilder OWN_TEXT(text) = {0};
    int64_t count = shape_count_unchecked(&tensor->shape);
    shape_print(&tensor->shape, &text);
    for (int64_t i = 0; i < count; i++) {
        text_append(&text, i ? "|" : " ");
        if (tensor->dtype == DTYPE_STRING) {
            StringView view = string_tensor_at(tensor_data(tensor), count, i);
            text_append_bytes(&text, view.text, (size_t)view.size);
        } else {
            double number = 0;
            const char *at =
                (const char *)tensor_data(tensor) + i * (dtype_bits(tensor->dtype) / 8);
            assert_true(dtype_scalar_read(tensor->dtype, at, &number));
            text_appendf(&text, "%g", number);
        }
    }
    assert_string_equal(text_builder_get(&text), expected);
}
