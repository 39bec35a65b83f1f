#pragma once
/* A node with its job service, as the HTTP server would ask it. */
#include "scheduler/service/job_service.h"
#include "tests/scheduler/control_fixtures.h"

typedef struct ServiceFixture {
    ControlFixture node;
    JobService *service;
    JobsApi api;
    Caller user, admin, stranger; /* of the default tenant; any; of another tenant */
} ServiceFixture;

void service_fixture_init(ServiceFixture *fixture);
void service_fixture_deinit(ServiceFixture *fixture);
#define OWN_SERVICE(name) __attribute__((cleanup(service_fixture_deinit))) name

/* An .npz with a: float32 [rows, 2] of 1, 2, … */
void service_fixture_inputs(int64_t rows, ByteWriter *out);
Error *service_fixture_submit(
    ServiceFixture *fixture, const char *function, int64_t rows, bool items, JobsApiJob *out_job);
/* Until the job is in that state. */
void service_fixture_wait(ServiceFixture *fixture, const char *state, JobsApiJob *inout_job);
