#include "tests/compiler/onnx_run.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "compiler/compile.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/base/onnx_tensor.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/dtype_bits.h"
#include "vm/objects/adt.h"
#include "vm/execution/execution.h"
#include "vm/objects/list.h"

enum { TEXT_SIZE = 4096 };

Error *onnx_model_import(OnnxModel *owned_model, IrModule **out) {
    size_t size;
    uint8_t *bytes = onnx_model_pack(owned_model, &size);
    Error *error = onnx_import(bytes, size, NULL, out);
    free(bytes);
    return error;
}

static Error *compile(OnnxModel *owned_model, Executable **out) {
    CompileOptions options = {.folder = NULL};
    size_t size;
    uint8_t *bytes = onnx_model_pack(owned_model, &size);
    Error *error = compile_source("onnx", bytes, size, &options, out);
    free(bytes);
    return error;
}

void onnx_model_check_refused(
    OnnxModel *owned_model, ErrorCode code, const char *message, const char *file, int line) {
    OWN(Executable, executable) = NULL;
    test_assert_fails(compile(owned_model, &executable), code, message, "compile", file, line);
    assert_null(executable);
}

Tensor *onnx_tensor_from_text(const char *text) {
    Tensor *tensor = NULL;
    OnnxTensor *made = onnx_tensor_make("", text);
    assert_ok(onnx_tensor_read(made, NULL, device_host(), &tensor));
    onnx__tensor_proto__free_unpacked(made, NULL);
    return tensor;
}

static void print_tensor(const Tensor *tensor, TextBuilder *out) {
    text_appendf(out, "%s[", dtype_name(tensor->dtype));
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        text_appendf(out, "%s%lld", i ? "," : "", (long long)tensor->shape.dims[i]);
    text_append(out, "]");
    OWN(Tensor, copy) = NULL;
    assert_ok(tensor_create_on_host(device_host(), tensor->dtype, &tensor->shape, &copy));
    assert_ok(tensor_copy_to_host(tensor, tensor_data(copy)));
    const uint64_t count = (uint64_t)shape_count_unchecked(&tensor->shape);
    for (uint64_t i = 0; i < count; i++) {
        double value;
        assert_true(dtype_bits_read_element(copy->dtype, tensor_data(copy), i, &value));
        text_appendf(out, " %g", value);
    }
}

static void print_value(const Value *value, TextBuilder *out) {
    if (value->tag == VALUE_NIL) {
        text_append(out, "none");
    } else if (value_is(value, OBJECT_LIST)) {
        text_append(out, "list");
        for (uint32_t i = 0; i < value->list->count; i++) {
            text_append(out, i ? " | " : " ");
            assert_true(value_is(&value->list->items[i], OBJECT_TENSOR));
            print_tensor(value->list->items[i].tensor, out);
        }
    } else {
        assert_true(value_is(value, OBJECT_TENSOR));
        print_tensor(value->tensor, out);
    }
}

void onnx_result_print(const Value *result, TextBuilder *out) {
    bool tuple = value_is(result, OBJECT_ADT);
    uint32_t count = tuple ? result->adt->count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const Value *field = tuple ? &result->adt->fields[i] : result;
        if (i) text_append(out, "; ");
        print_value(field, out);
    }
}

static Value read_argument(char *text) {
    static const char list_word[] = "list";
    text += strspn(text, " ");
    if (strncmp(text, "none", 4) == 0) return value_nil();
    if (strncmp(text, list_word, sizeof list_word - 1) != 0)
        return value_object(OBJECT_TENSOR, onnx_tensor_from_text(text));
    List *list;
    char *rest = text + sizeof list_word - 1;
    assert_ok(list_create(NULL, 0, &list));
    for (char *one; (one = strtok_r(rest, "|", &rest));)
        if (one[strspn(one, " ")])
            assert_ok(list_append(
                list, value_object(OBJECT_TENSOR, onnx_tensor_from_text(one + strspn(one, " ")))));
    return value_object(OBJECT_LIST, list);
}

/* "a; b" */
uint32_t onnx_arguments_read(const char *text, size_t size, Value *out_values) {
    char copy[TEXT_SIZE], *rest = copy;
    assert_true(size < sizeof copy);
    memcpy(copy, text, size);
    copy[size] = 0;
    uint32_t count = 0;
    for (char *one; (one = strtok_r(rest, ";", &rest));) {
        if (!one[strspn(one, " ")]) continue;
        assert_true(count < ONNX_ARGUMENTS_MAX);
        out_values[count++] = read_argument(one);
    }
    return count;
}

static Error *run_once(
    Residency *residency, const Value *values, uint32_t count, TextBuilder *out) {
    OWN(Execution, execution) = NULL;
    ExecutionOptions options = {0};
    uint32_t function;
    RunResult result;
    TRY(executable_find_function(residency->executable, "main", &function));
    TRY(execution_create(residency, &options, function, values, count, &execution));
    TRY(execution_run(execution, (Budget){0}, &result));
    assert_int_equal(result.kind, RUN_FINISHED);
    onnx_result_print(execution_get_result(execution), out);
    return NULL;
}

static Error *run_on_cpu(Executable *owned_executable, RunAndPrint *run, const char *inputs,
    size_t inputs_size, TextBuilder *out) {
    OWN(Executable, executable) = owned_executable;
    OWN(WorkerPool, pool) = NULL;
    OWN(Device, device) = NULL;
    OWN(Residency, residency) = NULL;
    Value values[ONNX_ARGUMENTS_MAX];
    assert_ok(worker_pool_create("test", 1, &pool));
    assert_ok(device_open("cpu", &device));
    assert_ok(residency_create(executable, device, device, pool, &residency));
    uint32_t count = onnx_arguments_read(inputs, inputs_size, values);
    Error *error = run(residency, values, count, out);
    for (uint32_t i = 0; i < count; i++) value_release(&values[i]);
    return error;
}

void executable_expect(Executable *owned_executable, RunAndPrint *run, const char *signature) {
    TextBuilder OWN_TEXT(actual) = {0};
    const char *arrow = strstr(signature, "->");
    assert_non_null(arrow);
    const char *expected = arrow + 2;
    expected += strspn(expected, " ");
    assert_ok(run_on_cpu(owned_executable, run, signature, (size_t)(arrow - signature), &actual));
    assert_string_equal(text_builder_get(&actual), expected);
}

void executable_expect_failure(
    Executable *owned_executable, RunAndPrint *run, const char *inputs, const char *message) {
    TextBuilder OWN_TEXT(unused) = {0};
    Error *error = run_on_cpu(owned_executable, run, inputs, strlen(inputs), &unused);
    if (!error) fail_msg("it gave %s", text_builder_get(&unused));
    if (!strstr(error_message(error), message)) fail_msg("%s", error_message(error));
    error_free(error);
}

void onnx_model_expect(OnnxModel *owned_model, const char *signature) {
    Executable *executable;
    assert_ok(compile(owned_model, &executable));
    executable_expect(executable, run_once, signature);
}

void onnx_model_expect_failure(OnnxModel *owned_model, const char *inputs, const char *message) {
    Executable *executable;
    assert_ok(compile(owned_model, &executable));
    executable_expect_failure(executable, run_once, inputs, message);
}
