#pragma once
/* Which device a waiting job goes to, and its way there: room, weights, state, ready.
 *
 * A job that comes into the pool is offered to a device that has its weights and is idle, then to
 * the fastest idle one, then (if it is of a higher class) to one that runs a lower class. Where
 * there is none it stays in the pool, and a device that ends a slice takes the first by turn. A
 * device that finds nothing takes an execution off the device where most wait. */
#include "scheduler/policy/policy_internal.h"

/* A job waits in the pool, or before its demanded device: finds a device that should look at it. */
MUST_CHECK Error *placement_offer(Policy *policy, Job *job, bool *out_found);
/* The same for all jobs of a seat that came back. */
MUST_CHECK Error *placement_offer_seat(Policy *policy, Seat *seat);
/* Takes jobs of the class that come before whatever is ready on the device. */
MUST_CHECK Error *placement_pull(Policy *policy, Device *device, PolicyClass class_, bool owed);
/* While the device is busy: begins to bring in the next job if that takes a load or a move. */
MUST_CHECK Error *placement_prefetch(Policy *policy, Device *device);
/* Jobs on their way to the device go one step on, where they can. */
MUST_CHECK Error *placement_advance(Policy *policy, Device *device);
/* The device has nothing to run: takes an execution from the most crowded one. */
MUST_CHECK Error *placement_steal(Policy *policy, Device *device);
/* The execution is on its device and could run. fresh: it comes from elsewhere, and so may stop a
 * slice of a lower class. */
MUST_CHECK Error *placement_ready(Policy *policy, Job *job, bool fresh);
/* The job has no memory on its device any more and no device; it is in no queue. */
void placement_leave(Policy *policy, Job *job);
MUST_CHECK Error *placement_moved_in(Policy *policy, Job *job, bool worked);
/* A load of weights failed: jobs that wait for them wait elsewhere, or fail. */
MUST_CHECK Error *placement_load_failed(Policy *policy, Replica *replica);
