#include "tests/kernels/infer_fixture.h"

#include <stdlib.h>

#include "kernels/tensor/dtype_scalar.h"
#include "kernels/shape_rules/operator_infer.h"

static void read_values(InferFixture *fixture, uint32_t index, const char *at) {
    const TensorSpec *spec = &fixture->specs[index];
    char *to = (char *)fixture->memory[index];
    int64_t count = shape_count_unchecked(&spec->shape);
    assert_true(count <= 16);
    for (int64_t i = 0; i < count; i++) {
        char *end;
        /* integers exactly: the ends of int64 are no doubles */
        if (spec->dtype == DTYPE_INT64)
            ((int64_t *)(void *)to)[i] = strtoll(at, &end, 0);
        else
            assert_true(dtype_scalar_write(
                spec->dtype, strtod(at, &end), to + i * (dtype_bits(spec->dtype) / 8)));
        if (spec->dtype != DTYPE_INT64) (void)strtod(at, &end);
        assert_true(end != at);
        at = *end == ',' ? end + 1 : end;
    }
    fixture->values[index] = to;
}

static void read_input(InferFixture *fixture, uint32_t index, const char *word) {
    if (strcmp(word, "-") == 0) return;
    char name[32] = {0};
    size_t length = strcspn(word, "[");
    assert_true(length < sizeof name && word[length]);
    memcpy(name, word, length);
    TensorSpec *spec = &fixture->specs[index];
    *spec = (TensorSpec){.present = true, .dtype = dtype_find(name)};
    assert_int_not_equal(spec->dtype, DTYPE_NONE);
    const char *at = word + length + 1;
    while (*at != ']') {
        char *end;
        spec->shape.dims[spec->shape.rank++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    if (at[1] == '=') read_values(fixture, index, at + 2);
}

void infer_fixture_init(InferFixture *fixture, const char *operator_name, const char *attributes,
    const char *inputs, uint32_t output_count) {
    memset(fixture, 0, sizeof *fixture);
    PlanRequest *request = &fixture->request;
    request->operator_info = operator_find(operator_name);
    if (!request->operator_info) fail_msg("no operator %s", operator_name);
    const char *text = attributes ? attributes : "{}";
    assert_ok(attributes_parse(&text, &fixture->attributes));
    assert_ok(attributes_check(fixture->attributes, request->operator_info));
    request->attributes = fixture->attributes;
    request->inputs = fixture->specs;
    request->values = fixture->values;
    request->output_count = output_count;
    char word[128];
    for (const char *at = inputs + strspn(inputs, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        assert_true(length < sizeof word && request->input_count < INFER_INPUTS_MAX);
        memcpy(word, at, length);
        word[length] = 0;
        read_input(fixture, request->input_count++, word);
        at += length;
    }
}

void infer_fixture_deinit(InferFixture *fixture) { attributes_release(fixture->attributes); }

static uint32_t count_outputs(const char *expected) {
    uint32_t count = 0;
    for (const char *at = expected; *at; at++) count += *at == '[';
    return count ? count : 1;
}

static void print_outputs(const PlanRequest *request, TextBuilder *out) {
    for (uint32_t i = 0; i < request->output_count; i++) {
        text_appendf(out, "%s%s", i ? " " : "", dtype_name(request->outputs[i].dtype));
        shape_print(&request->outputs[i].shape, out);
    }
}

static void check_row(const InferRow *row) {
    InferFixture fixture;
    bool invalid = row->expected[0] == '!', unsupported = row->expected[0] == '?';
    infer_fixture_init(&fixture, row->operator_name, row->attributes, row->inputs,
        invalid || unsupported ? 1 : count_outputs(row->expected));
    const OperatorInfo *info = fixture.request.operator_info;
    if (fixture.request.output_count < info->outputs_min)
        fixture.request.output_count = info->outputs_min;
    Error *error = operator_infer(&fixture.request);
    TextBuilder OWN_TEXT(text) = {0};
    if (error)
        text_appendf(&text, "%c %s", error_code(error) == ERROR_UNSUPPORTED ? '?' : '!',
            error_message(error));
    else
        print_outputs(&fixture.request, &text);
    bool same = invalid || unsupported
                    ? error && text_builder_get(&text)[0] == row->expected[0] &&
                          strstr(text_builder_get(&text) + 2, row->expected + 2)
                    : !error && strcmp(text_builder_get(&text), row->expected) == 0;
    if (!same)
        print_error("%s %s (%s): \"%s\", not \"%s\"\n", row->operator_name,
            row->attributes ? row->attributes : "", row->inputs, text_builder_get(&text),
            row->expected);
    error_free(error);
    infer_fixture_deinit(&fixture);
    assert_true(same);
}

void infer_fixture_check(const InferRow *rows, size_t count) {
    for (size_t i = 0; i < count; i++) check_row(&rows[i]);
}
