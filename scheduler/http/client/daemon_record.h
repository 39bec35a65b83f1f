#pragma once
/* The address of a home's daemon in a small file of the home, so that the command line finds the
 * daemon. Written by daemon.c; read by the command line's remote.c. No state in memory; any thread.
 *
 *   home/daemon   four lines: the daemon's pid, its socket's absolute path, its http address or
 *                 nothing, the home folder's own number in its file system
 *
 * A copied home brings the file along; its last line shows that the file belongs to another home.
 * The file is written once the daemon listens and removed before the daemon stops. A killed daemon
 * leaves the file behind: only an answer at the socket proves that a daemon runs, and only the
 * home's lock guards the home. */
#include "base/error.h"

MUST_CHECK Error *daemon_record_write(const char *home, const char *socket, const char *url);
void daemon_record_remove(const char *home);
/* The socket of the home's daemon if a daemon answers there; freed by memory_free. NULL: no daemon
 * answers. */
MUST_CHECK Error *daemon_record_find(const char *home, char **out_socket);
