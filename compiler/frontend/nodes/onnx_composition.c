#include "compiler/frontend/nodes/onnx_composition_internal.h"

#include <ctype.h>
#include <stdio.h>

static const Composition compositions[] = {
#define ONNX_COMPOSITION(op_type, inputs, attributes, outputs, text)                               \
    {op_type, inputs, attributes, outputs, text},
#include "compiler/frontend/nodes/onnx_compositions.def"
#undef ONNX_COMPOSITION
};

const Composition *composition_find(const char *op_type) {
    for (size_t i = 0; i < sizeof compositions / sizeof *compositions; i++)
        if (strcmp(compositions[i].op_type, op_type) == 0) return &compositions[i];
    return NULL;
}

/* ---- the place in the text ---- */

Error *composer_fail(const Composer *composer, const char *wanted) {
    FAIL(INTERNAL, "composition %s: %s is wanted at \"%.32s\"", composer->composition->op_type,
        wanted, composer->at);
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

void composer_skip_space(Composer *composer) {
    while (isspace((unsigned char)*composer->at)) composer->at++;
}

bool composer_take(Composer *composer, const char *sign) {
    const size_t length = strlen(sign);
    composer_skip_space(composer);
    if (strncmp(composer->at, sign, length) != 0) return false;
    if (is_word(sign[0]) && is_word(composer->at[length])) return false;
    composer->at += length;
    return true;
}

bool composer_take_name(Composer *composer, char name[COMPOSITION_NAME_SIZE]) {
    size_t length = 0;
    composer_skip_space(composer);
    while (is_word(composer->at[length])) length++;
    if (length == 0 || length >= COMPOSITION_NAME_SIZE || isdigit((unsigned char)composer->at[0]))
        return false;
    memcpy(name, composer->at, length);
    name[length] = '\0';
    composer->at += length;
    return true;
}

/* ---- names ---- */

static ComposedName *find_name(Composer *composer, const char *name) {
    for (uint32_t i = 0; i < composer->count; i++)
        if (strcmp(composer->names[i].name, name) == 0) return &composer->names[i];
    return NULL;
}

Error *composer_set_name(Composer *composer, const char *name, ComposedValue value) {
    ComposedName *known = find_name(composer, name);
    if (!known) {
        if (composer->count == COMPOSITION_NAMES_MAX) return composer_fail(composer, "fewer names");
        known = &composer->names[composer->count++];
        (void)snprintf(known->name, sizeof known->name, "%s", name);
    }
    known->value = value;
    return NULL;
}

Error *composer_find_list(
    const Composer *composer, const char *name, const Onnx__AttributeProto **out) {
    const Onnx__AttributeProto *list = onnx_attribute_find(composer->node, name);
    const char kind = onnx_attribute_kind(composer->composition->attributes, name);
    const Onnx__AttributeProto__AttributeType type =
        kind == 'F'   ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
        : kind == 'S' ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS
                      : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    if (list && list->has_type && list->type != type)
        FAIL(INVALID, "attribute %s is not a list of %s", name,
            kind == 'F'   ? "floats"
            : kind == 'S' ? "strings"
                          : "integers");
    *out = list;
    return NULL;
}

/* A list as a constant vector; one without entries is an absent value. */
static Error *look_up_list(Composer *composer, const char *name, char kind, ComposedValue *out) {
    const Onnx__AttributeProto *list;
    TRY(composer_find_list(composer, name, &list));
    if (!list) return NULL;
    if (kind == 'I')
        return onnx_constant_ints(composer->node, list->ints, list->n_ints, &out->variable);
    if (kind == 'F' && list->n_floats)
        return onnx_constant_floats(composer->node, list->floats, list->n_floats, &out->variable);
    if (kind == 'S' && list->n_strings)
        return onnx_constant_strings(
            composer->node, 1, list->n_strings, list->strings, &out->variable);
    return NULL;
}

/* A tensor as a constant. */
static Error *look_up_tensor(Composer *composer, const char *name, ComposedValue *out) {
    OWN(Tensor, tensor) = NULL;
    const OnnxNode *node = composer->node;
    const Onnx__AttributeProto *given = onnx_attribute_find(node, name);
    if (!given || !given->t) return NULL;
    TRY_WRAP(onnx_tensor_read(given->t, node->import->folder, node->import->device, &tensor),
        "attribute %s", name);
    return ir_constant_tensor(node->import->module, tensor, &out->variable);
}

/* An optional attribute that the node does not have is an absent value. */
Error *composer_look_up(Composer *composer, const char *name, ComposedValue *out) {
    const ComposedName *known = find_name(composer, name);
    *out = (ComposedValue){0};
    if (known) *out = known->value;
    if (known || strcmp(name, "_") == 0) return NULL;
    const char kind = onnx_attribute_kind(composer->composition->attributes, name);
    if (!kind) FAIL(INTERNAL, "composition %s: no name %s", composer->composition->op_type, name);
    if (kind == 'I' || kind == 'F' || kind == 'S') return look_up_list(composer, name, kind, out);
    if (kind == 'g') {
        const Onnx__AttributeProto *graph = onnx_attribute_find(composer->node, name);
        if (graph && graph->g) *out = (ComposedValue){.kind = COMPOSED_INT, .int_value = 1};
        return NULL;
    }
    if (kind == 't') return look_up_tensor(composer, name, out);
    if (!attributes_has(composer->attributes, name)) return NULL;
    switch (kind) {
    case 'i':
        *out = (ComposedValue){
            .kind = COMPOSED_INT, .int_value = attributes_int(composer->attributes, name)};
        return NULL;
    case 'f':
        *out = (ComposedValue){
            .kind = COMPOSED_FLOAT, .float_value = attributes_float(composer->attributes, name)};
        return NULL;
    case 's':
        *out = (ComposedValue){
            .kind = COMPOSED_TEXT, .text = attributes_text(composer->attributes, name)};
        return NULL;
    default: /* an element type: there */
        *out = (ComposedValue){.kind = COMPOSED_INT, .int_value = 1};
        return NULL;
    }
}

/* ---- conditions ---- */

static bool is_true(const ComposedValue *value) {
    switch (value->kind) {
    case COMPOSED_VARIABLE:
        return value->variable != NULL;
    case COMPOSED_INT:
        return value->int_value != 0;
    case COMPOSED_FLOAT:
        return value->float_value != 0;
    case COMPOSED_TEXT:
        return value->text[0] != '\0';
    case COMPOSED_LIST:
        return value->list_count != 0;
    }
    return false;
}

static bool is_less(const ComposedValue *a, const ComposedValue *b) {
    return composed_is_number(a) && composed_is_number(b) &&
           composed_number(a) < composed_number(b);
}

/* Whether two numbers or two texts are equal; values of different kinds are not. */
static bool is_equal(const ComposedValue *a, const ComposedValue *b) {
    if (composed_is_number(a) && composed_is_number(b))
        return composed_number(a) == composed_number(b);
    return a->kind == COMPOSED_TEXT && b->kind == COMPOSED_TEXT && strcmp(a->text, b->text) == 0;
}

static bool is_wanted(const OnnxNode *node, uint32_t output) {
    return output < node->output_count && node->proto->output[output][0];
}

/* Takes the next word of a list "x bias? scale". Returns false at its end. */
static bool take_word(const char **list, char word[COMPOSITION_NAME_SIZE]) {
    while (**list == ' ') (*list)++;
    const size_t length = strcspn(*list, " ");
    (void)snprintf(word, COMPOSITION_NAME_SIZE, "%.*s", (int)length, *list);
    *list += length;
    return length > 0;
}

/* The index of a name in the list of outputs, or UINT32_MAX. */
static uint32_t find_output(const char *list, const char *name) {
    char word[COMPOSITION_NAME_SIZE];
    for (uint32_t i = 0; take_word(&list, word); i++)
        if (strcmp(word, name) == 0) return i;
    return UINT32_MAX;
}

static Error *read_term(Composer *composer, bool *out) {
    char name[COMPOSITION_NAME_SIZE];
    ComposedValue value, other;
    const bool negated = composer_take(composer, "not"), wants = composer_take(composer, "wants");
    if (!composer_take_name(composer, name)) return composer_fail(composer, "a name");
    if (wants)
        *out = is_wanted(composer->node, find_output(composer->composition->outputs, name));
    else {
        TRY(composer_look_up(composer, name, &value));
        *out = is_true(&value);
        const bool differs = composer_take(composer, "!=");
        if (differs || composer_take(composer, "==")) {
            TRY(composer_read_factor(composer, &other));
            *out = is_equal(&value, &other) != differs;
        } else if (composer_take(composer, "<")) {
            TRY(composer_read_factor(composer, &other));
            *out = is_less(&value, &other);
        }
    }
    if (negated) *out = !*out;
    return NULL;
}

static Error *read_condition(Composer *composer, bool *out) {
    *out = true;
    do {
        bool holds;
        TRY(read_term(composer, &holds));
        *out = *out && holds;
    } while (composer_take(composer, "and"));
    return composer_take(composer, ":") ? NULL : composer_fail(composer, ":");
}

/* ---- statements ---- */

static bool is_else(const char *at) {
    return strncmp(at, "else", 4) == 0 && !is_word(at[-1]) && !is_word(at[4]);
}

/* Skips a statement, or statements between braces. Stops before an `else`. */
static void skip_body(Composer *composer) {
    uint32_t depth = 0;
    composer_skip_space(composer);
    const bool braced = *composer->at == '{';
    for (bool quoted = false; *composer->at; composer->at++) {
        const char c = *composer->at;
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (depth == 0 && (c == ';' || c == '}' || is_else(composer->at))) return;
        depth += c == '{';
        depth -= c == '}';
        if (braced && depth == 0) {
            composer->at++;
            return;
        }
    }
}

static Error *refuse(Composer *composer) {
    if (!composer_take(composer, "\"")) return composer_fail(composer, "a text");
    FAIL(UNSUPPORTED, "%.*s", (int)strcspn(composer->at, "\""), composer->at);
}

/* require condition "text": a run in which the condition does not hold fails with the text. */
static Error *require(Composer *composer) {
    const OnnxNode *node = composer->node;
    const IrCursor at = onnx_at(node);
    char text[COMPOSITION_TEXT_MAX];
    ComposedValue condition;
    IrVariable *holds, **unused;
    IrBlock *then_block, *else_block;
    TRY(composer_read_expression(composer, 1, &condition));
    if (condition.kind != COMPOSED_VARIABLE || !condition.variable)
        return composer_fail(composer, "a condition");
    if (!composer_take(composer, "\"")) return composer_fail(composer, "a text");
    const size_t length = strcspn(composer->at, "\"");
    (void)snprintf(text, sizeof text, "%s: %.*s", node->proto->op_type, (int)length, composer->at);
    composer->at += length;
    if (!composer_take(composer, "\"")) return composer_fail(composer, "\"");
    TRY(ir_build_read_scalar(at, condition.variable, IR_TYPE_BOOL, &holds));
    TRY(ir_build_if(at, holds, 0, &then_block, &else_block, &unused));
    TRY(ir_block_set_results(then_block, 0, NULL));
    TRY(ir_build_fatal(ir_at_end(else_block), text, 0, &unused));
    return ir_block_set_results(else_block, 0, NULL);
}

static Error *assign(Composer *composer) {
    char names[COMPOSITION_CALL_MAX][COMPOSITION_NAME_SIZE];
    ComposedValue values[COMPOSITION_CALL_MAX];
    uint32_t count = 0;
    do {
        if (count == COMPOSITION_CALL_MAX || !composer_take_name(composer, names[count++]))
            return composer_fail(composer, "a name");
    } while (composer_take(composer, ","));
    if (!composer_take(composer, "=")) return composer_fail(composer, "=");
    TRY(composer_read_expression(composer, count, values));
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], "_") != 0) TRY(composer_set_name(composer, names[i], values[i]));
    return NULL;
}

