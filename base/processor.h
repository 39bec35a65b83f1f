#pragma once
/* Tells which instructions the processor has and the system enables. Uses what the C library found
 * out at the start of the process, since a virtual machine answers each CPUID in 4 us, and libgcc
 * asks a dozen times. Callers: digests, kernels/cpu, serialize/chunk. Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <sys/platform/x86.h>

/* Like glibc's x86_cpu_active, which shifts a sign bit for features like AVX512VL. */
static inline bool processor_has_feature(uint32_t index) {
    enum { WORD_BITS = 32, LEAF_BITS = 4 * WORD_BITS };
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(index / LEAF_BITS);
    const uint32_t word = leaf->active_array[index % LEAF_BITS / WORD_BITS];
    return word >> index % WORD_BITS & 1;
}

/* feature: its name in glibc's manual, "X86"; AVX2, AVX512F. */
#define PROCESSOR_HAS(feature) processor_has_feature(x86_cpu_##feature)
#else
#define PROCESSOR_HAS(feature) false
#endif
