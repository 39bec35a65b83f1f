#include "compiler/relay/relay_cases.h"

#include <string.h>

#include "base/text.h"

Error *relay_cases_begin(RelayProgram *program, const RelayExpr *match, RelayCases *out) {
    out->column_count = 1;
    out->row_count = match->pattern_count;
    TRY(relay_new(program, out->row_count, sizeof *out->rows, &out->rows));
    for (uint32_t i = 0; i < out->row_count; i++) out->rows[i] = (RelayRow){&match->patterns[i], i};
    return NULL;
}

static bool tests(const RelayPattern *pattern) {
    return pattern && pattern->kind != RELAY_PATTERN_ANY;
}

bool relay_cases_column(const RelayCases *cases, uint32_t *out_column) {
    for (uint32_t i = 0; i < cases->column_count; i++) {
        if (!tests(cases->rows[0].patterns[i])) continue;
        *out_column = i;
        return true;
    }
    return false;
}

/* The row with the column's pattern replaced by those of its fields; NULL patterns take all. */
static Error *row_inside(RelayProgram *program, const RelayCases *cases, const RelayRow *row,
    uint32_t column, uint32_t field_count, RelayRow *out) {
    const RelayPattern *pattern = row->patterns[column];
    const uint32_t behind = cases->column_count - column - 1;
    out->arm = row->arm;
    TRY(relay_new(
        program, (size_t)cases->column_count + field_count, sizeof *out->patterns, &out->patterns));
    if (column > 0) memcpy(out->patterns, row->patterns, column * sizeof *row->patterns);
    if (tests(pattern) && field_count > 0)
        memcpy(out->patterns + column, pattern->items, field_count * sizeof *pattern->items);
    if (behind > 0)
        memcpy(out->patterns + column + field_count, row->patterns + column + 1,
            behind * sizeof *row->patterns);
    return NULL;
}

Error *relay_cases_inside(RelayProgram *program, const RelayCases *cases, uint32_t column,
    const RelayConstructor *constructor, uint32_t field_count, RelayCases *out) {
    RelayCases made = {.column_count = cases->column_count - 1 + field_count};
    TRY(relay_new(program, cases->row_count, sizeof *made.rows, &made.rows));
    for (uint32_t i = 0; i < cases->row_count; i++) {
        const RelayPattern *pattern = cases->rows[i].patterns[column];
        if (tests(pattern) && pattern->constructor != constructor) continue;
        TRY(row_inside(
            program, cases, &cases->rows[i], column, field_count, &made.rows[made.row_count++]));
    }
    *out = made;
    return NULL;
}

Error *relay_cases_others(
    RelayProgram *program, const RelayCases *cases, uint32_t column, RelayCases *out) {
    RelayCases made = {.column_count = cases->column_count - 1};
    TRY(relay_new(program, cases->row_count, sizeof *made.rows, &made.rows));
    for (uint32_t i = 0; i < cases->row_count; i++) {
        if (tests(cases->rows[i].patterns[column])) continue;
        TRY(row_inside(program, cases, &cases->rows[i], column, 0, &made.rows[made.row_count++]));
    }
    *out = made;
    return NULL;
}

bool relay_cases_name(
    const RelayCases *cases, uint32_t column, const RelayConstructor *constructor) {
    for (uint32_t i = 0; i < cases->row_count; i++) {
        const RelayPattern *pattern = cases->rows[i].patterns[column];
        if (tests(pattern) && pattern->constructor == constructor) return true;
    }
    return false;
}

/* ---- missing arms ---- */

typedef struct Search {
    RelayProgram *program;
    uint64_t cells;
    uint32_t depth;
    const char **missing; /* texts, one for each column; NULL: the rows take all values */
} Search;

static Error *keep(RelayProgram *program, const TextBuilder *text, const char **out) {
    void *copy;
    TRY(text_builder_check(text));
    TRY(arena_copy(&program->arena, text_builder_get(text), text->size + 1, 1, &copy));
    *out = copy;
    return NULL;
}

