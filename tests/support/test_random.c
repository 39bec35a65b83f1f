#include "tests/support/test_random.h"

#include <stdlib.h>

uint64_t test_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

TestSeeds test_seeds(uint64_t count) {
    const char *one = getenv("LAYOVER_TEST_SEED"), *many = getenv("LAYOVER_TEST_SEEDS");
    const uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    if (one) count = 1;
    if (many) count = strtoull(many, NULL, 10);
    return (TestSeeds){first, first + count};
}
