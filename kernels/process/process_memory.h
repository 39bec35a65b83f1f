#pragma once
/* The memory that a daemon and a worker process share, and how they begin to speak.
 *
 *      offset 0      ProcessShared.magic … spin_ns
 *      PAGE          channels[0]: ring of commands ->, ring of answers <-
 *      …             channels[PROCESS_CHANNELS_MAX - 1]
 *
 * A channel belongs to a stream from its creation to its end; calls without a stream borrow one
 * that is idle. The worker serves each with a thread of its own, so nothing waits for another
 * stream. Pages that no record touched take no memory.
 *
 * Beside it there is a socket of packets: ProcessHello there, a welcome back, then the index of
 * each channel when it is first used, and again whenever its `stop` has changed. Its end is the end
 * of the worker. */
#include "kernels/process/process_ring.h"

enum {
    PROCESS_CHANNELS_MAX = 1024,
    PROCESS_PAGE = 4096,
    /* Descriptors of the worker. */
    PROCESS_SOCKET = 3,
    PROCESS_MEMORY = 4,
    PROCESS_WELCOME_MAX = 8192,
};

#define PROCESS_MAGIC UINT64_C(0x52454b524f57564c) /* "LVWORKER" */

typedef struct ProcessChannelShared {
    RingShared commands, answers;
    _Atomic uint32_t stop; /* KERNEL_STOP_*: of the execution that its launches belong to */
} ProcessChannelShared;

typedef struct ProcessShared {
    _Alignas(PROCESS_PAGE) uint64_t magic;
    _Alignas(PROCESS_PAGE) ProcessChannelShared channels[PROCESS_CHANNELS_MAX];
} ProcessShared;

/* In the welcome: what the device has. */
enum { PROCESS_HAS_PACKING = 1, PROCESS_HAS_QUEUES = 2, PROCESS_HAS_STOPS = 4 };

/* The first packet. The worker compares all of it with its own. */
typedef struct ProcessHello {
    uint64_t magic;
    uint32_t version;       /* PROCESS_WIRE_VERSION */
    uint32_t channel_count; /* PROCESS_CHANNELS_MAX */
    uint64_t bytes;         /* sizeof(ProcessShared) */
    uint64_t spin_ns;
} ProcessHello;
