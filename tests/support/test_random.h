#pragma once
/* Repeatable random data. */
#include <stdint.h>

/* A small generator (splitmix64): the same numbers everywhere. */
uint64_t test_random(uint64_t *state);

typedef struct TestSeeds {
    uint64_t first, end; /* end: one behind the last */
} TestSeeds;

/* The seeds of a random test: 1 to `count`. LAYOVER_TEST_SEED in the environment takes that one
 * alone, LAYOVER_TEST_SEEDS so many from the first on. */
TestSeeds test_seeds(uint64_t count);
