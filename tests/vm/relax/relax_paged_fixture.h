#pragma once
/* Small paged caches for tests. */
#include "tests/vm/relax/relax_case_runner.h"
#include "vm/relax/relax_paged.h"

/* One layer, 2 query heads, 1 kv head of size 2, pages of 2 positions, 3 sequences, 16 positions.
 */
PagedConfig paged_config(void);
Paged *paged_fixture(const PagedConfig *config, PagedKind kind);
/* A sequence of that many positions, whose rows hold numbers. */
void paged_fill(Paged *paged, int64_t number, int64_t count);
/* The cache as a value, which owns it. */
Value paged_value(Paged *owned_paged);
