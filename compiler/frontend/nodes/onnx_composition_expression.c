/* The expressions of a composition: operators of ONNX, and arithmetic. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/frontend/nodes/onnx_composition_internal.h"
#include "compiler/frontend/nodes/onnx_few_bits.h"
#include "compiler/frontend/base/onnx_keys.h"
#include "compiler/frontend/nodes/onnx_svm.h"
#include "compiler/frontend/nodes/onnx_trees.h"

/* Reads a number. Returns false, and stays, where none comes next. */
static bool take_number(Composer *composer, ComposedValue *out) {
    composer_skip_space(composer);
    const char *at = composer->at;
    const size_t digits = strspn(at, "0123456789"), length = strspn(at, "0123456789.e");
    char *end;
    if (digits == 0) return false;
    *out = (ComposedValue){.kind = length == digits ? COMPOSED_INT : COMPOSED_FLOAT};
    if (out->kind == COMPOSED_INT)
        out->int_value = strtoll(at, &end, 10);
    else
        out->float_value = strtod(at, &end);
    composer->at = end;
    return true;
}

/* ---- numbers as constants ---- */

/* like: the operand beside a float, which has the same element type; NULL: float32. */
static Error *make_variable(const Composer *composer, const ComposedValue *value,
    const IrVariable *like, IrVariable **out) {
    switch (value->kind) {
    case COMPOSED_VARIABLE:
        *out = value->variable;
        return NULL;
    case COMPOSED_INT:
        return onnx_constant_int0(composer->node, value->int_value, out);
    case COMPOSED_FLOAT:
        return onnx_constant_float0(
            composer->node, value->float_value, like ? onnx_float_type(like) : DTYPE_FLOAT32, out);
    case COMPOSED_TEXT: {
        const ProtobufCBinaryData text = {strlen(value->text), (uint8_t *)(uintptr_t)value->text};
        return onnx_constant_strings(composer->node, 0, 1, &text, out);
    }
    case COMPOSED_LIST:
        break;
    }
    return composer_fail(composer, "a tensor, a number or a text");
}

/* ---- calls ---- */

/* kind: I, F or S. */
static void print_list(const Composer *composer, const char *name, char kind, TextBuilder *out) {
    const Attributes *attributes = composer->attributes;
    const int64_t *ints = NULL;
    const double *floats = NULL;
    uint32_t count = 0;
    if (kind == 'I')
        ints = attributes_ints(attributes, name, &count);
    else if (kind == 'F')
        floats = attributes_floats(attributes, name, &count);
    else
        count = attributes_text_count(attributes, name);
    text_append(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_append(out, ", ");
        if (ints)
            text_appendf(out, "%lld", (long long)ints[i]);
        else if (floats)
            text_appendf(out, "%.17e", floats[i]);
        else
            text_appendf(out, "\"%s\"", attributes_string_at(attributes, name, i));
    }
    text_append(out, "]");
}

/* Prints what `$name` stands for as an attribute's value. Returns false where it is absent. */
static Error *print_value(
    Composer *composer, const char *name, TextBuilder *out, bool *out_printed) {
    const char kind = onnx_attribute_kind(composer->composition->attributes, name);
    ComposedValue value;
    if (kind == 'I' || kind == 'F' || kind == 'S') {
        *out_printed = attributes_has(composer->attributes, name);
        if (*out_printed) print_list(composer, name, kind, out);
        return NULL;
    }
    TRY(composer_look_up(composer, name, &value));
    *out_printed = value.kind != COMPOSED_VARIABLE;
    if (value.kind == COMPOSED_VARIABLE && value.variable)
        return composer_fail(composer, "a number or a text");
    if (value.kind == COMPOSED_VARIABLE) return NULL;
    if (kind == 'd')
        text_append(out, dtype_name(attributes_dtype(composer->attributes, name)));
    else if (value.kind == COMPOSED_INT)
        text_appendf(out, "%lld", (long long)value.int_value);
    else if (value.kind == COMPOSED_FLOAT)
        text_appendf(out, "%.17e", value.float_value);
    else
        text_appendf(out, "\"%s\"", value.text);
    return NULL;
}

/* One attribute of a call, up to the ',' or '}' behind it. One whose value is absent is left out.
 */
