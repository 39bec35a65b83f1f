#pragma once
/* Dimensions of several values that change together when values are joined. */
#include "compiler/passes/probe.h"

/* The group of the pair (before, other); made where it is new, then with `after` unset. */
MUST_CHECK Error *probe_groups_find(
    ProbeGroups *groups, const ProbeGroup *pair, ProbeGroup **out_group, bool *out_found);
/* Whether another group already stays what it was before. */
bool probe_groups_has_kept(const ProbeGroups *groups, const ProbeSymbol *before);
