#include "tests/onnx_suite/suite_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/file.h"
#include "compiler/frontend/base/onnx_tensor.h"
#include "onnx.pb-c.h"
#include "vm/objects/list.h"

enum { FILE_SIZE_MAX = 1 << 30, PATH_SIZE = 4096 };

static Error *read_file(const char *folder, const char *name, uint8_t **out, size_t *out_size) {
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_read(path, FILE_SIZE_MAX, out, out_size);
}

static Error *read_tensor(const char *folder, const char *number, Value *out) {
    char name[32];
    uint8_t *data;
    size_t size;
    Tensor *tensor;
    (void)snprintf(name, sizeof name, "%s.pb", number);
    TRY(read_file(folder, name, &data, &size));
    Onnx__TensorProto *proto = onnx__tensor_proto__unpack(NULL, size, data);
    memory_unmap(data, size);
    if (!proto) FAIL(CORRUPT, "%s is not a TensorProto", name);
    Error *error = onnx_tensor_read(proto, NULL, device_host(), &tensor);
    onnx__tensor_proto__free_unpacked(proto, NULL);
    TRY(error);
    *out = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

static Error *read_list(const char *folder, char *numbers, Value *out) {
    OWN(List, list) = NULL;
    TRY(list_create(NULL, 0, &list));
    for (char *number; (number = strtok_r(numbers, " ", &numbers));) {
        Value item;
        TRY(read_tensor(folder, number, &item));
        TRY(list_append(list, item));
    }
    *out = value_object(OBJECT_LIST, TAKE(list));
    return NULL;
}

/* "tensor 3", "list 4 5", "none" */
static Error *read_value(const char *folder, char *words, Value *out) {
    char *kind = strtok_r(words, " ", &words);
    *out = value_nil();
    if (!kind) FAIL(CORRUPT, "a value without a kind");
    if (strcmp(kind, "none") == 0) return NULL;
    if (strcmp(kind, "list") == 0) return read_list(folder, words, out);
    if (strcmp(kind, "tensor") == 0) return read_tensor(folder, words, out);
    FAIL(CORRUPT, "a value of kind %s", kind);
}

static Error *read_port(const char *folder, char *words, Value *values, uint32_t *inout_count) {
    if (*inout_count == SUITE_PORTS_MAX) FAIL(CORRUPT, "more than %d values", SUITE_PORTS_MAX);
    TRY(read_value(folder, words, &values[*inout_count]));
    ++*inout_count;
    return NULL;
}

static Error *read_line(const char *folder, char *line, SuiteCase *suite_case) {
    char *rest = line, *word = strtok_r(rest, " ", &rest);
    if (!word) return NULL;
    if (strcmp(word, "tolerance") == 0) {
        suite_case->relative = strtod(rest, &rest);
        suite_case->absolute = strtod(rest, &rest);
        return NULL;
    }
    if (strcmp(word, "set") == 0) {
        if (suite_case->set_count == SUITE_SETS_MAX) FAIL(CORRUPT, "too many data sets");
        suite_case->set_count++;
        return NULL;
    }
    if (suite_case->set_count == 0) FAIL(CORRUPT, "a value outside a data set");
    SuiteSet *set = &suite_case->sets[suite_case->set_count - 1];
    if (strcmp(word, "input") == 0) return read_port(folder, rest, set->inputs, &set->input_count);
    if (strcmp(word, "output") == 0)
        return read_port(folder, rest, set->outputs, &set->output_count);
    FAIL(CORRUPT, "a line that begins with %s", word);
}

static Error *read_values(const char *folder, SuiteCase *suite_case) {
    uint8_t *data;
    size_t size;
    void *text;
    TRY(read_file(folder, "values", &data, &size));
    Error *error = memory_alloc(size + 1, 1, &text);
    if (!error) memcpy(text, data, size);
    memory_unmap(data, size);
    TRY(error);
    char *rest = text;
    for (char *line; !error && (line = strtok_r(rest, "\n", &rest));)
        error = read_line(folder, line, suite_case);
    memory_free(text);
    return error;
}

static Error *read_opset(SuiteCase *suite_case) {
    Onnx__ModelProto *model =
        onnx__model_proto__unpack(NULL, suite_case->model_size, suite_case->model);
    if (!model) FAIL(CORRUPT, "model.onnx is not a ModelProto");
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = model->opset_import[i]->domain;
        if (!domain || !domain[0] || strcmp(domain, "ai.onnx") == 0)
            suite_case->opset = model->opset_import[i]->version;
    }
    onnx__model_proto__free_unpacked(model, NULL);
    return NULL;
}

static Error *read_case(const char *folder, SuiteCase *suite_case) {
    TRY(read_file(folder, "model.onnx", &suite_case->model, &suite_case->model_size));
    TRY(read_opset(suite_case));
    TRY(read_values(folder, suite_case));
    if (suite_case->set_count == 0) FAIL(CORRUPT, "a case without a data set");
    return NULL;
}

Error *suite_case_open(const char *folder, SuiteCase *out) {
    *out = (SuiteCase){0};
    return read_case(folder, out);
}

void suite_case_deinit(SuiteCase *suite_case) {
    for (uint32_t i = 0; i < suite_case->set_count; i++) {
        SuiteSet *set = &suite_case->sets[i];
        for (uint32_t j = 0; j < set->input_count; j++) value_release(&set->inputs[j]);
        for (uint32_t j = 0; j < set->output_count; j++) value_release(&set->outputs[j]);
    }
    memory_unmap(suite_case->model, suite_case->model_size);
    *suite_case = (SuiteCase){0};
}
