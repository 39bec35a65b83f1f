#pragma once
/* How a worker serves the calls of one channel: shared by the files that do. */
#include "base/bytes.h"
#include "kernels/device/kernel_stop.h"
#include "kernels/process/process_service.h"
#include "kernels/process/process_wire.h"

struct ProcessService {
    ProcessWork *work;
    Ring commands, answers;
    DeviceStream *stream; /* NULL: none, or a device without */
    Error *error;         /* of a posted command; nobody was told yet */
    uint8_t *inbox;       /* pieces that came before a call */
    size_t inbox_size, inbox_capacity;
    Error *inbox_error; /* there was no memory for them */
    WireLaunch launch;
    KernelStop stop; /* follows the parent's, through wanted */
    const _Atomic uint32_t *wanted;
    WireRequest request;
};

/* What went wrong on the stream before a call that waits for it; told once. */
static inline Error *process_service_tell(ProcessService *service) { return TAKE(service->error); }

/* NULL also when the parent is gone: nobody is there to be answered, and the loop ends by itself.
 */
MUST_CHECK Error *process_service_check(RingState state);

/* Each call's function: in is what it came with; out is the answer, where there is one. */
#define CALL(number, name, function, answer)                                                       \
    MUST_CHECK Error *process_serve_##function(                                                    \
        ProcessService *service, ByteReader *in, ByteWriter *out);
#include "kernels/process/process_calls.def"
#undef CALL
