#pragma once
/* Charges rows to their tenants as they are written, and gives them back as they are deleted, by
 * whatever statement or foreign key that happens: triggers of the writer's own connection. Triggers
 * that stand in the file are never run (connection.c). Nothing is refused here: who adds rows that
 * may be refused asks tenants_check_growth before the commit. */
#include "store/database/connection.h"

/* Once for a writer of the catalog, when its tables are those of this version. */
MUST_CHECK Error *row_charges_install(Connection *catalog);
