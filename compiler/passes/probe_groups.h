#pragma once
/* Dimensions of several values that change together when values are joined. Caller: probe.c.
 * Threads: one at a time per set of groups. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { PROBE_WORLDS = 5 };

typedef struct ProbeSymbol {
    int64_t sizes[PROBE_WORLDS];
} ProbeSymbol;

/* A pair of a dimension's sizes (so far, and of the joined value) and the resulting symbol; of one
 * call or branch. */
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

/* Finds the group of the pair (before, other), or makes it with `after` unset. */
MUST_CHECK Error *probe_groups_find(
    ProbeGroups *groups, const ProbeGroup *pair, ProbeGroup **out_group, bool *out_found);
/* Returns whether another group already keeps this dimension unchanged. */
bool probe_groups_has_kept(const ProbeGroups *groups, const ProbeSymbol *before);
