#pragma once
/* The state of a worker's service for one channel, shared by the files process_service*.c. On the
 * channel's thread, but for stop. */
#include "base/bytes.h"
#include "kernels/device/kernel_stop.h"
#include "kernels/process/process_service.h"
#include "kernels/process/process_wire.h"

struct ProcessService {
    ProcessWork *work;
    Ring commands, answers;
    DeviceStream *stream; /* NULL: none, or a device without streams */
    Error *error;         /* of a posted command; not reported yet */
    uint8_t *inbox;       /* pieces that preceded a call */
    size_t inbox_size, inbox_capacity;
    Error *inbox_error; /* there was no memory for the pieces */
    WireLaunch launch;
    KernelStop stop; /* follows the parent's, through wanted */
    const _Atomic uint32_t *wanted;
    WireRequest request;
};

/* The first error on the stream before a call that waits for the stream; reported once. */
static inline Error *process_service_tell(ProcessService *service) { return TAKE(service->error); }

/* Turns a broken ring into an error. Returns NULL when the parent has ended, too: no reader is left
 * for an answer, and the loop ends by itself. */
MUST_CHECK Error *process_service_check(RingState state);

/* The function of each call: in has the call's bytes; out receives the answer, if the call has
 * one. */
#define CALL(number, name, function, answer)                                                       \
    MUST_CHECK Error *process_serve_##function(                                                    \
        ProcessService *service, ByteReader *in, ByteWriter *out);
#include "kernels/process/process_calls.def"
#undef CALL
