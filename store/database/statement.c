#include "store/database/statement.h"

#include "store/database/row_costs.h"

#define CATALOG STATEMENT_IN_CATALOG
#define CHUNKS STATEMENT_IN_CHUNKS
#define BOTH STATEMENT_IN_BOTH
#define READ STATEMENT_READS
#define WRITE STATEMENT_WRITES
#define END STATEMENT_ENDS
#define SETTING STATEMENT_CHANGES_SETTINGS
#define INDEXED false
#define SCANS true
const StatementInfo statement_infos[STATEMENT_COUNT] = {
#define STATEMENT(name, databases, use, plan, sql)                                                 \
    [STATEMENT_##name] = {#name, databases, use, plan, sql},
#include "store/database/statements.def"
#undef STATEMENT
};
