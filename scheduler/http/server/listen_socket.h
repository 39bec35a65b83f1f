#pragma once
/* The sockets that the daemon listens on: a unix socket for this machine's user, TCP for others.
 * Called by http_server.c, on the thread that opens or closes the server. No state. */
#include <stdint.h>

#include "base/error.h"

enum { LISTEN_ADDRESS_SIZE = 300 };

/* Opens a socket file of mode 0600. A socket file at which no process answers is replaced. Errors:
 * REFUSED a process answers there, or the file is no socket; INVALID the path is too long; IO. */
MUST_CHECK Error *listen_socket_open_unix(const char *path, int *out_socket);
/* Listens at HOST:PORT or [IPV6]:PORT; port 0 takes a free one.
 *
 * out_address: with the port in use.
 * Errors:      USAGE a malformed address; INVALID no host of that name; REFUSED the address is in
 *              use or not this machine's; IO. */
MUST_CHECK Error *listen_socket_open_tcp(
    const char *address, int *out_socket, char out_address[LISTEN_ADDRESS_SIZE]);
/* Removes the socket file if it still has this inode number. */
void listen_socket_remove(const char *path, uint64_t inode);
/* The file's inode number; 0: there is none. */
uint64_t listen_socket_inode(const char *path);
