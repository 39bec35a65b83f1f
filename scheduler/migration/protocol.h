#pragma once
/* The version of what nodes say to each other. Each says which ones it speaks; the highest that
 * both do is spoken. */
#include <stdint.h>

#include "base/error.h"

enum { MIGRATION_PROTOCOL_MIN = 1, MIGRATION_PROTOCOL_MAX = 1 };

/* Errors: INVALID that is no range; UNSUPPORTED there is no version that both speak. */
MUST_CHECK Error *protocol_negotiate(int64_t peer_min, int64_t peer_max, int64_t *out_version);
