#pragma once
/* Making room: on a device idle weights go first, least recently used first, then the execution
 * whose turn comes last (the youngest by share) moves to host memory, or to disk when that is full.
 *
 * No deadlock by memory: an execution that waits for memory on its device waits only for moves that
 * have been asked for; where nothing more can be moved it moves out itself, and comes back with all
 * that it needs granted. What fits no device at all fails. */
#include "scheduler/policy/policy_internal.h"

typedef enum Room {
    ROOM_NOW,    /* it is free */
    ROOM_COMING, /* it will be, when what was asked to leave has left */
    ROOM_NONE,   /* nothing was asked to leave */
} Room;

typedef enum RoomRight {
    ROOM_FAR_BEFORE, /* from executions that the job is far before */
    ROOM_BEFORE,     /* from all that come after it */
    ROOM_OWED,       /* from any execution of another class: a floor is to be paid */
} RoomRight;

/* Room for so many bytes more on the device. keep: weights that must stay. */
MUST_CHECK Error *eviction_make_room(Policy *policy, Device *device, const Job *job, uint64_t bytes,
    const Replica *keep, RoomRight right, Room *out_room);
/* The execution on a device (or in host memory) moves out. It is in no queue afterwards. */
MUST_CHECK Error *eviction_move_out(Policy *policy, Job *job, bool to_disk);
/* Jobs that wait for more memory on the device get it, or move out. */
MUST_CHECK Error *eviction_grow(Policy *policy, Device *device);
/* A tenant uses less: who waits for more and cannot move is looked at again. */
void eviction_free_stuck(Policy *policy);
/* MOVED_OUT. */
MUST_CHECK Error *eviction_moved_out(Policy *policy, Job *job, bool worked);
/* The job's bytes in host memory are free again. */
void eviction_leave_host(Policy *policy, Job *job);
/* It waits in host memory: it may be moved on to disk. */
void eviction_list_host(Policy *policy, Job *job);
/* It no longer waits in host memory: do not move it on to disk. */
void eviction_unlist_host(Policy *policy, Job *job);
