#pragma once
/* Where a home's daemon answers: a small file in the home, so that the command line finds it.
 *
 *   home/daemon   four lines: the daemon's pid, its socket's absolute path, its http address or
 *                 nothing, the home folder's own number in its file system
 *
 * A copied home brings the file along; by the last line it is known to be another's.
 * It is written once the daemon listens and removed before it stops. A killed daemon leaves it
 * behind: whether somebody answers decides, and the home's lock is what guards the home. */
#include "base/error.h"

MUST_CHECK Error *daemon_record_write(const char *home, const char *socket, const char *url);
void daemon_record_remove(const char *home);
/* The socket of the home's daemon, if one answers there; memory_free. NULL: none does. */
MUST_CHECK Error *daemon_record_find(const char *home, char **out_socket);
