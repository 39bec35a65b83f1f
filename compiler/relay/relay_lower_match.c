/* Matches become matches of one constructor after the other. An arm that several cases reach
 * becomes a local function, so that its code exists once. */
#include <string.h>

#include "compiler/relay/relay_build_internal.h"
#include "compiler/relay/relay_cases.h"
#include "compiler/relay/relay_lower_internal.h"

typedef struct Matching {
    RelayLower *lower;
    const RelayExpr *match;
    IrVariable *value;
    uint32_t *reached;      /* by arm: how many cases end there */
    IrFunction **functions; /* by arm: NULL unless several do */
    uint64_t cells;
} Matching;

/* ---- counting ---- */

static Error *count_cases(Matching *matching, const RelayCases *cases, uint32_t depth) {
    RelayProgram *program = matching->lower->program;
    RelayCases part;
    uint32_t column;
    matching->cells += (uint64_t)cases->row_count * cases->column_count + 1;
    if (matching->cells > RELAY_CASE_CELLS_MAX || depth > RELAY_CASE_DEPTH_MAX)
        FAIL(INVALID, RELAY_AT ": the patterns of the match make too many cases",
            RELAY_PLACE(matching->match->place));
    if (cases->row_count == 0) return NULL;
    if (!relay_cases_column(cases, &column)) {
        matching->reached[cases->rows[0].arm]++;
        return NULL;
    }
    const RelayPattern *pattern = cases->rows[0].patterns[column];
    if (pattern->kind == RELAY_PATTERN_TUPLE) {
        TRY(relay_cases_inside(program, cases, column, NULL, pattern->count, &part));
        return count_cases(matching, &part, depth + 1);
    }
    const RelayData *data = pattern->constructor->data;
    bool others = false;
    for (uint32_t i = 0; i < data->constructor_count; i++) {
        const RelayConstructor *made = data->constructors[i];
        if (!relay_cases_name(cases, column, made)) {
            others = true;
            continue;
        }
        TRY(relay_cases_inside(program, cases, column, made, made->field_count, &part));
        TRY(count_cases(matching, &part, depth + 1));
    }
    if (!others) return NULL;
    TRY(relay_cases_others(program, cases, column, &part));
    return count_cases(matching, &part, depth + 1);
}

/* ---- arms ---- */

/* Reads the values of a pattern's variables. function: NULL, or the function whose parameters they
 * become; then the variables stay as they are and the values go to *inout_values. */
static Error *bind(IrBlock *block, const RelayPattern *pattern, IrVariable *value,
    IrVariable **values, uint32_t *inout_count) {
    if (pattern->kind == RELAY_PATTERN_ANY && pattern->local) {
        if (values)
            values[*inout_count] = value;
        else
            pattern->local->variable = value;
        (*inout_count)++;
    }
    for (uint32_t i = 0; i < pattern->count; i++) {
        const RelayPattern *item = pattern->items[i];
        IrVariable *field;
        if (item->kind == RELAY_PATTERN_ANY && !item->local) continue;
        TRY(ir_build_get_field(ir_at_end(block), value, i, &field));
        relay_ir_type(item->type, &field->type);
        TRY(bind(block, item, field, values, inout_count));
    }
    return NULL;
}

/* Makes the variables of a pattern the parameters of a function. */
static Error *add_parameters(const RelayPattern *pattern, IrFunction *function) {
    if (pattern->kind == RELAY_PATTERN_ANY && pattern->local) {
        RelayLocal *local = pattern->local;
        IrType type;
        relay_ir_type(local->type, &type);
        TRY(ir_function_add_parameter(function, local->name, &type, &local->variable));
    }
    for (uint32_t i = 0; i < pattern->count; i++) TRY(add_parameters(pattern->items[i], function));
    return NULL;
}

static Error *make_function(Matching *matching, IrBlock *block, uint32_t arm) {
    const RelayExpr *body = matching->match->items[1 + arm];
    IrFunction *made;
    IrType type;
    relay_ir_type(matching->match->type, &type);
    TRY(ir_function_create(matching->lower->module, "arm", false, block, &made));
    TRY(relay_heap_begin(matching->lower, made));
    TRY(add_parameters(matching->match->patterns[arm], made));
    TRY(relay_heap_declare(matching->lower, made, &type));
    TRY(relay_heap_body(matching->lower, made, body, &type));
    matching->functions[arm] = made;
    return NULL;
}

static Error *lower_arm(Matching *matching, IrBlock *block, uint32_t arm, IrVariable **out) {
    const RelayPattern *pattern = matching->match->patterns[arm];
    const RelayExpr *body = matching->match->items[1 + arm];
    IrFunction *function = matching->functions[arm];
    IrVariable **values;
    uint32_t count = 0;
    if (!function) {
        TRY(bind(block, pattern, matching->value, NULL, &count));
        return relay_lower_expr(matching->lower, block, body, out);
    }
    TRY(relay_new(
        matching->lower->program, function->body->parameter_count, sizeof *values, &values));
    if (function->body->parameter_count > 0)
        TRY(bind(block, pattern, matching->value, values, &count));
    return relay_heap_call(matching->lower, block, function, count, values, out);
}

/* ---- cases ---- */

static Error *lower_cases(Matching *matching, IrBlock *block, const RelayCases *cases,
    IrVariable *const *columns, IrVariable **out);

