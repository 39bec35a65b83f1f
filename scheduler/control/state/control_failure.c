#include "scheduler/control/state/control_internal.h"

void control_fail(Control *control, Error *owned_error) {
    error_free(control_life_step(&control->life, CONTROL_LIFE_EVENT_FAIL)); /* never refused */
    (void)pthread_mutex_lock(&control->status_mutex);
    if (control->fatal)
        error_free(owned_error); /* the first one says what happened */
    else
        control->fatal = owned_error;
    (void)pthread_mutex_unlock(&control->status_mutex);
}

Error *control_check(Control *control) {
    (void)pthread_mutex_lock(&control->status_mutex);
    Error *error = error_copy(control->fatal);
    (void)pthread_mutex_unlock(&control->status_mutex);
    return error;
}

Error *control_post_request(Control *control, ControlRequest *request) {
    (void)pthread_mutex_lock(&control->status_mutex);
    Error *error = error_copy(control->fatal);
    if (!error) control_post(control, &request->message);
    (void)pthread_mutex_unlock(&control->status_mutex);
    return error;
}

void control_answer_failed(Control *control) {
    control->event_count = 0;
    for (size_t i = 0; i < control->jobs.by_number.capacity; i++) {
        ControlJob *job = (ControlJob *)control->jobs.by_number.slots[i];
        if (job) control_answer_waiters(job, control->fatal);
    }
    if (control->drainer) {
        ControlRequest *drainer = control->drainer;
        control->drainer = NULL;
        control_answer(drainer, error_copy(control->fatal));
    }
}
