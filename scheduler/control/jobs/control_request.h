#pragma once
/* A request to the control thread. control_questions.c makes it on the sender's thread and posts
 * it; control_requests.c handles it on the control thread, which owns the request until
 * control_answer gives it back. */
#include <semaphore.h>

#include "scheduler/control/control.h"
#include "scheduler/node/message_queue.h"

typedef enum ControlRequestKind {
    CONTROL_SUBMIT,
    CONTROL_SUSPEND,
    CONTROL_RESUME,
    CONTROL_CANCEL,
    CONTROL_CHECKPOINT,
    CONTROL_FREEZE,
    CONTROL_RELEASE,
    CONTROL_THAW,
    CONTROL_MIGRATION_STOP,
    CONTROL_MIGRATION_COMMIT,
    CONTROL_MIGRATION_REVERT,
    CONTROL_ARRIVAL_OWN,
    CONTROL_ARRIVAL_ABORT,
    CONTROL_LOAD,
    CONTROL_QUOTAS,
    CONTROL_PLACE, /* in the queue, for one more job */
    CONTROL_EXPLAIN,
    CONTROL_DRAIN,
} ControlRequestKind;

typedef struct ControlRequest {
    Message message;
    ControlRequestKind kind;
    TenantId tenant;
    JobId job;    /* of DRAIN, its number is set to the count of unfinished jobs */
    bool created; /* of SUBMIT: false where the submission's key stands for an older job */
    const char *device;
    Submission *submission;
    ControlReceiver *receiver; /* of SUBMIT: for a transient job, whose id is `job`; NULL: a stored
                                * job */
    bool suspended;            /* of MIGRATION_REVERT and ARRIVAL_OWN: the job does not run */
    int64_t epoch;
    const char *why;
    uint64_t grace_ns;
    uint64_t asked_ns; /* when the request began to wait for a job */
    char *text;        /* of EXPLAIN: the sender's, JOB_WHY_SIZE bytes */
    Error *error;
    sem_t done;
    void (*answered)(struct ControlRequest *request); /* NULL: the sender waits for `done` */
    struct ControlRequest *next;                      /* of the requests that wait for a job */
} ControlRequest;