static Error *read_attribute(Composer *composer, TextBuilder *out) {
    TextBuilder OWN_TEXT(value) = {0};
    char name[COMPOSITION_NAME_SIZE], source[COMPOSITION_NAME_SIZE];
    bool printed = true;
    if (!composer_take_name(composer, name) || !composer_take(composer, "="))
        return composer_fail(composer, "an attribute");
    if (composer_take(composer, "$")) {
        if (!composer_take_name(composer, source)) return composer_fail(composer, "a name");
        TRY(print_value(composer, source, &value, &printed));
    } else {
        uint32_t depth = 0;
        for (bool quoted = false; *composer->at; composer->at++) {
            const char c = *composer->at;
            if (!quoted && depth == 0 && (c == ',' || c == '}')) break;
            if (c == '"') quoted = !quoted;
            depth += !quoted && c == '[';
            depth -= !quoted && c == ']';
            text_append_bytes(&value, composer->at, 1);
        }
    }
    if (printed)
        text_appendf(out, "%s%s=%s", out->size > 1 ? ", " : "", name, text_builder_get(&value));
    return text_builder_check(&value);
}

/* The attributes of a call, behind '{'. */
static Error *read_attributes(Composer *composer, Attributes **out) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, "{");
    do TRY(read_attribute(composer, &text));
    while (composer_take(composer, ","));
    if (!composer_take(composer, "}")) return composer_fail(composer, "}");
    text_append(&text, "}");
    TRY(text_builder_check(&text));
    const char *at = text_builder_get(&text);
    return attributes_parse(&at, out);
}

static Error *read_value(Composer *composer, ComposedValue *out);

/* FewBits(bytes, bits, count): rows of `count` codes; FewBits(bytes, bits, count, 1): signed ones.
 */
static Error *unpack(
    Composer *composer, const ComposedValue *arguments, uint32_t count, ComposedValue *out) {
    if (count < 3 || count > 4 || arguments[1].kind != COMPOSED_INT ||
        arguments[2].kind != COMPOSED_INT)
        return composer_fail(composer, "a variable and two numbers");
    *out = (ComposedValue){0};
    return few_bits_unpack(composer->node, arguments[0].variable, arguments[1].int_value,
        arguments[2].int_value, count == 4 && arguments[3].int_value, &out->variable);
}

/* First(list, n), Rest(list, n): the first n values of a list, and the others. */
static Error *split_list(Composer *composer, bool first, const ComposedValue *arguments,
    uint32_t count, ComposedValue *out) {
    if (count != 2 || arguments[0].kind != COMPOSED_LIST || arguments[1].kind != COMPOSED_INT)
        return composer_fail(composer, "a list and a number");
    const int64_t at = arguments[1].int_value;
    if (at < 0 || at > arguments[0].list_count)
        FAIL(INVALID, "%u values where %lld are wanted", arguments[0].list_count, (long long)at);
    *out = arguments[0];
    out->list_count = first ? (uint32_t)at : out->list_count - (uint32_t)at;
    if (!first) out->list += at;
    return NULL;
}

static Error *read_arguments(
    Composer *composer, ComposedValue arguments[COMPOSITION_CALL_MAX], uint32_t *out_count) {
    uint32_t count = 0;
    if (!composer_take(composer, "(")) return composer_fail(composer, "(");
    while (!composer_take(composer, ")")) {
        if (count == COMPOSITION_CALL_MAX || (count > 0 && !composer_take(composer, ",")))
            return composer_fail(composer, ")");
        TRY(read_value(composer, &arguments[count++]));
    }
    *out_count = count;
    return NULL;
}

static Error *call_operator(Composer *composer, const char *name, Attributes *attributes,
    uint32_t count, const ComposedValue *arguments, uint32_t result_count,
    ComposedValue *out_results) {
    IrVariable *inputs[COMPOSITION_CALL_MAX], **results;
    const IrVariable *like = NULL;
    for (uint32_t i = 0; i < count && !like; i++)
        if (arguments[i].kind == COMPOSED_VARIABLE) like = arguments[i].variable;
    for (uint32_t i = 0; i < count; i++)
        TRY(make_variable(composer, &arguments[i], like, &inputs[i]));
    if (strcmp(name, "SvmCouple") == 0 && count == 1 && result_count == 1) {
        *out_results = (ComposedValue){0};
        return onnx_svm_couple(composer->node, inputs[0], &out_results->variable);
    }
    TRY(ir_build_operator(
        onnx_at(composer->node), name, attributes, count, inputs, result_count, &results));
    for (uint32_t i = 0; i < result_count; i++)
        out_results[i] = (ComposedValue){.variable = results[i]};
    return NULL;
}

