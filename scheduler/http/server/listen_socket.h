#pragma once
/* The sockets that the daemon listens on: a unix socket for this machine's user, TCP for others. */
#include <stdint.h>

#include "base/error.h"

enum { LISTEN_ADDRESS_SIZE = 300 };

/* Mode 0600. A socket file that nobody answers at any more is replaced.
 * Errors: REFUSED somebody answers there, or it is no socket; INVALID the path is too long; IO. */
MUST_CHECK Error *listen_socket_open_unix(const char *path, int *out_socket);
/* HOST:PORT, [IPV6]:PORT; port 0 takes a free one.
 *
 * out_address: with the port that was taken.
 * Errors:      USAGE it is none; INVALID no host of that name; REFUSED the address is in use or not
 * this machine's; IO. */
MUST_CHECK Error *listen_socket_open_tcp(
    const char *address, int *out_socket, char out_address[LISTEN_ADDRESS_SIZE]);
/* Removes the socket file if it is still this socket's. */
void listen_socket_remove(const char *path, uint64_t inode);
/* The file's inode number; 0: there is none. */
uint64_t listen_socket_inode(const char *path);
