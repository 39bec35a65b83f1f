#pragma once
/* The channels of one worker process, lent to streams for their life and to calls without a stream
 * for a moment. The channel that came back last is lent first, since its thread may still be awake.
 * Called by process_device.c and process_stream.c. Threads: any. */
#include "kernels/process/process_channel.h"

typedef struct ProcessLending ProcessLending;

/* socket: tells the worker of each channel's first use; borrowed, as are the other arguments. */
MUST_CHECK Error *process_lending_create(
    ProcessPeer *peer, ProcessShared *shared, int socket, uint64_t spin_ns, ProcessLending **out);
void process_lending_release(ProcessLending *lending); /* all channels must have come back */
DEFINE_OWN(ProcessLending, process_lending_release);
/* Some channels are kept for calls, which wait for one another. Errors: EXHAUSTED too many streams;
 * OUT_OF_MEMORY the worker gets no thread; DEVICE_LOST. */
MUST_CHECK Error *process_lending_borrow(
    ProcessLending *lending, bool for_stream, ProcessChannel **out);
void process_lending_return(ProcessLending *lending, ProcessChannel *channel);
/* Called when the worker has ended: waiting threads check again. */
void process_lending_wake(ProcessLending *lending);
