#include "compiler/relay/relay_operators.h"

#include <string.h>

#include "base/allocator.h"
#include "compiler/relay/relay_build_internal.h"

static const RelayOperator rows[] = {
#define RELAY_OPERATOR(name, arguments, attributes, builder, target)                               \
    {name, arguments, attributes, relay_build_##builder, target},
#include "compiler/relay/relay_operator_rows.def"
#undef RELAY_OPERATOR
};

const RelayOperator *relay_operator_find(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

void relay_operator_nearest(Nearest *nearest) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) nearest_try(nearest, rows[i].name);
}

const char *relay_operator_name(const RelayOperator *row) { return row->name; }

static void get_arity(const RelayOperator *row, uint32_t *out_min, uint32_t *out_max) {
    const char *text = row->arguments;
    *out_min = *out_max = text[0] == 't' ? 1 : (uint32_t)(text[0] - '0');
    if (text[1] == '-') *out_max = (uint32_t)(text[2] - '0');
}

uint32_t relay_operator_arity(const RelayOperator *row) {
    uint32_t min, max;
    get_arity(row, &min, &max);
    return min;
}

/* Whether the name is one of the words. */
static bool has_word(const char *words, const char *name) {
    const size_t size = strlen(name);
    for (const char *at = words; *at;) {
        const size_t word = strcspn(at, " ");
        if (word == size && memcmp(at, name, size) == 0) return true;
        at += word + (at[word] == ' ');
    }
    return false;
}

Error *relay_operator_check_call(const RelayOperator *row, const RelayExpr *call) {
    uint32_t min, max;
    get_arity(row, &min, &max);
    const uint32_t count = call->count - 1;
    if (count < min || count > max)
        FAIL(INVALID, RELAY_AT ": %s takes %s arguments, not %u", RELAY_PLACE(call->place),
            row->name, row->arguments[0] == 't' ? "1" : row->arguments, count);
    for (uint32_t i = 0; i < call->attribute_count; i++) {
        const RelayAttribute *attribute = &call->attributes[i];
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(call->attributes[k].name, attribute->name) == 0)
                FAIL(INVALID, RELAY_AT ": attribute %.60s of %s stands twice",
                    RELAY_PLACE(attribute->place), attribute->name, row->name);
        if (!has_word(row->attributes, attribute->name))
            FAIL(UNSUPPORTED, RELAY_AT ": %s has no attribute %.60s; it has %s",
                RELAY_PLACE(attribute->place), row->name, attribute->name,
                row->attributes[0] ? row->attributes : "none");
    }
    return NULL;
}

/* ---- building ---- */

/* Counts the tensors of the arguments. *out_known: false if a type is not known yet. */
static Error *count_tensors(const RelayExpr *call, uint32_t *out_count, bool *out_known) {
    const RelayOperator *row = call->operator_row;
    uint32_t count = 0;
    *out_known = true;
    for (uint32_t i = 1; i < call->count; i++) {
        const RelayType *type = relay_type_find(call->items[i]->type);
        const bool tuple = row->arguments[0] == 't' && i == 1;
        TextBuilder OWN_TEXT(text) = {0};
        if (type->kind == RELAY_TYPE_VARIABLE) {
            *out_known = false;
            continue;
        }
        bool fits = type->kind == (tuple ? RELAY_TYPE_TUPLE : RELAY_TYPE_TENSOR);
        for (uint32_t k = 0; fits && tuple && k < type->count; k++) {
            const RelayType *part = relay_type_find(type->items[k]);
            if (part->kind == RELAY_TYPE_VARIABLE) *out_known = false;
            fits = part->kind == RELAY_TYPE_VARIABLE || part->kind == RELAY_TYPE_TENSOR;
        }
        relay_type_print(type, &text);
        if (!fits)
            FAIL(INVALID, RELAY_AT ": argument %u of %s is of type %s, not a %s",
                RELAY_PLACE(call->items[i]->place), i, row->name, text_builder_get(&text),
                tuple ? "tuple of tensors" : "tensor");
        count += tuple ? type->count : 1;
    }
    if (count > RELAY_ITEMS_MAX)
        FAIL(INVALID, RELAY_AT ": %s of %u tensors", RELAY_PLACE(call->place), row->name, count);
    *out_count = count;
    return NULL;
}

/* Fills the types, with those of a tuple in the tuple's place. */
static void fill_types(const RelayExpr *call, const RelayType **types) {
    for (uint32_t i = 1; i < call->count; i++) {
        const RelayType *type = relay_type_find(call->items[i]->type);
        if (type->kind != RELAY_TYPE_TUPLE) *types++ = type;
        for (uint32_t k = 0; type->kind == RELAY_TYPE_TUPLE && k < type->count; k++)
            *types++ = relay_type_find(type->items[k]);
    }
}

