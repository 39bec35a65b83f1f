#pragma once
/* Chooses the device of a waiting job and brings the job there step by step: room, weights, state,
 * ready. Called by the other files of policy/; no state but the Policy that is passed.
 *
 * A job that comes into the pool is offered to an idle device that has its weights, then to the
 * fastest idle one, then (if the job is of a higher class) to one that runs a lower class. If there
 * is none the job stays in the pool, and a device that ends a slice takes the first job by turn. A
 * device with nothing to run takes an execution from the device where most wait, if the taking
 * device has room for the execution. */
#include "scheduler/policy/policy_state.h"

/* Looks for a device that should consider the job, which waits in the pool or before its demanded
 * device. */
MUST_CHECK Error *placement_offer(Policy *policy, Job *job, bool *out_found);
/* Puts the seats of all tenants that quota_unpark noted back into their queues, and does the same
 * for their jobs. */
MUST_CHECK Error *placement_offer_unparked(Policy *policy);
/* Takes jobs of the class that come before every job that is ready on the device. */
MUST_CHECK Error *placement_pull(Policy *policy, Device *device, PolicyClass class_, bool owed);
/* While the device is busy: begins to bring in the next job if that needs a load or a move. */
MUST_CHECK Error *placement_prefetch(Policy *policy, Device *device);
/* Takes each job on its way to the device one step further where possible. */
MUST_CHECK Error *placement_advance(Policy *policy, Device *device);
/* Takes an execution from the most crowded device for a device that has nothing to run. */
MUST_CHECK Error *placement_steal(Policy *policy, Device *device);
/* Marks an execution on its device as ready to run. fresh: the execution came from elsewhere, and
 * so may stop a slice of a lower class. */
MUST_CHECK Error *placement_ready(Policy *policy, Job *job, bool fresh);
/* Ends the job's placement: the job has no device and no memory there any more, and is in no
 * queue. */
void placement_leave(Policy *policy, Job *job);
/* Handle the events of the same names. */
MUST_CHECK Error *placement_moved_in(Policy *policy, Job *job, bool worked);
MUST_CHECK Error *placement_moved_out(Policy *policy, Job *job, bool worked);
/* Handles a failed load of weights: jobs that wait for the weights are placed elsewhere, or
 * fail. */
MUST_CHECK Error *placement_load_failed(Policy *policy, Replica *replica);
