#pragma once
/* Tells which sanitizers the build has, for clang and gcc: 0 or 1. Pure: constants only. */
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
