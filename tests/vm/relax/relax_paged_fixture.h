#pragma once
/* Small paged caches for tests. */
#include "tests/vm/relax/relax_case_runner.h"
#include "vm/relax/relax_paged.h"

/* One layer, 2 query heads, 1 kv head of size 2, pages of 2 positions, 3 sequences, 16 positions.
 */
PagedConfig paged_config(void);
Paged *paged_fixture(const PagedConfig *config, PagedKind kind);
/* A call with pools of the cpu. */
PackedCall *paged_call(void);
/* Writes a position's key and value (of kind MLA the latent row), both these two numbers. */
void paged_put(Paged *paged, int32_t row, float first, float second);
/* The first number of a row's key. */
float paged_peek(const Paged *paged, int32_t row);
/* A sequence of that many positions, whose rows hold numbers. */
void paged_fill(Paged *paged, int64_t number, int64_t count);
/* The cache as a value, which owns it. */
Value paged_value(Paged *owned_paged);
