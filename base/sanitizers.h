#pragma once
/* Which sanitizers the build is made with, as clang and gcc say it: 0 or 1. */
#ifdef __has_feature
#define BUILT_WITH_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#define BUILT_WITH_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#ifdef __SANITIZE_ADDRESS__
#define BUILT_WITH_ADDRESS_SANITIZER 1
#else
#define BUILT_WITH_ADDRESS_SANITIZER 0
#endif
#ifdef __SANITIZE_THREAD__
#define BUILT_WITH_THREAD_SANITIZER 1
#else
#define BUILT_WITH_THREAD_SANITIZER 0
#endif
#endif
