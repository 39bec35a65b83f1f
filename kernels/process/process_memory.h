#pragma once
/* The memory that a daemon and a worker process share, and the beginning of their communication.
 * Mapped by process_device.c and process_server.c; each channel is used by one thread on either
 * side.
 *
 *      offset 0      ProcessShared.magic … spin_ns
 *      PAGE          channels[0]: ring of commands ->, ring of answers <-
 *      …             channels[PROCESS_CHANNELS_MAX - 1]
 *
 * A channel belongs to a stream from its creation to its end; calls without a stream borrow an idle
 * one. The worker serves each channel with a thread of its own, so no stream waits for another.
 * Pages that no record has touched take no memory.
 *
 * There is also a socket of packets: ProcessHello to the worker, a welcome back, then the index of
 * each channel at its first use, and again whenever its `stop` has changed. When the socket is
 * closed the worker ends. */
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
    _Atomic uint32_t stop; /* KERNEL_STOP_* of the execution that the channel's launches belong
                            * to */
} ProcessChannelShared;

typedef struct ProcessShared {
    _Alignas(PROCESS_PAGE) uint64_t magic;
    _Alignas(PROCESS_PAGE) ProcessChannelShared channels[PROCESS_CHANNELS_MAX];
} ProcessShared;

/* Bits of the welcome: the abilities of the device. */
enum { PROCESS_HAS_PACKING = 1, PROCESS_HAS_QUEUES = 2, PROCESS_HAS_STOPS = 4 };

/* The first packet. The worker compares every member with its own values. */
typedef struct ProcessHello {
    uint64_t magic;
    uint32_t version;       /* PROCESS_WIRE_VERSION */
    uint32_t channel_count; /* PROCESS_CHANNELS_MAX */
    uint64_t bytes;         /* sizeof(ProcessShared) */
    uint64_t spin_ns;
} ProcessHello;
