#pragma once
/* Damaged fixtures: what is read must be refused, or behave. Used by the fixture driver. */
#include <json-c/json.h>

#include "vm/objects/packed.h"

typedef struct MutationCounts {
    uint64_t refused, accepted;
} MutationCounts;

/* Flips one bit of the file, or each of at most flips_max of them, spread over the file, and cuts
 * it at truncations_max or all places. What is accepted is printed, written, translated and run for
 * a while. 0: none. Errors: INTERNAL a truncated file was accepted. */
MUST_CHECK Error *fixture_mutate(const uint8_t *data, size_t size, json_object *calls,
    PackedRegistry *registry, uint64_t flips_max, uint64_t truncations_max,
    MutationCounts *inout_counts);
