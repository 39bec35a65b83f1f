#pragma once
/* The statements of statements.def by number, and what each may do. Read by connection.c, which
 * prepares them, and by query.c, which runs them. Pure: a constant table. */
#include <stdbool.h>

typedef enum StatementId {
#define STATEMENT(name, databases, use, plan, sql) STATEMENT_##name,
#include "store/database/statements.def"
#undef STATEMENT
    STATEMENT_COUNT
} StatementId;

typedef enum StatementDatabases {
    STATEMENT_IN_CATALOG = 1,
    STATEMENT_IN_CHUNKS = 2,
    STATEMENT_IN_BOTH = 3,
} StatementDatabases;

typedef enum StatementUse {
    STATEMENT_READS,
    STATEMENT_WRITES, /* only the writer runs it */
    STATEMENT_ENDS,
    STATEMENT_CHANGES_SETTINGS,
} StatementUse;

typedef struct StatementInfo {
    const char *name;
    StatementDatabases databases;
    StatementUse use;
    bool scans; /* the statement may scan a whole table */
    const char *sql;
} StatementInfo;

extern const StatementInfo statement_infos[STATEMENT_COUNT];