/* The operator for each value of a list. */
static Error *call_for_each(Composer *composer, const char *name, Attributes *attributes,
    uint32_t count, ComposedValue *arguments, ComposedValue *out) {
    const ComposedValue list = arguments[0];
    ComposedValue result;
    void *memory;
    TRY(arena_alloc(
        &composer->node->import->module->arena, list.list_count, sizeof(IrVariable *), &memory));
    *out = (ComposedValue){.kind = COMPOSED_LIST, .list = memory, .list_count = list.list_count};
    for (uint32_t i = 0; i < list.list_count; i++) {
        arguments[0] = (ComposedValue){.variable = list.list[i]};
        TRY(call_operator(composer, name, attributes, count, arguments, 1, &result));
        out->list[i] = result.variable;
    }
    return NULL;
}

static Error *read_call(
    Composer *composer, const char *name, uint32_t result_count, ComposedValue *out_results) {
    OWN(Attributes, attributes) = NULL;
    ComposedValue arguments[COMPOSITION_CALL_MAX];
    uint32_t count = 0;
    if ((strcmp(name, "NoCaches") == 0 || strcmp(name, "NoKeys") == 0) && result_count == 1)
        return composer_read_caches(composer, strcmp(name, "NoCaches") == 0, out_results);
    if (composer_take(composer, "{")) TRY(read_attributes(composer, &attributes));
    TRY(read_arguments(composer, arguments, &count));
    if (onnx_attribute_kind(composer->composition->attributes, name) == 'g')
        return composer_call_graph(composer, name, arguments, count, result_count, out_results);
    if (strcmp(name, "FewBits") == 0 && result_count == 1)
        return unpack(composer, arguments, count, out_results);
    if ((strcmp(name, "First") == 0 || strcmp(name, "Rest") == 0) && result_count == 1)
        return split_list(composer, strcmp(name, "First") == 0, arguments, count, out_results);
    if (count && arguments[0].kind == COMPOSED_LIST && result_count == 1)
        return call_for_each(composer, name, attributes, count, arguments, out_results);
    return call_operator(composer, name, attributes, count, arguments, result_count, out_results);
}

/* ---- what stands between operators ---- */

/* [1, n]: an int64 vector. */
static Error *read_vector(Composer *composer, ComposedValue *out) {
    int64_t values[COMPOSITION_CALL_MAX];
    uint32_t count = 0;
    while (!composer_take(composer, "]")) {
        ComposedValue value;
        if (count == COMPOSITION_CALL_MAX || (count > 0 && !composer_take(composer, ",")))
            return composer_fail(composer, "]");
        TRY(read_value(composer, &value));
        if (value.kind != COMPOSED_INT) return composer_fail(composer, "an integer");
        values[count++] = value.int_value;
    }
    *out = (ComposedValue){0};
    return onnx_constant_ints(composer->node, values, count, &out->variable);
}

/* Element `index` of a list of integers or floats. Errors: INVALID the node's list is shorter. */
static Error *read_element(Composer *composer, const char *name, ComposedValue *out) {
    const Onnx__AttributeProto *list;
    ComposedValue index;
    TRY(composer_find_list(composer, name, &list));
    const bool floats = onnx_attribute_kind(composer->composition->attributes, name) == 'F';
    const size_t count = !list ? 0 : floats ? list->n_floats : list->n_ints;
    TRY(read_value(composer, &index));
    if (index.kind != COMPOSED_INT || !composer_take(composer, "]"))
        return composer_fail(composer, "a number and ]");
    if ((uint64_t)index.int_value >= count)
        FAIL(INVALID, "attribute %s has %zu entries", name, count);
    *out = floats ? (ComposedValue){.kind = COMPOSED_FLOAT,
                        .float_value = (double)list->floats[index.int_value]}
                  : (ComposedValue){.kind = COMPOSED_INT, .int_value = list->ints[index.int_value]};
    return NULL;
}

/* How many entries a list has, behind '#'. */
static Error *read_count(Composer *composer, ComposedValue *out) {
    const Onnx__AttributeProto *list;
    char name[COMPOSITION_NAME_SIZE];
    if (!composer_take_name(composer, name)) return composer_fail(composer, "a list");
    TRY(composer_find_list(composer, name, &list));
    *out = (ComposedValue){.kind = COMPOSED_INT};
    if (list) out->int_value = (int64_t)(list->n_ints + list->n_floats + list->n_strings);
    return NULL;
}

