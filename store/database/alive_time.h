#pragma once
/* How long a daemon was seen at work in this home, over all its processes. The retention of
 * finished jobs, offers of other nodes and the outcomes of verifications count this time: a
 * calendar that is set days ahead, or a machine that was off, removes nothing.
 *
 * The daemon's housekeeping adds what its monotonic clock says, once a turn. A job that ends
 * and an offer that comes are stamped in the catalog with the time as it stood at the last turn.
 *
 * Stored as: docs/home.md. */
#include "store/database/connection.h"

enum { ALIVE_TIME_STEP_S = 60 }; /* of a turn at most: a stamp is so much too early at most */

/* seconds: since the last turn, 0 to ALIVE_TIME_STEP_S. out_seconds: the home's time with them.
 * Errors: CORRUPT the home's own row is gone; IO. */
MUST_CHECK Error *alive_time_add(Connection *catalog, double seconds, double *out_seconds);
/* As it stood at the daemon's last turn. Errors: the same. */
MUST_CHECK Error *alive_time_read(Connection *catalog, double *out_seconds);
