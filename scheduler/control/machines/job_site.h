#pragma once
/* Where the execution of a job is, and who may touch it: the machine of job_site.def. The files of
 * slices/, control_commits.c, job_reports.c and device_losses.c take its steps through
 * control_step_site; every other file only asks. On the control thread. */
#include "scheduler/control/machines/machine.h"

typedef enum JobSiteState {
#define JOB_SITE(state, owner, run, place, turn, meaning) JOB_SITE_##state,
#include "scheduler/control/machines/job_site.def"
    JOB_SITE_STATE_COUNT
} JobSiteState;

typedef enum JobSiteEvent {
#define JOB_SITE_EVENT(event, meaning) JOB_SITE_EVENT_##event,
#include "scheduler/control/machines/job_site.def"
    JOB_SITE_EVENT_COUNT
} JobSiteEvent;

extern const Machine job_site_machine;

/* Zero: its first state. */
typedef struct JobSite {
    uint8_t state;   /* JobSiteState; written by job_site_step alone */
    uint32_t device; /* that has the job's state or its slice; the last one that had, otherwise */
} JobSite;

/* Errors: INTERNAL there is no such step, which is a bug; the caller gives it to control_fail. */
MUST_CHECK Error *job_site_step(JobSite *site, JobSiteEvent event);

/* The policy says that it runs: from RUN to SLICE_ENDED. */
bool job_site_is_running(const JobSite *site);
/* There is a run, or one is being made. */
bool job_site_is_open(const JobSite *site);
/* There is a run, and this thread may look at it. */
bool job_site_is_resting(const JobSite *site);
/* A thread of the device has a slice of it. */
bool job_site_has_slice(const JobSite *site);
/* Its slice is aside. */
bool job_site_is_aside(const JobSite *site);
/* An I/O task or a slice that is aside knows the job: it must not be freed. */
bool job_site_is_busy(const JobSite *site);
/* It moves to disk: what is stored next of it is the checkpoint of that move. */
bool job_site_is_leaving_to_disk(const JobSite *site);
/* Something of it is on the device, or is to be: for a device that is lost. */
bool job_site_is_on(const JobSite *site, uint32_t device);
