#pragma once
/* Making room in device memory. Idle weights go first, least recently used first; then the
 * execution whose turn comes last (the youngest by share) moves to host memory, or to disk when
 * that is full. Called by the other files of policy/; no state but the Policy that is passed. */
#include "scheduler/policy/policy_state.h"

typedef enum Room {
    ROOM_NOW,    /* the room is free */
    ROOM_COMING, /* the room will be free when the moves that were asked for are done */
    ROOM_NONE,   /* no room, and nothing was asked to leave */
} Room;

typedef enum RoomRight {
    ROOM_FAR_BEFORE, /* room may be taken from executions that the job is far before */
    ROOM_BEFORE,     /* from all that come after the job */
    ROOM_OWED,       /* from any execution of another class: a floor is to be paid */
} RoomRight;

/* Whether eviction_make_room would find room, free or coming. Asks nothing to leave. */
bool eviction_finds_room(const Policy *policy, const Device *device, const Job *job, uint64_t bytes,
    const Replica *keep, RoomRight right);
/* Makes room for so many more bytes on the device. keep: weights that must stay. */
MUST_CHECK Error *eviction_make_room(Policy *policy, Device *device, const Job *job, uint64_t bytes,
    const Replica *keep, RoomRight right, Room *out_room);
/* Moves an execution out of a device (or of host memory). The job is in no queue afterwards. */
MUST_CHECK Error *eviction_move_out(Policy *policy, Job *job, bool to_disk);
/* The first by turn of the jobs that wait for more memory on the device; NULL: there is none. */
Job *eviction_first_growing(const Device *device);
/* When three quarters of host memory are in use, moves the execution that has waited there longest
 * to disk, so that the next one that has to leave a device finds room quickly. */
MUST_CHECK Error *eviction_relieve_host(Policy *policy);
/* Frees the bytes of the job in host memory. */
void eviction_leave_host(Policy *policy, Job *job);
/* Lists a job that waits in host memory as one that may be moved on to disk. */
void eviction_list_host(Policy *policy, Job *job);
/* Unlists the job: it does not wait in host memory any more and must not be moved on to disk. */
void eviction_unlist_host(Policy *policy, Job *job);
