#pragma once
/* The memory that a process shares with its native worker. Mapped by native_worker.c and
 * native_server.c.
 *
 *      offset 0         ring of commands ->, ring of answers <-
 *      NATIVE_DATA      data: the library's bytes while it is loaded; then
 *                       [kept blocks, read-only for the worker][blocks of the present call]
 *
 * Both sides map NATIVE_DATA_MAX bytes of data at once. The file grows as calls need it, by the
 * parent alone; it never shrinks, which a seal guarantees, so that no reader gets SIGBUS. A block
 * of a call has NATIVE_GUARD bytes of NATIVE_GUARD_BYTE before and behind it. */
#include "base/error.h"
#include "kernels/process/process_ring.h"

enum {
    NATIVE_PAGE = 4096,
    NATIVE_GUARD = 64,
    NATIVE_GUARD_BYTE = 0xA5,
    NATIVE_ALIGNMENT = 64, /* of blocks; what compiled kernels expect */
    NATIVE_ARGUMENTS_MAX = 1024,
};
#define NATIVE_DATA_MAX (UINT64_C(1) << 36)

typedef struct NativeRings {
    RingShared commands, answers;
} NativeRings;
#define NATIVE_DATA ((sizeof(NativeRings) + NATIVE_PAGE - 1) / NATIVE_PAGE * NATIVE_PAGE)

/* Kinds of the records in the ring of commands. */
typedef enum NativeCommand {
    /* u64 place, u64 size: the library's bytes; text: libraries to load before, separated by ':' */
    NATIVE_COMMAND_LOAD = 1,
    /* u64 place, u64 size, whole pages: the worker must not write there any more; no answer */
    NATIVE_COMMAND_KEEP,
    /* text function, u32 arguments, u32 count, values: answered by the result */
    NATIVE_COMMAND_CALL,
    /* u64 place: where the tensors that the last call gave are to be put, each on a multiple of
     * NATIVE_ALIGNMENT; answered by the result */
    NATIVE_COMMAND_FETCH,
} NativeCommand;

/* Kinds of the records in the ring of answers. */
typedef enum NativeAnswer {
    NATIVE_ANSWER_DONE = 1, /* u32 count, values: one value with its fields */
    NATIVE_ANSWER_ERROR,    /* u32 code, text */
    NATIVE_ANSWER_ROOM,     /* u64: bytes of the tensors that the call gave; a fetch follows */
    NATIVE_ANSWER_LAST,     /* as ERROR; the worker is to be ended, since it kept something */
} NativeAnswer;

/* Maps the rings and all of the data of a shared file. Errors: OUT_OF_MEMORY; what was mapped
 * before is in *out_rings, for native_unmap. */
MUST_CHECK Error *native_map(int descriptor, NativeRings **out_rings, uint8_t **out_data);
/* Both may be NULL. */
void native_unmap(NativeRings *rings, uint8_t *data);
