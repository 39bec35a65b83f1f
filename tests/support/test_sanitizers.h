#pragma once
/* For tests that do less with a sanitizer. */
#include "base/sanitizers.h"

#if BUILT_WITH_THREAD_SANITIZER
#define TEST_WITH_THREAD_SANITIZER
#endif
#if BUILT_WITH_ADDRESS_SANITIZER
#define TEST_WITH_ADDRESS_SANITIZER
#endif

/* First in a test: there is one thread in it, nothing for the thread sanitizer to find. */
#ifdef TEST_WITH_THREAD_SANITIZER
#define TEST_OF_ONE_THREAD() skip()
#else
#define TEST_OF_ONE_THREAD() (void)0
#endif

/* First in a test: another makes the same calls under the address sanitizer, or what this one runs
 * is not instrumented. */
#ifdef TEST_WITH_ADDRESS_SANITIZER
#define TEST_OF_RESULTS() skip()
#else
#define TEST_OF_RESULTS() (void)0
#endif
