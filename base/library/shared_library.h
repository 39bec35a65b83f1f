#pragma once
/* Shared libraries that are opened at their first use, since loading one with its dependencies
 * takes longer than many short processes run. Callers: crypto_library.c, kernels/cpu/dnnl,
 * scheduler/http. Threads: any, unless a comment says otherwise. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A function's name, and the place of its pointer in the caller's table. */
typedef struct SharedLibraryFunction {
    const char *name;
    size_t offset;
} SharedLibraryFunction;

/* Opens a library and fills `table`; the library stays open until the process ends.
 *
 * file:   a path, or a name as the loader searches for it
 * Errors: UNSUPPORTED the machine lacks the library, or the library lacks a function */
MUST_CHECK Error *shared_library_open(
    const char *file, const SharedLibraryFunction *functions, size_t count, void *table);

/* Redirects calls: where the library that contains `inside` calls the function `name` of another
 * library, it now calls `replacement`. Other libraries keep their function. Called before a second
 * thread uses the library.
 *
 * out_previous: the function that was called before
 * Errors: UNSUPPORTED the library calls no such function, or not in a way that can be changed */
MUST_CHECK Error *shared_library_redirect(
    const void *inside, const char *name, const void *replacement, void **out_previous);

/* Whether a library of the process is open; a static variable, SHARED_LIBRARY_CLOSED. */
typedef struct SharedLibraryOnce {
    pthread_mutex_t mutex; /* guards opening */
    atomic_bool is_open;
} SharedLibraryOnce;
#define SHARED_LIBRARY_CLOSED                                                                      \
    { PTHREAD_MUTEX_INITIALIZER, false }

/* Calls `open` (shared_library_open and the library's set-up) until it has succeeded once. Every
 * caller sees what `open` wrote. Threads: any.
 *
 * Errors: those of `open`; the next call tries again */
MUST_CHECK Error *shared_library_open_once(SharedLibraryOnce *once, Error *(*open)(void));

enum { SHARED_LIBRARY_BUILD_SIZE = 65 };
/* Reads the build id that the linker wrote into a library's file, in hexadecimal, without loading
 * the library. Empty when there is none, or the file is no 64-bit ELF file. The note is
 * NT_GNU_BUILD_ID of the System V ABI's note sections.
 *
 * Errors: IO the file cannot be read. */
MUST_CHECK Error *shared_library_read_build(const char *path, char out[SHARED_LIBRARY_BUILD_SIZE]);
