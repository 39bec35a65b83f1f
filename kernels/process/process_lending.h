#pragma once
/* The channels of one worker process: lent to streams for their life, to calls without a stream for
 * a moment. The one that came back last goes first: its thread may still be awake. Threads: any. */
#include "kernels/process/process_channel.h"

typedef struct ProcessLending ProcessLending;

/* socket: where the worker is told of each channel's first use; borrowed, as is the rest. */
MUST_CHECK Error *process_lending_create(
    ProcessPeer *peer, ProcessShared *shared, int socket, uint64_t spin_ns, ProcessLending **out);
void process_lending_release(ProcessLending *lending); /* everything came back */
DEFINE_OWN(ProcessLending, process_lending_release);
/* Some channels stay for calls, which wait for one another. Errors: EXHAUSTED too many streams;
 * OUT_OF_MEMORY the worker gets no thread; DEVICE_LOST. */
MUST_CHECK Error *process_lending_borrow(
    ProcessLending *lending, bool for_stream, ProcessChannel **out);
void process_lending_return(ProcessLending *lending, ProcessChannel *channel);
/* The worker is gone: whoever waits for it looks again. */
void process_lending_wake(ProcessLending *lending);
