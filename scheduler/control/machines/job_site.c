#include "scheduler/control/machines/job_site.h"

static const MachineState states[] = {
#define JOB_SITE(state, owner, run, place, turn, meaning)                                          \
    {#state, #owner " | " #run " | " #place " | " #turn, meaning},
#include "scheduler/control/machines/job_site.def"
};

static const MachineEvent events[] = {
#define JOB_SITE_EVENT(event, meaning) {#event, meaning},
#include "scheduler/control/machines/job_site.def"
};

/* Two rows of one state and event would be an initializer that is overridden: an error. */
static const uint8_t steps[JOB_SITE_STATE_COUNT][JOB_SITE_EVENT_COUNT] = {
#define JOB_SITE_STEP(from, event, to)                                                             \
    [JOB_SITE_##from][JOB_SITE_EVENT_##event] = 1 + JOB_SITE_##to,
#include "scheduler/control/machines/job_site.def"
};

const Machine job_site_machine = {
    .name = "job site",
    .table = "job_site.def",
    .meaning = "Where the execution of a job is, and who may touch it.",
#define JOB_SITE_PICTURE(line) line "\n"
    .picture =
#include "scheduler/control/machines/job_site.def"
        ,
    .columns = "owner | run | place | turn",
    .states = states,
    .events = events,
    .state_count = JOB_SITE_STATE_COUNT,
    .event_count = JOB_SITE_EVENT_COUNT,
    .steps = &steps[0][0],
};

enum { OWNER_CONTROL, OWNER_IO, OWNER_WORKER };
enum { RUN_NONE, RUN_MAKING, RUN_THERE };
enum { PLACE_NOWHERE, PLACE_DEVICE, PLACE_HOST };
enum { TURN_IDLE, TURN_RUNS };

static const struct {
    uint8_t owner, run, place, turn;
} columns[] = {
#define JOB_SITE(state, owner, run, place, turn, meaning)                                          \
    {OWNER_##owner, RUN_##run, PLACE_##place, TURN_##turn},
#include "scheduler/control/machines/job_site.def"
};

Error *job_site_step(JobSite *site, JobSiteEvent event) {
    return machine_step(&job_site_machine, (uint8_t)event, &site->state);
}

bool job_site_is_running(const JobSite *site) { return columns[site->state].turn == TURN_RUNS; }

bool job_site_is_open(const JobSite *site) { return columns[site->state].run != RUN_NONE; }

bool job_site_is_resting(const JobSite *site) {
    return columns[site->state].owner == OWNER_CONTROL && columns[site->state].run == RUN_THERE;
}

bool job_site_has_slice(const JobSite *site) { return columns[site->state].owner == OWNER_WORKER; }

bool job_site_is_aside(const JobSite *site) {
    return job_site_has_slice(site) && !job_site_is_running(site);
}

bool job_site_is_busy(const JobSite *site) {
    return columns[site->state].owner == OWNER_IO || job_site_is_aside(site);
}

bool job_site_is_leaving_to_disk(const JobSite *site) {
    return site->state == JOB_SITE_LEAVING_TO_DISK || site->state == JOB_SITE_HOST_TO_DISK ||
           site->state == JOB_SITE_UNPLACING;
}

bool job_site_is_on(const JobSite *site, uint32_t device) {
    return columns[site->state].place == PLACE_DEVICE && site->device == device;
}
