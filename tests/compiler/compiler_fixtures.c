#include "tests/compiler/compiler_fixtures.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "base/file.h"
#include "compiler/compile.h"
#include "compiler/ir/ir_parse.h"
#include "compiler/ir/ir_print.h"
#include "compiler/lower/emit.h"
#include "compiler/passes/pass.h"
#include "kernels/device/device.h"
#include "kernels/registry/device_registry.h"
#include "vm/objects/adt.h"
#include "vm/assembly/assembly.h"
#include "vm/execution/execution.h"
#include "vm/objects/value_equal.h"

enum { FILES_MAX = 256, PATH_SIZE = 512 };
static const char separator[] = "\n====\n";

IrModule *module_parse(const char *text) {
    IrModule *module = NULL;
    assert_ok(ir_parse_module(text, &module));
    return module;
}

void module_run_pass(IrModule *module, const char *pass) {
    OWN(Device, portable) = NULL;
    assert_ok(device_open_portable(&portable));
    PrecisionReport report = {0};
    PassContext context = {.module = module, .portable = portable, .report = &report};
    const char *precision = strchr(pass, ':'); /* "lower_precision:int8" */
    const size_t length = precision ? (size_t)(precision - pass) : strlen(pass);
    assert_ok(precision_find(precision ? precision + 1 : NULL, &context.precision));
    size_t count;
    const CompilePass *passes = compile_passes(&count);
    for (size_t i = 0; i < count; i++) {
        if (strlen(passes[i].name) != length || strncmp(passes[i].name, pass, length) != 0)
            continue;
        assert_ok(passes[i].run(&context));
        assert_ok(ir_check(module, false));
        return;
    }
    fail_msg("no pass %s", pass);
}

Executable *module_compile(IrModule *module) {
    CompileOptions options = {.folder = NULL};
    Executable *executable = NULL;
    assert_ok(compile_module(module, &options, &executable));
    return executable;
}

/* Runs the passes that the first line names and prints what comes out. */
static void transform(char *text, TextBuilder *out) {
    static const char start[] = "; run:";
    assert_int_equal(strncmp(text, start, sizeof start - 1), 0);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    *end = '\0';
    OWN(IrModule, module) = module_parse(end + 1);
    char *rest = text + sizeof start - 1;
    for (char *pass; (pass = strtok_r(rest, " ", &rest));) {
        if (strcmp(pass, "emit") != 0) {
            module_run_pass(module, pass);
            continue;
        }
        OWN(Executable, executable) = NULL;
        assert_ok(emit_executable(module, &executable));
        assert_ok(assembly_print(executable, true, out));
        return;
    }
    assert_ok(ir_print_module(module, out));
}

static void check_file(const char *path) {
    uint8_t *data;
    size_t size;
    assert_ok(file_read(path, 1 << 20, &data, &size));
    TextBuilder OWN_TEXT(text) = {0}, OWN_TEXT(whole) = {0}, OWN_TEXT(actual) = {0};
    text_append_bytes(&whole, (const char *)data, size);
    memory_unmap(data, size);
    const char *expected = strstr(text_builder_get(&whole), separator);
    size_t input = expected ? (size_t)(expected + 1 - text_builder_get(&whole)) : whole.size;
    text_append_bytes(&text, text_builder_get(&whole), input);
    TextBuilder OWN_TEXT(copy) = {0};
    text_append(&copy, text_builder_get(&text));
    transform(copy.data, &actual);
    if (getenv("LAYOVER_GOLDEN_WRITE")) {
        text_appendf(&text, "%s%s", separator + 1, text_builder_get(&actual));
        assert_ok(file_write_atomic(path, text.data, text.size));
        return;
    }
    if (!expected) fail_msg("%s expects nothing", path);
    expected += sizeof separator - 1;
    if (strcmp(text_builder_get(&actual), expected) != 0)
        fail_msg("%s: got\n%s\nwanted\n%s", path, text_builder_get(&actual), expected);
}

