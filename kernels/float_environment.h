#pragma once
/* The floating-point environment that every launch needs: round to nearest, denormals kept, no
 * traps. A thread of an embedding program may come with another one, which would change bits. */
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
