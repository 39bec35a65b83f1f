#pragma once
/* A frame: the position of one call. Plain data without host pointers, so it can be written to a
 * file unchanged. Part of an execution; touched on the thread that runs the execution. */
#include <stdint.h>

typedef struct Frame {
    uint32_t function;        /* index in the executable */
    uint32_t pc;              /* instruction to run next; for callers: the call that the frame
                               * waits in */
    uint32_t register_base;   /* of its registers in the execution's register file */
    uint32_t return_register; /* of the caller; REGISTER_NONE drops the result */
} Frame;