static Error *take_body(Composer *composer, bool wanted);

/* for i < count: the body, once for each number from 0 on. */
static Error *repeat(Composer *composer) {
    char name[COMPOSITION_NAME_SIZE];
    ComposedValue count;
    if (!composer_take_name(composer, name) || !composer_take(composer, "<"))
        return composer_fail(composer, "a name and <");
    TRY(composer_read_factor(composer, &count));
    if (count.kind != COMPOSED_INT || !composer_take(composer, ":"))
        return composer_fail(composer, "a number and :");
    if (count.int_value > COMPOSITION_ROUNDS_MAX)
        FAIL(UNSUPPORTED, "more than %d of %s: %lld", COMPOSITION_ROUNDS_MAX, name,
            (long long)count.int_value);
    const char *body = composer->at;
    if (count.int_value <= 0) skip_body(composer);
    for (int64_t i = 0; i < count.int_value; i++) {
        composer->at = body;
        TRY(composer_set_name(
            composer, name, (ComposedValue){.kind = COMPOSED_INT, .int_value = i}));
        TRY(take_body(composer, true));
    }
    return NULL;
}

/* Carries the body out, or skips it. */
static Error *take_body(Composer *composer, bool wanted) {
    if (!wanted) {
        skip_body(composer);
        return NULL;
    }
    if (composer_take(composer, "{")) return composer_carry_out(composer, "}");
    if (composer_take(composer, "for")) return repeat(composer);
    if (composer_take(composer, "loop")) return composer_read_loop(composer);
    if (composer_take(composer, "require")) return require(composer);
    return composer_take(composer, "fail") ? refuse(composer) : assign(composer);
}

