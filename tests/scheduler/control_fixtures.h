#pragma once
/* A node without HTTP for tests: a home with a model, a catalog writer, a control thread. */
#include "scheduler/jobs/job_intake.h"
#include "tests/support/test_support.h"

typedef struct ControlFixture {
    char folder[64], home[128];
    Store *store;
    Catalog *catalog;
    SettingsCache *settings;
    Control *control;
    MemoryBudget *budget;
    double deadline_s;          /* from now, of what is submitted; 0: none */
    Metrics *metrics;           /* NULL unless the test sets it before the start; the test's */
    const WeightImages *images; /* the same */
    uint64_t reopen_pause_ns, loss_window_ns; /* the same; of ControlOptions */
    uint64_t quantum_ns;                      /* the same; 0: a millisecond */
} ControlFixture;

/* Functions of a: float32 [n, 2] -> y, of the same shape: four (4 a), slow (2 a, after a few
 * million instructions), forever, fails, deep (calls itself), hoards (memory),
 * yields (without end), kernel (a product of [n, n]). They are model "m" of the default tenant. */
void control_fixture_init(ControlFixture *fixture);
extern const char *const control_fixture_cpu_and_sim[];
/* Opens or reopens what runs jobs; devices end with NULL. */
void control_fixture_start(ControlFixture *fixture, const char *const *devices);
/* As after kill -9: nothing is drained. */
void control_fixture_stop(ControlFixture *fixture);
void control_fixture_deinit(ControlFixture *fixture);
#define OWN_CONTROL(name) __attribute__((cleanup(control_fixture_deinit))) name

void fixture_pause_ms(long ms);
/* The default tenant's wish, with what submission_init gives. file: an .npz file; borrowed. */
void control_fixture_submission(
    const char *model, const char *function, const ByteWriter *file, Submission *out);
/* items 0: a single run; its input a is float32 [rows, 2] of 1, 2, … */
Error *control_fixture_submit(ControlFixture *fixture, const char *function, int64_t rows,
    bool items, const char *key, JobId *out_id);
/* Waits until the job is in that state; fails the test after five minutes. */
void control_fixture_wait(ControlFixture *fixture, JobId id, JobState state, Job *out_job);
/* Waits until it has that many outputs stored. */
void control_fixture_wait_outputs(ControlFixture *fixture, JobId id, int64_t count);
/* Waits until a single run has done more than so many instructions. Its time on a device begins to
 * count before its execution does, so that says nothing of it; each look stores a checkpoint. */
void control_fixture_wait_progress(ControlFixture *fixture, JobId id, uint64_t instructions);
/* Waits until the job runs, or is sliced out for a moment. */
void control_fixture_wait_running(ControlFixture *fixture, JobId id);
/* Waits until the job is inside the kernel of that name, which computes for more than a second. */
void control_fixture_wait_kernel(ControlFixture *fixture, JobId id, const char *kernel);
/* A job that was suspended in its middle: of function "slow" with at least one item done, but not
 * all, or a single run of "forever". */
void control_fixture_suspended(ControlFixture *fixture, int64_t rows, bool items, JobId *out_id);
/* The first outputs, of one item each: factor times what went in. */
void control_fixture_check(ControlFixture *fixture, JobId id, int64_t count, float factor);
/* Output number `sequence`, as it is stored. */
void control_fixture_output(
    ControlFixture *fixture, JobId id, int64_t sequence, ArrayList *out_arrays);
