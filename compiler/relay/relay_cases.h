#pragma once
/* Matches as rows of patterns over columns of values: what the check for missing arms and the
 * lowering share. Threads: one at a time per program. */
#include "compiler/relay/text/relay_tree.h"

/* Limits of taking one match apart: patterns looked at, and the depth of the cases. */
enum { RELAY_CASE_CELLS_MAX = 1 << 24, RELAY_CASE_DEPTH_MAX = 1000 };

/* One arm: a pattern for each column. */
typedef struct RelayRow {
    RelayPattern **patterns;
    uint32_t arm;
} RelayRow;

typedef struct RelayCases {
    RelayRow *rows;
    uint32_t row_count, column_count;
} RelayCases;

/* The rows of a match: one column. */
MUST_CHECK Error *relay_cases_begin(RelayProgram *program, const RelayExpr *match, RelayCases *out);
/* Finds the first column whose pattern in the first row tests anything. False: none, so the first
 * row takes every value. */
bool relay_cases_column(const RelayCases *cases, uint32_t *out_column);
/* The rows for values whose column has a constructor, or is a tuple (NULL): the column is replaced
 * by columns for its fields. */
MUST_CHECK Error *relay_cases_inside(RelayProgram *program, const RelayCases *cases,
    uint32_t column, const RelayConstructor *constructor, uint32_t field_count, RelayCases *out);
/* The rows for values whose column has none of the constructors that the rows name. */
MUST_CHECK Error *relay_cases_others(
    RelayProgram *program, const RelayCases *cases, uint32_t column, RelayCases *out);
/* Whether a row's pattern in the column names the constructor. */
bool relay_cases_name(
    const RelayCases *cases, uint32_t column, const RelayConstructor *constructor);

/* Finds a value that no row takes. *out_missing: NULL, or its text in the program's arena.
 * Errors: INVALID too many steps. */
MUST_CHECK Error *relay_cases_missing(
    RelayProgram *program, const RelayExpr *match, const char **out_missing);