/* Goes on with the fields in the place of a column. type: of the fields' values. */
static Error *lower_inside(Matching *matching, IrBlock *block, const RelayCases *cases,
    IrVariable *const *columns, uint32_t column, const RelayConstructor *made, uint32_t field_count,
    IrVariable **out) {
    RelayCases inside;
    IrVariable **wider;
    RelayProgram *program = matching->lower->program;
    TRY(relay_cases_inside(program, cases, column, made, field_count, &inside));
    TRY(relay_new(program, (size_t)inside.column_count + 1, sizeof *wider, &wider));
    for (uint32_t i = 0; i < inside.column_count; i++) {
        if (i >= column && i < column + field_count)
            TRY(ir_build_get_field(ir_at_end(block), columns[column], i - column, &wider[i]));
        else
            wider[i] = columns[i < column ? i : i - field_count + 1];
    }
    return lower_cases(matching, block, &inside, wider, out);
}

static Error *lower_others(Matching *matching, IrBlock *block, const RelayCases *cases,
    IrVariable *const *columns, uint32_t column, IrVariable **out) {
    RelayCases others;
    IrVariable **narrower;
    RelayProgram *program = matching->lower->program;
    TRY(relay_cases_others(program, cases, column, &others));
    TRY(relay_new(program, (size_t)others.column_count + 1, sizeof *narrower, &narrower));
    for (uint32_t i = 0; i < others.column_count; i++)
        narrower[i] = columns[i < column ? i : i + 1];
    return lower_cases(matching, block, &others, narrower, out);
}

/* One block for each constructor that a row names, one for the others; the last needs no test. */
static Error *lower_constructors(Matching *matching, IrBlock *block, const RelayCases *cases,
    IrVariable *const *columns, uint32_t column, IrVariable **out) {
    const RelayData *data = cases->rows[0].patterns[column]->constructor->data;
    RelayProgram *program = matching->lower->program;
    const RelayConstructor **named;
    IrConstructor **tested;
    IrBlock **blocks;
    IrVariable **results, *made;
    uint32_t count = 0;
    TRY(relay_new(program, data->constructor_count, sizeof *named, &named));
    TRY(relay_new(program, (size_t)data->constructor_count + 1, sizeof *tested, &tested));
    for (uint32_t i = 0; i < data->constructor_count; i++)
        if (relay_cases_name(cases, column, data->constructors[i]))
            named[count++] = data->constructors[i];
    const bool others = count < data->constructor_count;
    for (uint32_t i = 0; i + !others < count; i++) tested[i] = named[i]->made;
    TRY(ir_build_match(ir_at_end(block), columns[column], count + others, tested,
        relay_heap_results(matching->lower), &blocks, &results));
    IrVariable *before = matching->lower->heap;
    for (uint32_t i = 0; i < count; i++) {
        TRY(lower_inside(
            matching, blocks[i], cases, columns, column, named[i], named[i]->field_count, &made));
        TRY(relay_heap_end_branch(matching->lower, blocks[i], made, before));
    }
    if (others) {
        TRY(lower_others(matching, blocks[count], cases, columns, column, &made));
        TRY(relay_heap_end_branch(matching->lower, blocks[count], made, before));
    }
    *out = relay_heap_join(matching->lower, results);
    return NULL;
}

static Error *no_arm(Matching *matching, IrBlock *block, IrVariable **out) {
    TextBuilder OWN_TEXT(text) = {0};
    IrVariable **results;
    text_appendf(&text, RELAY_AT ": no arm of the match fits the value",
        RELAY_PLACE(matching->match->place));
    TRY(text_builder_check(&text));
    TRY(ir_build_fatal(
        ir_at_end(block), text_builder_get(&text), relay_heap_results(matching->lower), &results));
    *out = relay_heap_join(matching->lower, results);
    return NULL;
}

/* Depth: as of count_cases, which bounds it. */
static Error *lower_cases(Matching *matching, IrBlock *block, const RelayCases *cases,
    IrVariable *const *columns, IrVariable **out) {
    uint32_t column;
    if (cases->row_count == 0) return no_arm(matching, block, out);
    if (!relay_cases_column(cases, &column))
        return lower_arm(matching, block, cases->rows[0].arm, out);
    const RelayPattern *pattern = cases->rows[0].patterns[column];
    if (pattern->kind == RELAY_PATTERN_TUPLE)
        return lower_inside(matching, block, cases, columns, column, NULL, pattern->count, out);
    return lower_constructors(matching, block, cases, columns, column, out);
}

Error *relay_lower_match(
    RelayLower *lower, IrBlock *block, const RelayExpr *match, IrVariable **out) {
    Matching matching = {.lower = lower, .match = match};
    RelayCases cases;
    TRY(relay_lower_expr(lower, block, match->items[0], &matching.value));
    TRY(relay_cases_begin(lower->program, match, &cases));
    TRY(relay_new(lower->program, match->pattern_count, sizeof(uint32_t), &matching.reached));
    TRY(relay_new(lower->program, match->pattern_count, sizeof(IrFunction *), &matching.functions));
    TRY(count_cases(&matching, &cases, 0));
    for (uint32_t i = 0; i < match->pattern_count; i++)
        if (matching.reached[i] == 0)
            TRY(ir_module_warn(lower->module, RELAY_AT ": no value reaches this arm of the match",
                RELAY_PLACE(match->patterns[i]->place)));
    for (uint32_t i = 0; i < match->pattern_count; i++)
        if (matching.reached[i] > 1) TRY(make_function(&matching, block, i));
    return lower_cases(&matching, block, &cases, &matching.value, out);
}
