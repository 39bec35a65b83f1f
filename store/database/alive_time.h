#pragma once
/* The home's time: how long daemons have been at work in this home, over all processes. The
 * retention of finished jobs, offers of other nodes and the results of verifications count this
 * time, so that a calendar set days ahead or a machine that was off removes nothing.
 *
 * The daemon's housekeeping thread adds the time of its monotonic clock once a turn, in catalog
 * work. Jobs that end and offers that arrive are stamped with the home's time of the last turn.
 *
 * Stored as: docs/home.md. */
#include "store/database/connection.h"

enum { ALIVE_TIME_STEP_S = 60 }; /* upper bound on a turn; a stamp is at most so much too early */

/* Adds time. seconds: since the last turn, 0 to ALIVE_TIME_STEP_S. out_seconds: the new time.
 * Errors: CORRUPT the home's own row is gone; IO. */
MUST_CHECK Error *alive_time_add(Connection *catalog, double seconds, double *out_seconds);
/* Reads the home's time of the daemon's last turn. Errors: as alive_time_add. */
MUST_CHECK Error *alive_time_read(Connection *catalog, double *out_seconds);
