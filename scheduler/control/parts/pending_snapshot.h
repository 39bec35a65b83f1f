#pragma once
/* A snapshot of a job that is to become a checkpoint, with the place of the memory it refers to. It
 * waits in JobPending and moves as a whole into a StoreCommit, and back when the commit fails. On
 * the control thread; while a commit is under way the store reads its own copy. */
#include "scheduler/executor/job_run.h"

/* Of where: host memory, which is never lost. */
#define PENDING_SNAPSHOT_IN_HOST UINT32_MAX

/* Zero: there is none. */
typedef struct PendingSnapshot {
    uint32_t where;    /* 0: there is none; 1 + a device; PENDING_SNAPSHOT_IN_HOST */
    uint64_t taken_ns; /* when the snapshot was taken */
    JobSnapshot state;
} PendingSnapshot;

static inline bool pending_snapshot_is_there(const PendingSnapshot *snapshot) {
    return snapshot->where != 0;
}

/* True: the snapshot refers to the memory of a device. */
static inline bool pending_snapshot_is_on_device(const PendingSnapshot *snapshot) {
    return snapshot->where != 0 && snapshot->where != PENDING_SNAPSHOT_IN_HOST;
}

/* Of a snapshot that is on a device. */
static inline uint32_t pending_snapshot_device(const PendingSnapshot *snapshot) {
    return snapshot->where - 1;
}

static inline void pending_snapshot_deinit(PendingSnapshot *snapshot) {
    if (pending_snapshot_is_there(snapshot)) job_snapshot_deinit(&snapshot->state);
    *snapshot = (PendingSnapshot){0};
}
