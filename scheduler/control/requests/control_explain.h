#pragma once
/* Explains to people why a job waits. For control_requests.c, on the control thread. */
#include "scheduler/control/state/control_job.h"

/* A sentence of what the job waits for; "" for a job that does not wait for a device. */
void control_explain_wait(ControlJob *job, char out_why[JOB_WHY_SIZE]);
