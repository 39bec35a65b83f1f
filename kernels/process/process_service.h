#pragma once
/* The worker's end of one channel: takes commands and runs them on the device, one after the other,
 * on a thread of its own. Called by process_server.c.
 *
 * When a posted command fails, the launches and copies after it are skipped, until a call that
 * waits for the stream reports the error. */
#include <pthread.h>

#include "kernels/process/process_handles.h"
#include "kernels/process/process_memory.h"

/* The state that all channels share. */
typedef struct ProcessWork {
    Device *device;
    ProcessHandles *handles;
    atomic_bool ending;    /* the parent has ended */
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t freed;
    uint64_t frees; /* number of frees that were run */
} ProcessWork;

typedef struct ProcessService ProcessService;

MUST_CHECK Error *process_service_create(
    ProcessWork *work, ProcessChannelShared *shared, uint64_t spin_ns, ProcessService **out);
/* Runs until the parent has ended (NULL) or writes invalid bytes: CORRUPT. */
MUST_CHECK Error *process_service_run(ProcessService *service);
/* Answers the first call with an error, when there is no thread for the channel. Consumes the
 * error. */
void process_service_refuse(ProcessService *service, Error *owned_error);
/* Makes the channel's kernels follow its stop. Threads: any. */
void process_service_look(ProcessService *service);
/* Destroys the channel's stream. */
void process_service_release(ProcessService *service);
DEFINE_OWN(ProcessService, process_service_release);
