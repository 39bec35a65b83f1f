#include "scheduler/control/state/control_shared.h"

void control_shared_init(ControlShared *shared) {
    (void)pthread_mutex_init(&shared->status_mutex, NULL);
}

void control_shared_deinit(ControlShared *shared) {
    error_free(shared->failure);
    (void)pthread_mutex_destroy(&shared->status_mutex);
}

void control_lock(const Control *control) {
    (void)pthread_mutex_lock(&control->shared->status_mutex);
}

void control_unlock(const Control *control) {
    (void)pthread_mutex_unlock(&control->shared->status_mutex);
}

void control_fail(Control *control, Error *owned_error) {
    error_free(control_life_step(&control->life, CONTROL_LIFE_EVENT_FAIL)); /* never refused */
    control_lock(control);
    if (control->shared->failure)
        error_free(owned_error); /* the first one says what happened */
    else
        control->shared->failure = owned_error;
    control_unlock(control);
}

Error *control_check(Control *control) {
    control_lock(control);
    Error *error = error_copy(control->shared->failure);
    control_unlock(control);
    return error;
}

Error *control_post_checked(Control *control, Message *message) {
    control_lock(control);
    Error *error = error_copy(control->shared->failure);
    if (!error) control_post(control, message);
    control_unlock(control);
    return error;
}

Error *control_leave_checked(Control *control, Message *message) {
    const ControlMailbox *mailbox = &control->ports.mailbox;
    if (!mailbox->leave) return control_post_checked(control, message);
    control_lock(control);
    Error *error = error_copy(control->shared->failure);
    if (!error) mailbox->leave(mailbox->self, message);
    control_unlock(control);
    return error;
}
