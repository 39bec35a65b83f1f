#pragma once
/* The floating-point environment of every launch: round to nearest, denormals kept, no traps. A
 * thread of an embedding program may have another environment, which would change bits. Entered by
 * the interpreter, by the cpu's workers and by all threads that launch; saves the state of the
 * calling thread. */
#ifdef __x86_64__
/* The vector unit's control and status. No kernel computes with the x87 unit (long double), whose
 * environment takes 0.2 us to save, set and restore. */
typedef struct FloatEnvironment {
    unsigned saved;
} FloatEnvironment;

static inline void float_environment_enter(FloatEnvironment *out) {
    enum { AS_AT_RESET = 0x1f80 }; /* Intel SDM volume 1, section 10.2.3: all traps masked */
    out->saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(AS_AT_RESET);
}
static inline void float_environment_leave(const FloatEnvironment *environment) {
    __builtin_ia32_ldmxcsr(environment->saved);
}
#else
#include <fenv.h>

typedef struct FloatEnvironment {
    fenv_t saved;
} FloatEnvironment;

static inline void float_environment_enter(FloatEnvironment *out) {
    (void)fegetenv(&out->saved);
    (void)fesetenv(FE_DFL_ENV);
}
static inline void float_environment_leave(const FloatEnvironment *environment) {
    (void)fesetenv(&environment->saved);
}
#endif
