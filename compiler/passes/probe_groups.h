#pragma once
/* Dimensions of several values that change together when values are joined. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { PROBE_WORLDS = 5 };

typedef struct ProbeSymbol {
    int64_t sizes[PROBE_WORLDS];
} ProbeSymbol;

/* Pairs of a dimension's sizes (so far, and of the value joined) and what they became; of one call
 * or branch. */
typedef struct ProbeGroup {
    ProbeSymbol before, other, after;
} ProbeGroup;

typedef struct ProbeGroups {
    ProbeGroup *items;
    size_t count, capacity;
    uint32_t *table; /* 1 + index in items */
    size_t table_size;
} ProbeGroups;

void probe_groups_deinit(ProbeGroups *groups);

/* The group of the pair (before, other); made where it is new, then with `after` unset. */
MUST_CHECK Error *probe_groups_find(
    ProbeGroups *groups, const ProbeGroup *pair, ProbeGroup **out_group, bool *out_found);
/* Whether another group already stays what it was before. */
bool probe_groups_has_kept(const ProbeGroups *groups, const ProbeSymbol *before);
