#pragma once
/* The suite inside cmocka: one check on one device. */
#include "tests/conformance/conformance_suite.h"
#include "tests/support/test_support.h"

/* Prints each failure, then fails the test if there was one, or if nothing was checked. */
void suite_test(const char *spec, const char *check_name);