Error *composer_carry_out(Composer *composer, const char *end) {
    for (;;) {
        bool holds = true;
        const bool conditional = composer_take(composer, "if");
        if (conditional) TRY(read_condition(composer, &holds));
        TRY(take_body(composer, holds));
        if (conditional && composer_take(composer, "else")) TRY(take_body(composer, !holds));
        (void)composer_take(composer, ";");
        composer_skip_space(composer);
        if (*end && composer_take(composer, end)) return NULL;
        if (!*composer->at) return *end ? composer_fail(composer, end) : NULL;
    }
}

/* ---- the node ---- */

static Error *bind_inputs(Composer *composer) {
    const OnnxNode *node = composer->node;
    const char *list = composer->composition->inputs;
    char name[COMPOSITION_NAME_SIZE];
    uint32_t count = 0;
    for (; take_word(&list, name); count++) {
        char *mark = strchr(name, '?');
        IrVariable *input = onnx_input(node, count);
        if (mark) *mark = '\0';
        if (!input && !mark) FAIL(INVALID, "input %s is missing", name);
        TRY(composer_set_name(composer, name, (ComposedValue){.variable = input}));
    }
    if (node->input_count > count) FAIL(INVALID, "%u inputs", node->input_count);
    return NULL;
}

static Error *set_outputs(Composer *composer) {
    const char *list = composer->composition->outputs;
    char name[COMPOSITION_NAME_SIZE];
    uint32_t index = 0;
    for (; take_word(&list, name); index++) {
        if (!is_wanted(composer->node, index)) continue;
        const ComposedName *known = find_name(composer, name);
        if (!known || known->value.kind != COMPOSED_VARIABLE || !known->value.variable)
            FAIL(UNSUPPORTED, "output %s", name);
        TRY(onnx_node_set_output(composer->node, index, known->value.variable));
    }
    if (composer->node->output_count > index)
        FAIL(INVALID, "%u outputs", composer->node->output_count);
    return NULL;
}

