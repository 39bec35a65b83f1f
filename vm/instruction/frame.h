#pragma once
/* A frame: where one call stands. Plain data: no host pointer, so that it can be written to a file
 * as it is. */
#include <stdint.h>

typedef struct Frame {
    uint32_t function;        /* index in the executable */
    uint32_t pc;              /* instruction to run next; for callers: the call it waits at */
    uint32_t register_base;   /* of its registers in the execution's register file */
    uint32_t return_register; /* of the caller; REGISTER_NONE drops the result */
} Frame;