/* rank(x), text(x), bytes(x), dim(x, 1): numbers; absent where the import cannot know them. */
static Error *read_measure(Composer *composer, const char *name, ComposedValue *out) {
    const bool is_dim = strcmp(name, "dim") == 0;
    ComposedValue value, index = {.kind = COMPOSED_INT};
    if (!composer_take(composer, "(")) return composer_fail(composer, "(");
    TRY(read_value(composer, &value));
    if (is_dim && (!composer_take(composer, ",") || !take_number(composer, &index)))
        return composer_fail(composer, "a dimension");
    if (!composer_take(composer, ")")) return composer_fail(composer, ")");
    const int64_t number = is_dim ? composer_dim(value.variable, index.int_value)
                           : strcmp(name, "rank") == 0  ? composer_rank(value.variable)
                           : strcmp(name, "bytes") == 0 ? composer_bytes(value.variable)
                                                        : composer_is_text(value.variable);
    *out = (ComposedValue){0};
    if (number >= 0) *out = (ComposedValue){.kind = COMPOSED_INT, .int_value = number};
    return NULL;
}

static Error *negate(Composer *composer, ComposedValue *inout) {
    if (inout->kind == COMPOSED_VARIABLE)
        return ir_build_simple(
            onnx_at(composer->node), "Neg", NULL, inout->variable, NULL, NULL, &inout->variable);
    inout->int_value = -inout->int_value;
    inout->float_value = -inout->float_value;
    return NULL;
}

/* A text between quotes, behind the first one. */
static Error *read_text(Composer *composer, ComposedValue *out) {
    char text[COMPOSITION_NAME_SIZE];
    const size_t length = strcspn(composer->at, "\"");
    if (length >= sizeof text) return composer_fail(composer, "a shorter text");
    (void)snprintf(text, sizeof text, "%.*s", (int)length, composer->at);
    composer->at += length;
    *out = (ComposedValue){.kind = COMPOSED_TEXT};
    TRY(ir_module_text(composer->node->import->module, text, &out->text));
    return composer_take(composer, "\"") ? NULL : composer_fail(composer, "\"");
}

Error *composer_read_factor(Composer *composer, ComposedValue *out) {
    char name[COMPOSITION_NAME_SIZE];
    if (composer_take(composer, "-")) {
        TRY(composer_read_factor(composer, out));
        return negate(composer, out);
    }
    if (take_number(composer, out)) return NULL;
    if (composer_take(composer, "\"")) return read_text(composer, out);
    if (composer_take(composer, "[")) return read_vector(composer, out);
    if (composer_take(composer, "#")) return read_count(composer, out);
    if (composer_take(composer, "(")) {
        TRY(read_value(composer, out));
        return composer_take(composer, ")") ? NULL : composer_fail(composer, ")");
    }
    if (!composer_take_name(composer, name)) return composer_fail(composer, "a value");
    if (strcmp(name, "rank") == 0 || strcmp(name, "dim") == 0 || strcmp(name, "text") == 0 ||
        strcmp(name, "bytes") == 0)
        return read_measure(composer, name, out);
    if (*composer->at == '(' && (strcmp(name, "inputs") == 0 || strcmp(name, "outputs") == 0 ||
                                    strcmp(name, "takes") == 0 || strcmp(name, "width") == 0))
        return composer_read_question(composer, name, out);
    if (*composer->at == '{' || *composer->at == '(') return read_call(composer, name, 1, out);
    if (composer_take(composer, "[")) return read_element(composer, name, out);
    return composer_look_up(composer, name, out);
}

/* Integers that do not divide are refused: they count heads, groups, blocks. */
static Error *compute(
    char sign, const ComposedValue *a, const ComposedValue *b, ComposedValue *out) {
    int64_t x = a->int_value, y = b->int_value, result = 0;
    if (a->kind == COMPOSED_FLOAT || b->kind == COMPOSED_FLOAT) {
        const double p = composed_number(a), q = composed_number(b);
        const double value = sign == '+'   ? p + q
                             : sign == '-' ? p - q
                             : sign == '*' ? p * q
                                           : p / q;
        *out = (ComposedValue){.kind = COMPOSED_FLOAT, .float_value = value};
        return NULL;
    }
    const bool overflows = sign == '+'   ? __builtin_add_overflow(x, y, &result)
                           : sign == '-' ? __builtin_sub_overflow(x, y, &result)
                           : sign == '*' ? __builtin_mul_overflow(x, y, &result)
                                         : y <= 0 || x % y != 0;
    if (overflows)
        FAIL(INVALID, "attributes with which %lld %c %lld is no integer", (long long)x, sign,
            (long long)y);
    *out = (ComposedValue){.kind = COMPOSED_INT, .int_value = sign == '/' ? x / y : result};
    return NULL;
}