/* Graphs, lists of floats and strings, and long ones of integers stay in the node: they are none of
 * an operator's attributes, or may be longer than those are. */
static Error *convert_attributes(const OnnxNode *node, const char *declaration, Attributes **out) {
    const char *skipped[COMPOSITION_LISTS_MAX + 1] = {0};
    uint32_t count = 0;
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const char *name = node->proto->attribute[i]->name;
        const char kind = name ? onnx_attribute_kind(declaration, name) : 0;
        const bool is_long =
            kind == 'I' && node->proto->attribute[i]->n_ints > COMPOSITION_INTS_MAX;
        if (!kind || (!strchr("FSgt", kind) && !is_long)) continue;
        if (count == COMPOSITION_LISTS_MAX) FAIL(INVALID, "more than %u lists", count);
        skipped[count++] = name;
    }
    return onnx_attribute_convert_declared(node, declaration, skipped, out);
}

Error *composition_emit(const OnnxNode *node, const Composition *composition) {
    Composer composer = {.node = node,
        .composition = composition,
        .info = {.name = composition->op_type, .attributes = composition->attributes},
        .at = composition->text};
    OWN(Attributes, attributes) = NULL;
    TRY(convert_attributes(node, composition->attributes, &attributes));
    TRY(attributes_check(attributes, &composer.info));
    composer.attributes = attributes;
    TRY(bind_inputs(&composer));
    TRY(composer_carry_out(&composer, ""));
    return set_outputs(&composer);
}
