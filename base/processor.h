#pragma once
/* What instructions the processor has and the system lets be used, as the C library found out when
 * the process began: a virtual machine answers a question to the processor itself in 4 us, and
 * libgcc asks a dozen of them. */
#include <stdbool.h>

#if defined(__x86_64__)
#include <sys/platform/x86.h>
/* feature: its name in glibc's manual, "X86"; AVX2, AVX512F. */
#define PROCESSOR_HAS(feature) (CPU_FEATURE_ACTIVE(feature) != 0)
#else
#define PROCESSOR_HAS(feature) false
#endif
