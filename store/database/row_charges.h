#pragma once
/* Charges rows to their tenants when a statement or foreign key writes them, and discharges them
 * when they are deleted, by triggers of the writer's own connection. Triggers in the file itself
 * are never run (connection.c). The triggers refuse nothing: code that adds rows which may be
 * refused calls tenants_check_growth before the commit. Only connection.c calls this, in the thread
 * that opens the writer. */
#include "store/database/connection.h"

/* Installs the triggers. Called once for a writer of the catalog with tables of this version. */
MUST_CHECK Error *row_charges_install(Connection *catalog);
