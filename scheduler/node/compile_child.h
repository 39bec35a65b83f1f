#pragma once
/* Compiles an uploaded model in a child process that can read and write one folder, opens no
 * connection, and has limits on memory, time and files. A fault of the child is only an error here.
 * Called by route_models.c, on handler threads. */
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

typedef struct CompileChild {
    const char *compiler;  /* the layover binary */
    const char *folder;    /* the child's working folder; it has nothing else of the home */
    const char *source;    /* a file in the folder; also the model's name in messages */
    const char *output;    /* the executable file that the child makes in the folder */
    const char *format;    /* onnx, lva; NULL: found by the content */
    const char *precision; /* NULL: fp32 */
    uint64_t memory_bytes; /* of address space; 0: COMPILE_CHILD_MEMORY_BYTES */
    uint64_t data_bytes;   /* writable part of memory_bytes; 0: no limit */
    uint64_t file_bytes;   /* of the output; 0: no limit */
    uint32_t limit_s;      /* wall clock; processor time has the same limit for each of two
                            * cores; 0: 600 */
    /* NULL, or receives the compiler's warnings about a model that it compiled, as lines without
     * control characters, appended to the text. */
    TextBuilder *warnings;
} CompileChild;

#define COMPILE_CHILD_MEMORY_BYTES (UINT64_C(32) << 30)
enum {
    COMPILE_CHILD_LIMIT_S = 600,
    COMPILE_CHILD_MESSAGE_MAX = 8192,
    COMPILE_CHILD_RESULT_MAX = 4 << 20, /* bytes of the JSON that the child prints at its end */
    COMPILE_CHILD_WARNINGS_MAX = 100,
    COMPILE_CHILD_WARNING_SIZE = 1024, /* of one warning; longer ones are cut */
};

/* Blocks: until the child has ended. Errors: the child's error under its code; FAILED the child was
 * ended by a limit, or crashed; IO it could not be started. */
MUST_CHECK Error *compile_child_run(const CompileChild *child);
