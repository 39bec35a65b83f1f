#pragma once
/* What other threads may see of the control thread: the status mutex, and the failure that made the
 * control thread give up. Every file of the control thread locks the mutex around a field that its
 * header calls "guarded by the status mutex". */
#include <pthread.h>
#include <stdatomic.h>

#include "scheduler/control/state/control_state.h"

/* For control_shared.c alone. */
typedef struct ControlShared {
    pthread_mutex_t status_mutex;
    _Atomic uint64_t
        last_transient; /* the number of the newest transient job; of node 0, which no node is */
    Error *failure;     /* the first one; guarded by the status mutex */
} ControlShared;

void control_shared_init(ControlShared *shared);
void control_shared_deinit(ControlShared *shared);

/* Locks and unlocks the status mutex. Threads: any. */
void control_lock(const Control *control);
void control_unlock(const Control *control);

/* Makes the control thread give up: from here on the policy decides nothing, and every request that
 * waits or comes is answered with the error. Called on the control thread. */
void control_fail(Control *control, Error *owned_error);
/* Posts a message unless the control thread has given up, in which case nobody would handle the
 * message. Errors: the failure. Threads: any. */
/* The same for a sender that calls control_help right behind this. */
MUST_CHECK Error *control_leave_checked(Control *control, Message *message);
MUST_CHECK Error *control_post_checked(Control *control, Message *message);
