#pragma once
/* The worker's end of one channel: takes commands and runs them on the device, one after the other,
 * on a thread of its own.
 *
 * A posted command that fails takes the launches and copies behind it along, until a call that
 * waits for the stream tells why. */
#include <pthread.h>

#include "kernels/process/process_handles.h"
#include "kernels/process/process_memory.h"

/* What all channels share. */
typedef struct ProcessWork {
    Device *device;
    ProcessHandles *handles;
    atomic_bool ending;    /* the parent is no more */
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t freed;
    uint64_t frees; /* that were run */
} ProcessWork;

typedef struct ProcessService ProcessService;

MUST_CHECK Error *process_service_create(
    ProcessWork *work, ProcessChannelShared *shared, uint64_t spin_ns, ProcessService **out);
/* Until the parent is gone (NULL) or writes what makes no sense: CORRUPT. */
MUST_CHECK Error *process_service_run(ProcessService *service);
/* Answers the first call, which there is no thread for. Consumes the error. */
void process_service_refuse(ProcessService *service, Error *owned_error);
/* Its kernels do what the channel's stop says now. Threads: any. */
void process_service_look(ProcessService *service);
/* Destroys its stream. */
void process_service_release(ProcessService *service);
DEFINE_OWN(ProcessService, process_service_release);
