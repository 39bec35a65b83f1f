#pragma once
/* Compiling what somebody sent: in a child process that can read and write one folder, open no
 * connection, and has limits on memory, time and files. Its failure is an error here, never more.
 */
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

typedef struct CompileChild {
    const char *compiler;  /* the layover binary */
    const char *folder;    /* where it works; nothing else of the home is in it */
    const char *source;    /* a file in it, and what messages call the model */
    const char *output;    /* the executable file that it makes in it */
    const char *format;    /* onnx, lva; NULL: found out */
    const char *precision; /* NULL: fp32 */
    uint64_t memory_bytes; /* of address space; 0: COMPILE_CHILD_MEMORY_BYTES */
    uint64_t data_bytes;   /* of it what can be written to; 0: no limit */
    uint64_t file_bytes;   /* of the output; 0: no limit */
    uint32_t limit_s;      /* on the clock, and of processor time for each of two cores; 0: 600 */
    /* NULL, or what the compiler has to say of a model that it compiled, as lines without control
     * characters: added to what is there. */
    TextBuilder *warnings;
} CompileChild;

#define COMPILE_CHILD_MEMORY_BYTES (UINT64_C(32) << 30)
enum {
    COMPILE_CHILD_LIMIT_S = 600,
    COMPILE_CHILD_MESSAGE_MAX = 8192,
    COMPILE_CHILD_RESULT_MAX = 4 << 20, /* bytes of the JSON that it prints at its end */
    COMPILE_CHILD_WARNINGS_MAX = 100,
    COMPILE_CHILD_WARNING_SIZE = 1024, /* of one; what is longer is cut */
};

/* Blocks: until the child has ended.
 * Errors: what the child said, under its code; FAILED it was ended by a limit, or broke; IO it
 *         could not be started. */
MUST_CHECK Error *compile_child_run(const CompileChild *child);
