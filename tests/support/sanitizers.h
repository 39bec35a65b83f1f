#pragma once
/* Which sanitizer a test is built with, as clang and gcc say it: for tests that do less then. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define TEST_WITH_THREAD_SANITIZER
#endif
#if __has_feature(address_sanitizer)
#define TEST_WITH_ADDRESS_SANITIZER
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define TEST_WITH_THREAD_SANITIZER
#endif
#ifdef __SANITIZE_ADDRESS__
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