static Error *combine(Composer *composer, char sign, const ComposedValue *b, ComposedValue *inout) {
    const char *name = sign == '+' ? "Add" : sign == '-' ? "Sub" : sign == '*' ? "Mul" : "Div";
    const ComposedValue a = *inout;
    IrVariable *left, *right;
    if (a.kind != COMPOSED_VARIABLE && b->kind != COMPOSED_VARIABLE)
        return compute(sign, &a, b, inout);
    TRY(make_variable(composer, &a, b->variable, &left));
    TRY(make_variable(composer, b, a.variable, &right));
    if (!left || !right) return composer_fail(composer, "a value that is there");
    *inout = (ComposedValue){0};
    return ir_build_simple(
        onnx_at(composer->node), name, NULL, left, right, NULL, &inout->variable);
}

/* Reads operands of one precedence and combines them from the left. */
static Error *read_product(Composer *composer, ComposedValue *out) {
    TRY(composer_read_factor(composer, out));
    for (;;) {
        const char sign = composer_take(composer, "*")   ? '*'
                          : composer_take(composer, "/") ? '/'
                                                         : 0;
        ComposedValue next;
        if (!sign) return NULL;
        TRY(composer_read_factor(composer, &next));
        TRY(combine(composer, sign, &next, out));
    }
}

static Error *read_value(Composer *composer, ComposedValue *out) {
    TRY(read_product(composer, out));
    for (;;) {
        const char sign = composer_take(composer, "+")   ? '+'
                          : composer_take(composer, "-") ? '-'
                                                         : 0;
        ComposedValue next;
        if (!sign) return NULL;
        TRY(read_product(composer, &next));
        TRY(combine(composer, sign, &next, out));
    }
}

static ComposedValue number(int64_t value) {
    return (ComposedValue){.kind = COMPOSED_INT, .int_value = value};
}

/* scores, count, only, positive = TreeScores() */
static Error *read_tree_scores(const OnnxNode *node, ComposedValue *out) {
    uint32_t count;
    bool positive;
    int64_t only;
    out[0] = (ComposedValue){0};
    TRY(onnx_tree_scores(node, &out[0].variable, &count, &only, &positive));
    out[1] = number(count);
    out[2] = number(only);
    out[3] = number(positive);
    return NULL;
}

/* weights, wins, losses, vectors, positive = SvmPairs() */
static Error *read_svm_pairs(const OnnxNode *node, ComposedValue *out) {
    SvmPairs pairs;
    TRY(onnx_svm_pairs(node, &pairs));
    out[0] = (ComposedValue){.variable = pairs.weights};
    out[1] = (ComposedValue){.variable = pairs.wins};
    out[2] = (ComposedValue){.variable = pairs.losses};
    out[3] = number(pairs.vectors);
    out[4] = number(pairs.positive);
    return NULL;
}

/* sorted, order = SortKeys(keys) */
static Error *read_sort_keys(Composer *composer, ComposedValue *out) {
    ComposedValue keys;
    if (!composer_take(composer, "(")) return composer_fail(composer, "(");
    TRY(read_value(composer, &keys));
    if (!composer_take(composer, ")")) return composer_fail(composer, ")");
    out[0] = out[1] = (ComposedValue){0};
    return onnx_sort_keys(composer->node, keys.variable, &out[0].variable, &out[1].variable);
}

/* What the front end makes of a node's lists. */
static const struct {
    const char *name;
    uint32_t result_count;
    Error *(*read)(const OnnxNode *node, ComposedValue *out);
} readers[] = {
    {"TreeScores", 4, read_tree_scores},
    {"SvmPairs", 5, read_svm_pairs},
};

Error *composer_read_expression(
    Composer *composer, uint32_t result_count, ComposedValue *out_results) {
    char name[COMPOSITION_NAME_SIZE];
    if (result_count == 1) return read_value(composer, out_results);
    if (!composer_take_name(composer, name)) return composer_fail(composer, "an operator");
    if (strcmp(name, "SortKeys") == 0 && result_count == 2)
        return read_sort_keys(composer, out_results);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (strcmp(name, readers[i].name) == 0 && result_count == readers[i].result_count) {
            if (!composer_take(composer, "(") || !composer_take(composer, ")"))
                return composer_fail(composer, "()");
            return readers[i].read(composer->node, out_results);
        }
    return read_call(composer, name, result_count, out_results);
}