static Error *run_builder(RelayOperatorCall *call) {
    return error_wrap(
        call->row->build(call), RELAY_AT ": %s", RELAY_PLACE(call->expr->place), call->row->name);
}

/* Fields of a tuple that is one argument. */
static Error *spread(
    IrCursor at, const RelayExpr *call, IrVariable *const *arguments, IrVariable **inputs) {
    for (uint32_t i = 1; i < call->count; i++) {
        const RelayType *type = relay_type_find(call->items[i]->type);
        if (type->kind != RELAY_TYPE_TUPLE) *inputs++ = arguments[i - 1];
        for (uint32_t k = 0; type->kind == RELAY_TYPE_TUPLE && k < type->count; k++) {
            TRY(ir_build_get_field(at, arguments[i - 1], k, inputs));
            relay_ir_type(type->items[k], &(*inputs)->type);
            inputs++;
        }
    }
    return NULL;
}

Error *relay_operator_build(RelayProgram *program, IrCursor at, const RelayExpr *expr,
    IrVariable *const *inputs, IrVariable **out) {
    RelayOperatorCall call = {.row = expr->operator_row, .expr = expr, .at = at};
    bool known;
    TRY(count_tensors(expr, &call.count, &known));
    if (!known) FAIL(INTERNAL, "%s was not checked", call.row->name);
    TRY(relay_new(program, call.count, sizeof(IrVariable *), &call.inputs));
    TRY(relay_new(program, call.count, sizeof(RelayType *), &call.types));
    fill_types(expr, call.types);
    TRY(spread(at, expr, inputs, call.inputs));
    TRY(run_builder(&call));
    *out = call.results[0];
    if (!call.is_tuple) return NULL;
    return ir_build_construct(at, NULL, call.result_count, call.results, out);
}

/* ---- types ---- */

/* A dimension that is not known has another length in each world. What is the same in both worlds
 * is known. Where the operator refuses one of them, the dimension may have to be as long as one
 * that is known: then the result's rank is known. */
enum { WORLDS = 2, CONSTANT_BYTES_MAX = 1 << 12 };
static const int64_t world_lengths[WORLDS] = {7, 11};

typedef struct Answer {
    bool known;
    IrType results[RELAY_RESULTS_MAX];
} Answer;

struct RelayScratch {
    IrModule *module;
    Answer answers[WORLDS];
};

Error *relay_scratch_create(RelayScratch **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(RelayScratch), &memory));
    *out = memory;
    return ir_module_create(&(*out)->module);
}

void relay_scratch_release(RelayScratch *scratch) {
    if (!scratch) return;
    ir_module_release(scratch->module);
    memory_free(scratch);
}

/* A small constant is one in the scratch, too: rules may read its value. */
static Error *make_input(const RelayOperatorCall *call, uint32_t index, int64_t length,
    IrFunction *function, IrVariable **out) {
    const RelayType *type = call->types[index];
    const RelayExpr *item = call->row->arguments[0] == 't' ? NULL : call->expr->items[index + 1];
    if (item && item->kind == RELAY_CONSTANT && tensor_bytes(item->tensor) <= CONSTANT_BYTES_MAX)
        return ir_constant_tensor(function->module, item->tensor, out);
    IrType given = {.kind = IR_TYPE_TENSOR, .dtype = type->dtype, .rank = type->rank};
    given.rank_known = type->rank_known;
    for (uint32_t d = 0; d < type->rank; d++)
        given.dims[d] = type->dims[d] < 0 ? length : type->dims[d];
    return ir_function_add_parameter(function, NULL, &given, out);
}

/* Builds the call over inputs whose unknown dimensions have that length, then runs the shape
 * rules. */
static Error *run_length(RelayProgram *program, RelayScratch *scratch, RelayOperatorCall *call,
    int64_t length, bool *out_known) {
    enum { FUNCTIONS_MAX = 1000 };
    IrFunction *function;
    if (scratch->module->function_count > FUNCTIONS_MAX) { /* a module has a limit of functions */
        ir_module_release(scratch->module);
        scratch->module = NULL;
        TRY(ir_module_create(&scratch->module));
    }
    TRY(ir_function_create(scratch->module, NULL, false, NULL, &function));
    TRY(relay_new(program, call->count, sizeof(IrVariable *), &call->inputs));
    for (uint32_t i = 0; i < call->count; i++)
        TRY(make_input(call, i, length, function, &call->inputs[i]));
    call->at = ir_at_end(function->body);
    TRY(run_builder(call));
    return error_wrap(relay_shapes_infer(function->body, out_known), RELAY_AT ": %s",
        RELAY_PLACE(call->expr->place), call->row->name);
}

