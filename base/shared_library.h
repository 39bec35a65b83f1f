#pragma once
/* Shared libraries that are opened when they are first needed: loading one with all that it needs
 * takes longer than many a short process runs. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A function by its name, and where its pointer is in the caller's table. */
typedef struct SharedLibraryFunction {
    const char *name;
    size_t offset;
} SharedLibraryFunction;

/* Fills `table`; the library stays until the process ends.
 *
 * file:   a path, or a name as the loader searches for it
 * Errors: UNSUPPORTED it is not on this machine, or lacks a function */
MUST_CHECK Error *shared_library_open(
    const char *file, const SharedLibraryFunction *functions, size_t count, void *table);

/* From here on, where the library that has `inside` calls the function `name` of another library,
 * it calls `replacement`. What other libraries call stays. Before the library is used by a second
 * thread.
 *
 * out_previous: what it called before
 * Errors: UNSUPPORTED it calls no such function, or not in a way that can be changed */
MUST_CHECK Error *shared_library_redirect(
    const void *inside, const char *name, const void *replacement, void **out_previous);

/* Whether a library of the process is open already; a static variable, SHARED_LIBRARY_CLOSED. */
typedef struct SharedLibraryOnce {
    pthread_mutex_t mutex; /* guards opening */
    atomic_bool is_open;
} SharedLibraryOnce;
#define SHARED_LIBRARY_CLOSED                                                                      \
    { PTHREAD_MUTEX_INITIALIZER, false }

/* Calls `open` (shared_library_open and what the library wants first) until it succeeded once. From
 * any thread; what `open` wrote is seen by every caller.
 *
 * Errors: those of `open`, which the next call tries again */
MUST_CHECK Error *shared_library_open_once(SharedLibraryOnce *once, Error *(*open)(void));

enum { SHARED_LIBRARY_BUILD_SIZE = 65 };
/* What the linker wrote into a library's file to tell it from every other build, in hexadecimal;
 * the file is read and not loaded. Empty where it has none, or is no 64-bit ELF file. The note is
 * NT_GNU_BUILD_ID of the System V ABI's note sections.
 *
 * Errors: IO it can't be read. */
MUST_CHECK Error *shared_library_read_build(const char *path, char out[SHARED_LIBRARY_BUILD_SIZE]);
