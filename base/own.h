#pragma once
/* Scope-bound ownership, used by every folder: OWN declares a variable that is released when its
 * scope ends, TAKE moves the value out. Pure: no state, any thread. */

/* DEFINE_OWN(Type, release) makes OWN(Type, name) call release(name) at the end of the scope.
 * release must accept NULL. */
#define DEFINE_OWN(Type, release)                                                                  \
    static inline void own_release_##Type(Type **pointer) {                                        \
        if (*pointer) release(*pointer);                                                           \
    }                                                                                              \
    struct own_requires_semicolon_##Type

#define OWN(Type, name) __attribute__((cleanup(own_release_##Type))) Type *name

/* Moves the value out of an owned variable, leaving NULL behind. */
#define TAKE(name)                                                                                 \
    __extension__({                                                                                \
        __typeof__(name) taken_ = (name);                                                          \
        (name) = NULL;                                                                             \
        taken_;                                                                                    \
    })

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_at, arguments_at)                                                       \
    __attribute__((format(printf, format_at, arguments_at)))
