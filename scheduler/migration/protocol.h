#pragma once
/* The version of the protocol between nodes. Each node says which versions it speaks; the highest
 * that both speak is used. Called by node_hello.c and arrival_service.c. Pure: no state. */
#include <stdint.h>

#include "base/error.h"

enum { MIGRATION_PROTOCOL_MIN = 1, MIGRATION_PROTOCOL_MAX = 1 };

/* Errors: INVALID the numbers are no range; UNSUPPORTED there is no version that both speak. */
MUST_CHECK Error *protocol_negotiate(int64_t peer_min, int64_t peer_max, int64_t *out_version);