static bool is_static(const RelayOperatorCall *call) {
    for (uint32_t i = 0; i < call->count; i++) {
        const RelayType *type = call->types[i];
        if (type->dtype == DTYPE_NONE || !type->rank_known) return false;
        for (uint32_t d = 0; d < type->rank; d++)
            if (type->dims[d] < 0) return false;
    }
    return true;
}

static Error *ask(RelayProgram *program, RelayScratch *scratch, RelayOperatorCall *call,
    int64_t length, Answer *out) {
    Error *error = run_length(program, scratch, call, length, &out->known);
    if (error_code(error) == ERROR_FAILED) { /* a shape rule's answer */
        out->known = false;
        if (is_static(call)) return error_recode(error, ERROR_INVALID);
        error_free(error); /* other lengths may fit */
        error = NULL;
    }
    TRY(error);
    for (uint32_t i = 0; i < call->result_count; i++) out->results[i] = call->results[i]->type;
    return NULL;
}

/* Tries the lengths of the dimensions that are known. What is found says nothing of dimensions. */
static Error *ask_other_lengths(
    RelayProgram *program, RelayScratch *scratch, RelayOperatorCall *call) {
    enum { TRIES_MAX = 16 };
    Answer *answer = &scratch->answers[0];
    uint32_t tries = 0;
    answer->known = false;
    for (uint32_t i = 0; i < call->count && !answer->known; i++)
        for (uint32_t d = 0; d < call->types[i]->rank && !answer->known; d++)
            if (call->types[i]->dims[d] >= 0 && tries++ < TRIES_MAX)
                TRY(ask(program, scratch, call, call->types[i]->dims[d], answer));
    for (uint32_t i = 0; i < call->result_count; i++) {
        IrType *type = &answer->results[i];
        if (!answer->known) *type = (IrType){.kind = IR_TYPE_TENSOR, .dtype = type->dtype};
        for (uint32_t d = 0; d < type->rank; d++) type->dims[d] = IR_DIM_UNKNOWN;
    }
    scratch->answers[1] = *answer;
    return NULL;
}

/* What the results have in common in two worlds. */
static void join_result(const IrType *a, const IrType *b, RelayType *out) {
    out->dtype = a->dtype == b->dtype ? a->dtype : DTYPE_NONE;
    out->rank_known = a->kind == IR_TYPE_TENSOR && b->kind == IR_TYPE_TENSOR && a->rank_known &&
                      b->rank_known && a->rank == b->rank;
    out->rank = out->rank_known ? a->rank : 0;
    for (uint32_t i = 0; i < out->rank; i++)
        out->dims[i] = a->dims[i] == b->dims[i] && a->dims[i] >= 0 ? a->dims[i] : -1;
}

static Error *make_result(RelayProgram *program, const RelayScratch *scratch,
    const RelayOperatorCall *call, RelayType **out) {
    RelayType **items;
    TRY(relay_new(program, call->result_count, sizeof *items, &items));
    for (uint32_t i = 0; i < call->result_count; i++) {
        TRY(relay_type_make(program, RELAY_TYPE_TENSOR, &items[i]));
        join_result(&scratch->answers[0].results[i], &scratch->answers[1].results[i], items[i]);
    }
    *out = items[0];
    if (!call->is_tuple) return NULL;
    return relay_type_of(program, RELAY_TYPE_TUPLE, NULL, call->result_count, items, out);
}

Error *relay_operator_infer(RelayProgram *program, RelayScratch *scratch, const RelayExpr *expr,
    RelayType **out_type, bool *out_known) {
    RelayOperatorCall call = {.row = expr->operator_row, .expr = expr};
    TRY(count_tensors(expr, &call.count, out_known));
    if (!*out_known) return NULL;
    TRY(relay_new(program, call.count, sizeof(RelayType *), &call.types));
    fill_types(expr, call.types);
    for (uint32_t w = 0; w < WORLDS; w++)
        TRY(ask(program, scratch, &call, world_lengths[w], &scratch->answers[w]));
    if (!scratch->answers[0].known || !scratch->answers[1].known)
        TRY(ask_other_lengths(program, scratch, &call));
    return make_result(program, scratch, &call, out_type);
}
