#pragma once
/* The suite inside cmocka: one check on one device. */
#include "tests/conformance/conformance_suite.h"
#include "tests/support/test_support.h"

/* Prints each failure, then fails the test if there was one, or if nothing was checked. */
void suite_test(const char *spec, const char *check_name);

/* What a device computes of every row that has a reference, with every element type, as digests. A
 * device whose values were checked lends its digests to devices that must have its bits: the
 * reference is computed once. */
typedef struct SuiteBits {
    const char *spec; /* of the device that computed them; borrowed */
    uint64_t *hashes; /* a row's DTYPE_COUNT behind those of the row before it; 0: the device
                         refuses the call */
} SuiteBits;

/* The caller frees it with suite_bits_deinit. */
void suite_bits_take(const char *spec, SuiteBits *out);
void suite_bits_deinit(SuiteBits *bits);
/* Fails the test at the first row of which the device makes other bits. */
void suite_bits_test(const SuiteBits *bits, const char *spec);
