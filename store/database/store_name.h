#pragma once
/* Checks the names that people give to tenants, nodes, models and aliases. Called by store/ and the
 * HTTP route of nodes. Pure: no state, any thread. */
#include "base/error.h"

/* Checks a name. what: the thing in the message. Errors: INVALID the name is not text_is_name. */
MUST_CHECK Error *store_name_check(const char *what, const char *name);
