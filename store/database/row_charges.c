#include "store/database/row_charges.h"

#include <stddef.h>

#include "store/database/row_costs.h"

enum { TRIGGER_SQL_SIZE = 1024 };

typedef struct RowCharge {
    const char *when, *sign, *cost, *tenant;
} RowCharge;

static const RowCharge charges[] = {
#define ROW_CHARGE(when, sign, cost, tenant) {when, sign, cost, tenant},
#include "store/database/row_charges.def"
#undef ROW_CHARGE
};

Error *row_charges_install(Connection *catalog) {
    char sql[TRIGGER_SQL_SIZE];
    for (size_t i = 0; i < sizeof charges / sizeof *charges; i++) {
        const RowCharge *charge = &charges[i];
        (void)sqlite3_snprintf(sizeof sql, sql,
            "CREATE TEMP TRIGGER row_charge_%d AFTER %s BEGIN UPDATE tenants SET bytes_stored ="
            " max(coalesce(bytes_stored, 0) %s %s, 0) WHERE id = %s; END",
            (int)i, charge->when, charge->sign, charge->cost, charge->tenant);
        TRY(connection_execute(catalog, sql));
    }
    /* so that REPLACE runs the triggers, too */
    return connection_execute(catalog, "PRAGMA recursive_triggers = ON");
}