/* Makes a value's text from those of its fields, which are the columns from `column` on. */
static Error *fold(Search *search, const char *name, uint32_t column, uint32_t field_count,
    uint32_t column_count) {
    enum { TEXT_MAX = 200 };
    TextBuilder OWN_TEXT(text) = {0};
    const char **folded, **inner = search->missing;
    text_append(&text, name);
    if (field_count > 0 || name[0] == '\0') text_append(&text, "(");
    for (uint32_t i = 0; i < field_count; i++)
        text_appendf(
            &text, "%s%s", i > 0 ? ", " : "", text.size > TEXT_MAX ? "_" : inner[column + i]);
    if (field_count > 0 || name[0] == '\0') text_append(&text, ")");
    TRY(relay_new(search->program, column_count, sizeof *folded, &folded));
    for (uint32_t i = 0; i < column_count; i++)
        if (i != column) folded[i] = i < column ? inner[i] : inner[i + field_count - 1];
    TRY(keep(search->program, &text, &folded[column]));
    search->missing = folded;
    return NULL;
}

static Error *find_missing(Search *search, const RelayCases *cases);

static Error *missing_inside(Search *search, const RelayCases *cases, uint32_t column,
    const RelayConstructor *made, uint32_t field_count) {
    RelayCases inside;
    TRY(relay_cases_inside(search->program, cases, column, made, field_count, &inside));
    search->depth++;
    TRY(find_missing(search, &inside));
    search->depth--;
    if (!search->missing) return NULL;
    return fold(search, made ? made->name : "", column, field_count, cases->column_count);
}

/* Values of constructors that no row names in the column. */
static Error *missing_others(
    Search *search, const RelayCases *cases, uint32_t column, const RelayConstructor *unnamed) {
    RelayCases others;
    TRY(relay_cases_others(search->program, cases, column, &others));
    search->depth++;
    TRY(find_missing(search, &others));
    search->depth--;
    if (!search->missing) return NULL;
    const char **wider, **found = search->missing;
    TRY(relay_new(search->program, (size_t)cases->column_count + unnamed->field_count,
        sizeof *wider, &wider));
    const uint32_t width = cases->column_count - 1;
    for (uint32_t i = 0; i < width + unnamed->field_count; i++)
        wider[i] = i < column                          ? found[i]
                   : i < column + unnamed->field_count ? "_"
                                                       : found[i - unnamed->field_count];
    search->missing = wider;
    return fold(search, unnamed->name, column, unnamed->field_count, cases->column_count);
}

/* Depth: each level takes a pattern's level or a column away. */
static Error *find_missing(Search *search, const RelayCases *cases) {
    uint32_t column;
    search->cells += (uint64_t)cases->row_count * cases->column_count + 1;
    if (search->cells > RELAY_CASE_CELLS_MAX || search->depth > RELAY_CASE_DEPTH_MAX)
        FAIL(INVALID, "the patterns of the match make too many cases");
    search->missing = NULL;
    if (cases->row_count == 0) {
        const uint32_t count = cases->column_count;
        TRY(relay_new(search->program, (size_t)count + 1, sizeof(char *), &search->missing));
        for (uint32_t i = 0; i < count; i++) search->missing[i] = "_";
        return NULL;
    }
    if (!relay_cases_column(cases, &column)) return NULL;
    const RelayPattern *pattern = cases->rows[0].patterns[column];
    if (pattern->kind == RELAY_PATTERN_TUPLE)
        return missing_inside(search, cases, column, NULL, pattern->count);
    const RelayData *data = pattern->constructor->data;
    const RelayConstructor *unnamed = NULL;
    for (uint32_t i = 0; i < data->constructor_count; i++) {
        const RelayConstructor *made = data->constructors[i];
        if (!relay_cases_name(cases, column, made)) {
            if (!unnamed) unnamed = made;
            continue;
        }
        TRY(missing_inside(search, cases, column, made, made->field_count));
        if (search->missing) return NULL;
    }
    return unnamed ? missing_others(search, cases, column, unnamed) : NULL;
}

Error *relay_cases_missing(
    RelayProgram *program, const RelayExpr *match, const char **out_missing) {
    Search search = {.program = program};
    RelayCases cases;
    TRY(relay_cases_begin(program, match, &cases));
    TRY(find_missing(&search, &cases));
    *out_missing = search.missing ? search.missing[0] : NULL;
    return NULL;
}
