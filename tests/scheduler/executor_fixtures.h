#pragma once
/* What tests of the executor share: a program on cpu, arrays for it, jobs of it, their outputs. */
#include "scheduler/executor/job_run.h"
#include "tests/support/test_support.h"

typedef struct ExecutorFixture {
    Device *device;
    Executable *executable;
    Residency *residency;
} ExecutorFixture;

void executor_fixture_init(ExecutorFixture *fixture, const char *program, const char *device);
void executor_fixture_deinit(ExecutorFixture *fixture);
#define OWN_FIXTURE(name) __attribute__((cleanup(executor_fixture_deinit))) name

/* Adds float32 base, base + 1, … */
void fixture_add_floats(ArrayList *list, const char *name, const Shape *shape, float base);
/* A job of a function on arrays (taken). size 0: a single run. */
Error *fixture_job(const ExecutorFixture *fixture, const char *function, ArrayList *inputs,
    uint64_t size, JobRun **out);

/* What came out, by number; the same number again must bring the same bytes. */
typedef struct FixtureOutputs {
    ArrayList rows[64];
    int64_t count; /* one more than the highest number */
    int64_t items_done;
    size_t repeated;
    JobRun *stop; /* its slice end is requested at every output */
} FixtureOutputs;
JobRunSink fixture_sink(FixtureOutputs *outputs);
void fixture_outputs_deinit(FixtureOutputs *outputs);
#define OWN_OUTPUTS(name) __attribute__((cleanup(fixture_outputs_deinit))) name