void golden_check(const char *prefix) {
    struct dirent **entries;
    int count = scandir(GOLDEN_FOLDER, &entries, NULL, alphasort);
    assert_true(count > 0);
    int checked = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        const char *name = entries[i]->d_name;
        if (strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, ".ir")) {
            (void)snprintf(path, sizeof path, "%s/%s", GOLDEN_FOLDER, name);
            check_file(path);
            checked++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(checked > 0);
}

Executable *module_compile_plainly(IrModule *module) {
    static const char *const needed[] = {"adt_tags", "lift_lambdas", "shape_reads", "infer_shapes",
        "list_lengths", "assign_slots", "tail_calls"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        module_run_pass(module, needed[i]);
    TextBuilder OWN_TEXT(dump) = {0};
    if (getenv("LAYOVER_TEST_DUMP")) {
        assert_ok(ir_print_module(module, &dump));
        (void)fputs(text_builder_get(&dump), stderr);
    }
    Executable *executable = NULL;
    assert_ok(emit_executable(module, &executable));
    return executable;
}

static Error *tensor_to_host(const Tensor *tensor, Value *out) {
    OWN(Tensor, copy) = NULL;
    TRY(tensor_create_on_host(device_host(), tensor->dtype, &tensor->shape, &copy));
    if (tensor_bytes(tensor) > 0) TRY(tensor_copy_to_host(tensor, tensor_data(copy)));
    *out = value_object(OBJECT_TENSOR, TAKE(copy));
    return NULL;
}

/* A tensor, a scalar, or a tuple of them. */
static Error *to_host(const Value *value, Value *out) {
    if (value_is(value, OBJECT_TENSOR)) return tensor_to_host(value->tensor, out);
    *out = value_nil();
    if (!value_is(value, OBJECT_ADT)) {
        *out = value_copy(*value);
        return NULL;
    }
    Adt *copy;
    TRY(adt_create(NULL, value->adt->tag, value->adt->count, &copy));
    *out = value_object(OBJECT_ADT, copy);
    for (uint32_t i = 0; i < copy->count; i++)
        TRY(to_host(&value->adt->fields[i], &copy->fields[i]));
    return NULL;
}

static Error *run_on(Executable *executable, Device *host, Device *device, const Value *arguments,
    uint32_t argument_count, Value *out_result) {
    OWN(Residency, residency) = NULL;
    OWN(Execution, execution) = NULL;
    ExecutionOptions options = {.depth_limit = 1 << 16};
    uint32_t function;
    RunResult result;
    TRY(executable_find_function(executable, "main", &function));
    TRY(residency_create(executable, host, device, NULL, &residency));
    TRY(execution_create(residency, &options, function, arguments, argument_count, &execution));
    TRY(execution_run(execution, (Budget){0}, &result));
    assert_int_equal(result.kind, RUN_FINISHED);
    return to_host(execution_get_result(execution), out_result);
}

Error *executable_run(Executable *executable, const char *device, const Value *arguments,
    uint32_t argument_count, Value *out_result) {
    OWN(Device, host) = NULL;
    OWN(Device, target) = NULL;
    TRY(device_open("cpu", &host));
    TRY(device_open(device, &target));
    return run_on(executable, host, target, arguments, argument_count, out_result);
}

Value value_random(uint64_t *state, uint32_t rank, const int64_t *dims) {
    Shape shape = shape_make(rank, dims);
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &tensor));
    float *data = tensor_data(tensor);
    for (int64_t i = 0; i < shape_count_unchecked(&shape); i++)
        data[i] = (float)(test_random(state) >> 56) / 64.0F - 2.0F;
    return value_object(OBJECT_TENSOR, tensor);
}

Value value_int64(int64_t element) {
    Shape scalar = {0};
    Tensor *tensor;
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT64, &scalar, &tensor));
    *(int64_t *)tensor_data(tensor) = element;
    return value_object(OBJECT_TENSOR, tensor);
}

void values_compare(const Value *expected, const Value *got, const char *what, uint64_t seed) {
    bool equal;
    assert_ok(value_equal(expected, got, &equal));
    if (!equal) fail_msg("%s, seed %llu: another result", what, (unsigned long long)seed);
}
