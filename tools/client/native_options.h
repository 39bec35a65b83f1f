#pragma once
/* The options of native code that verbs share. Callers: command_serve.c, run_machine.c. Threads:
 * the main thread. */
#include "tools/client/command.h"

/* Options of a verb that runs models itself. */
#define NATIVE_PRELOAD_OPTION                                                                      \
    {                                                                                              \
        "native-preload", "LIB.so", true,                                                          \
            "a library that native code needs, such as TVM's libtvm_ffi.so; repeatable"            \
    }

/* Joins the paths of --native-preload by ':', as absolute ones. *out: memory_free; NULL: none were
 * given. Errors: NOT_FOUND there is no such file; USAGE a path that contains ':'. */
MUST_CHECK Error *native_options_read_preload(const CommandContext *context, char **out);
