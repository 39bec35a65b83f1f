#pragma once
/* The names that people give to what the store has: tenants, nodes, models, aliases. */
#include "base/error.h"

/* what: names the thing in the message. Errors: INVALID the name is not text_is_name. */
MUST_CHECK Error *store_name_check(const char *what, const char *name);
