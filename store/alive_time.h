#pragma once
/* How long a daemon was seen at work in this home, over all its processes. The retention of
 * finished jobs counts this time: a calendar that is set days ahead, or a machine that was off,
 * removes nothing.
 *
 * The daemon's housekeeping adds what its monotonic clock says, once a turn. A job that ends is
 * stamped in the catalog with the time as it stood at the last turn.
 *
 * Stored as: docs/formats.md, home and jobs. */
#include "store/connection.h"

enum { ALIVE_TIME_STEP_S = 60 }; /* of a turn at most: a stamp is so much too early at most */

/* seconds: since the last turn, 0 to ALIVE_TIME_STEP_S. out_seconds: the home's time with them.
 * Errors: CORRUPT the home's own row is gone; IO. */
MUST_CHECK Error *alive_time_add(Connection *catalog, double seconds, double *out_seconds);
