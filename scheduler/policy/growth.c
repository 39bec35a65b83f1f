#include "scheduler/policy/growth.h"

#include "scheduler/policy/device_index.h"
#include "scheduler/policy/eviction.h"
#include "scheduler/policy/placement.h"
#include "scheduler/policy/quota.h"

Error *growth_grant(Policy *policy, Device *device) {
    while (device->growing_count) {
        Room room;
        Job *job = eviction_first_growing(device);
        if (!job) break;
        Tenant *tenant = job->account->tenant;
        if (quota_has_device_bytes(tenant, job->grow_bytes)) {
            TRY(eviction_make_room(policy, device, job, job->grow_bytes, NULL, ROOM_BEFORE, &room));
            if (room == ROOM_COMING) return NULL;
        } else
            room = ROOM_NONE;
        if (room == ROOM_NONE && job->move_failed) { /* the execution has no place to move to */
            device_index_add_stuck(policy, device);
            return NULL;
        }
        if (room == ROOM_NONE) {
            TRY(eviction_move_out(policy, job, false));
            continue;
        }
        device->growing_count--;
        job->bytes += job->grow_bytes;
        device->used_bytes += job->grow_bytes;
        tenant->used.device_bytes += job->grow_bytes;
        job->grow_bytes = 0;
        TRY(policy_act(policy, (PolicyAction){.kind = POLICY_ACTION_GRANT,
                                   .job = job->key.low,
                                   .device = device->key.low,
                                   .bytes = job->bytes}));
        TRY(placement_ready(policy, job, false));
    }
    return NULL;
}
