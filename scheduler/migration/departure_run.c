#include "scheduler/migration/departure_run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/duration.h"
#include "scheduler/jobs/job_manifest.h"
#include "scheduler/migration/migration_step.h"
#include "scheduler/migration/node_hello.h"
#include "scheduler/migration/node_link.h"
#include "scheduler/migration/chunk_sender.h"
#include "scheduler/migration/target_link.h"
#include "store/jobs/departures.h"

enum {
    ROUNDS_MAX = 8,
    PATIENCE_RUNNING_S = 60, /* with a target that does not answer, while the job runs */
    PATIENCE_STOPPED_S = 15, /* and while the job does not run */
    HELLO_MS = 10000,
    PAUSE_MS_MIN = 50,
    PAUSE_MS_MAX = 2000,
};
/* If the last round sent no more, the same amount is quickly sent again, and the job is stopped. */
#define DELTA_BYTES ((uint64_t)6 << 20)

struct DepartureRun {
    DepartureRunOptions options;
    Departure departure;
    MigrationKey key;
    HttpClient *link;
    ChunkSender sender;
    int64_t protocol;    /* that both speak */
    bool has_executable; /* the target */
    bool stopped;        /* the job is held */
    bool prepared;       /* also set if the target says so after its answer was lost */
    bool settling;       /* the job is being moved, or has moved: the attempt cannot be given up
                          * any more */
    bool given;          /* the job has moved */
    uint64_t active_ns;  /* when the target said that it owns the job */
    atomic_bool cancelled;
    uint64_t started_ns;
    pthread_mutex_t mutex; /* guards the status */
    MigrationStatus status;
};

const char *migration_phase_name(MigrationPhase phase) {
    static const char *const names[] = {
        "waiting", "offering", "copying", "stopping", "moving", "moved", "aborted"};
    return names[phase];
}

bool migration_is_over(MigrationPhase phase) { return phase >= MIGRATION_MOVED; }

static uint64_t now_ns(void) { return clock_now_ns(clock_real()); }

static const ControlOptions *node(const DepartureRun *self) {
    return control_options(self->options.control);
}

static void enter(DepartureRun *self, MigrationPhase phase) {
    (void)pthread_mutex_lock(&self->mutex);
    self->status.phase = phase;
    (void)pthread_mutex_unlock(&self->mutex);
}

void departure_run_get_status(DepartureRun *self, MigrationStatus *out_status) {
    ChunksSent sent = chunk_sender_get_sent(&self->sender);
    (void)pthread_mutex_lock(&self->mutex);
    *out_status = self->status;
    (void)pthread_mutex_unlock(&self->mutex);
    out_status->bytes_sent = sent.bytes;
    out_status->round_bytes = sent.round_bytes;
    out_status->round_sent = sent.round_sent;
    if (!migration_is_over(out_status->phase))
        out_status->seconds = (double)(now_ns() - self->started_ns) * 1e-9;
}

void departure_run_cancel(DepartureRun *self) { atomic_store(&self->cancelled, true); }

/* ---- begin and end ---- */

typedef struct Begin {
    const DepartureRunOptions *options;
    Departure departure;
} Begin;

static Error *begin(Connection *catalog, void *context) {
    Begin *wanted = context;
    const DepartureRunOptions *options = wanted->options;
    return departures_begin(catalog, options->tenant, options->job, options->target.name,
        options->target.node, &wanted->departure);
}

static bool is_cancelled(void *context) {
    DepartureRun *self = context;
    return atomic_load(&self->cancelled);
}

Error *departure_run_create(const DepartureRunOptions *options, DepartureRun **out_run) {
    OWN(DepartureRun, self) = NULL;
    Begin wanted = {.options = options};
    TRY(memory_alloc(1, sizeof *self, (void **)&self));
    (void)pthread_mutex_init(&self->mutex, NULL);
    self->options = *options;
    self->started_ns = now_ns();
    self->status.job = options->job;
    memcpy(self->status.node, options->target.name, sizeof self->status.node);
    TRY(node_link_open(&options->target, &self->link));
    TRY(catalog_run(control_options(options->control)->catalog, begin, &wanted));
    migration_step_done(MIGRATION_STEP_BEGUN);
    self->departure = wanted.departure;
    self->key = (MigrationKey){options->job, wanted.departure.epoch, wanted.departure.attempt};
    chunk_sender_init(&self->sender, self->link, &self->key, options->bytes_per_s);
    self->sender.target = &self->options.target;
    self->sender.interrupted = is_cancelled;
    self->sender.interrupted_context = self;
    *out_run = TAKE(self);
    return NULL;
}

void departure_run_release(DepartureRun *self) {
    if (!self) return;
    chunk_sender_deinit(&self->sender);
    http_client_close(self->link);
    explicit_bzero(self->options.target.token, sizeof self->options.target.token);
    (void)pthread_mutex_destroy(&self->mutex);
    memory_free(self);
}

/* ---- steps 2 to 6, each of which may be repeated ---- */

/* Says hello: checks who answers, and the protocol. */
static Error *greet(DepartureRun *self) {
    const Node *target = &self->options.target;
    char number[JOB_ID_NODE_TEXT_SIZE];
    NodeHello hello;
    if (self->protocol) return NULL;
    TRY(node_calls_network.hello(target, self->options.own_node, HELLO_MS, &hello));
    job_id_print_node(hello.node, number);
    if (hello.node != target->node) FAIL(REFUSED, "another home answers there, %s", number);
    if (!hello.is_node) FAIL(REFUSED, "this home's token has not the role node there");
    self->protocol = hello.protocol;
    return NULL;
}

static Error *make_offer(DepartureRun *self) {
    Job row;
    MigrationOfferAnswer answer;
    TRY(greet(self));
    MigrationOffer offer = {.key = self->key, .protocol = self->protocol};
    TRY(jobs_get(node(self)->store, self->options.tenant, self->options.job, &row));
    memcpy(offer.tenant, self->options.tenant_name, sizeof offer.tenant);
    offer.executable = row.executable;
    offer.bytes = row.bytes_stored;
    Error *error = target_link_offer(self->link, &offer, &answer);
    /* the tenant, which does not come by asking again */
    if (error_code(error) == ERROR_NOT_FOUND) return error_recode(error, ERROR_REFUSED);
    TRY(error);
    self->has_executable = answer.has_executable;
    return NULL;
}

static Error *open_manifest(DepartureRun *self, JobManifest **out_manifest) {
    const JobExportRequest wanted = {.tenant = self->options.tenant,
        .job = self->options.job,
        .with_model = !self->has_executable};
    return job_manifest_open(node(self)->store, &wanted, out_manifest);
}

/* Takes a checkpoint of a running job first; a job that has not begun has none, and needs none. If
 * the job is in a long kernel or finds no room, this round has the stored checkpoint: the last
 * round stops the job. */
static Error *take_checkpoint(DepartureRun *self) {
    Job row;
    Error *error =
        control_checkpoint(self->options.control, self->options.tenant, self->options.job);
    if (error_code(error) != ERROR_CONFLICT && error_code(error) != ERROR_EXHAUSTED) return error;
    TRY(jobs_get(node(self)->store, self->options.tenant, self->options.job, &row));
    if (row.state != JOB_STATE_QUEUED && row.state != JOB_STATE_SUSPENDED) return error;
    error_free(error);
    return NULL;
}

static Error *copy_round(DepartureRun *self) {
    OWN(JobManifest, job_manifest) = NULL;
    size_t size;
    TRY(take_checkpoint(self));
    TRY(open_manifest(self, &job_manifest));
    TRY(chunk_sender_send(&self->sender, job_manifest));
    const uint8_t *manifest = job_manifest_bytes(job_manifest, &size);
    TRY(target_link_rehearse(self->link, &self->key, manifest, size));
    self->has_executable = true; /* the executable came with the rehearsal */
    return NULL;
}

static Error *send_last(DepartureRun *self) {
    OWN(JobManifest, job_manifest) = NULL;
    size_t size;
    if (self->prepared) return NULL; /* a stopped job has only one manifest */
    TRY(open_manifest(self, &job_manifest));
    TRY(chunk_sender_send(&self->sender, job_manifest));
    migration_step_done(MIGRATION_STEP_SENT);
    const uint8_t *manifest = job_manifest_bytes(job_manifest, &size);
    return target_link_prepare(self->link, &self->key, self->departure.suspended, manifest, size,
        PATIENCE_STOPPED_S * 1000);
}

/* The connection broke, or the target began anew and knows the offer no more; or a checkpoint that
 * was being read is too old by now. */
static bool is_passing(const Error *error) {
    return error_code(error) == ERROR_UNREACHABLE || error_code(error) == ERROR_NOT_FOUND;
}

static void pause_ms(uint64_t ms) {
    const struct timespec pause = {
        .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    (void)nanosleep(&pause, NULL);
}

/* Offers again: the target may have lost its session, or may have continued with it though its
 * answer was lost. */
static Error *offer_again(DepartureRun *self) {
    ArrivalAnswer known;
    TRY(target_link_find(self->link, &self->key, &known));
    self->prepared = known == ARRIVAL_PREPARED || known == ARRIVAL_OWNED;
    return self->prepared ? NULL : make_offer(self);
}

/* Repeats work until it succeeds, fails for good, or the patience is over. The patience begins with
 * the first failure: a long round is no reason to give up. */
static Error *insist(DepartureRun *self, Error *(*work)(DepartureRun *self), uint64_t patience_s) {
    uint64_t patience_ns = self->options.patience_ms
                               ? (uint64_t)self->options.patience_ms * MILLISECOND_NS
                               : patience_s * SECOND_NS;
    uint64_t until_ns = 0, wait_ms = PAUSE_MS_MIN;
    for (;;) {
        Error *error = until_ns ? offer_again(self) : NULL;
        if (!error) error = work(self);
        if (!error || !is_passing(error)) return error;
        if (until_ns && now_ns() >= until_ns) return error;
        if (!until_ns) until_ns = now_ns() + patience_ns;
        if (atomic_load(&self->cancelled)) return error;
        error_free(error);
        chunk_sender_forget(&self->sender); /* the target may have lost its chunks */
        pause_ms(wait_ms);
        wait_ms = wait_ms * 2 < PAUSE_MS_MAX ? wait_ms * 2 : PAUSE_MS_MAX;
    }
}

static Error *check_cancelled(DepartureRun *self) {
    if (!atomic_load(&self->cancelled)) return NULL;
    FAIL(CANCELLED, "the migration was given up");
}

/* Rounds, as long as each has less to send than the one before; one slow moment of either machine
 * is no reason to stop. */
static Error *copy(DepartureRun *self) {
    uint64_t last = UINT64_MAX;
    bool stuck = false;
    enter(self, MIGRATION_COPYING);
    for (uint32_t round = 1; round <= ROUNDS_MAX; round++) {
        (void)pthread_mutex_lock(&self->mutex);
        self->status.round = round;
        (void)pthread_mutex_unlock(&self->mutex);
        uint64_t before = chunk_sender_get_sent(&self->sender).bytes;
        TRY(check_cancelled(self));
        TRY(insist(self, copy_round, PATIENCE_RUNNING_S));
        migration_step_done(MIGRATION_STEP_COPIED);
        uint64_t sent = chunk_sender_get_sent(&self->sender).bytes - before;
        bool progress = sent <= last / 10 * 9;
        if (sent < DELTA_BYTES || (!progress && stuck)) return NULL;
        stuck = !progress;
        last = sent;
    }
    return NULL;
}

/* ---- steps 4 to 9 ---- */

static Error *read_suspended(DepartureRun *self) {
    Departure departure;
    bool found;
    TRY(departures_find(
        node(self)->store, self->options.tenant, self->options.job, &found, &departure));
    if (found) self->departure.suspended = departure.suspended;
    return NULL;
}

static Error *stop(DepartureRun *self) {
    char why[JOB_WHY_SIZE];
    enter(self, MIGRATION_STOPPING);
    (void)snprintf(why, sizeof why, "stopped to go to %s, attempt %lld", self->options.target.name,
        (long long)self->key.attempt);
    Error *error =
        control_migration_stop(self->options.control, self->options.tenant, self->options.job, why);
    if (error) { /* the job may still stop: then it is resumed */
        error_free(control_migration_revert(
            self->options.control, self->options.tenant, self->options.job, false, NULL));
        return error;
    }
    self->stopped = true;
    migration_step_done(MIGRATION_STEP_STOPPED);
    return read_suspended(self);
}

static Error *end_departure(Connection *catalog, void *context) {
    const DepartureRun *self = context;
    return departures_end(catalog, self->options.tenant, self->options.job, self->key.attempt);
}

static Error *activate(DepartureRun *self) {
    TRY(target_link_activate(self->link, &self->key));
    self->active_ns = now_ns();
    return NULL;
}

/* An error is tried again later: the job is the target's in any case. */
static Error *settle(DepartureRun *self) {
    TRY(insist(self, activate, PATIENCE_STOPPED_S));
    TRY(catalog_run(node(self)->catalog, end_departure, self));
    migration_step_done(MIGRATION_STEP_SETTLED);
    return NULL;
}

static Error *give(DepartureRun *self) {
    char why[JOB_WHY_SIZE];
    (void)snprintf(why, sizeof why, "it is %s's now, epoch %lld", self->options.target.name,
        (long long)self->key.epoch + 1);
    self->settling = true;
    TRY(control_migration_commit(
        self->options.control, self->options.tenant, self->options.job, why));
    self->given = true;
    migration_step_done(MIGRATION_STEP_MOVED);
    return NULL;
}

static Error *go(DepartureRun *self) {
    enter(self, MIGRATION_OFFERING);
    TRY(insist(self, make_offer, PATIENCE_RUNNING_S));
    TRY(copy(self));
    TRY(check_cancelled(self));
    uint64_t stop_ns = now_ns();
    TRY(stop(self));
    enter(self, MIGRATION_MOVING);
    self->prepared = false; /* the target cannot have been prepared before */
    TRY(insist(self, send_last, PATIENCE_STOPPED_S));
    migration_step_done(MIGRATION_STEP_ANSWERED);
    TRY(give(self));
    TRY(settle(self));
    (void)pthread_mutex_lock(&self->mutex);
    self->status.downtime_ms = (double)(self->active_ns - stop_ns) * 1e-6;
    (void)pthread_mutex_unlock(&self->mutex);
    return NULL;
}

typedef struct Abort {
    const DepartureRun *departure_run;
    const char *why;
} Abort;

static Error *abort_departure(Connection *catalog, void *context) {
    const Abort *abort = context;
    const DepartureRun *self = abort->departure_run;
    return departures_abort(
        catalog, self->options.tenant, self->options.job, self->key.attempt, abort->why);
}

/* Gives up durably before the job runs again; the target learns of it now or when it asks. */
static Error *give_up(DepartureRun *self, const char *why) {
    Abort abort = {self, why};
    if (self->stopped)
        TRY(control_migration_revert(self->options.control, self->options.tenant, self->options.job,
            self->departure.suspended, why));
    else
        TRY(catalog_run(node(self)->catalog, abort_departure, &abort));
    error_free(target_link_abort(self->link, &self->key)); /* without this message the target
                                                            * asks */
    return NULL;
}

void departure_run_perform(DepartureRun *self) {
    char why[JOB_WHY_SIZE];
    Error *error = go(self);
    if (error && !self->settling) {
        (void)snprintf(why, sizeof why, "it did not migrate to %s: %s", self->options.target.name,
            error_message(error));
        Error *failed = give_up(self, why);
        if (failed) { /* settled later */
            error_free(error);
            error = failed;
        }
    }
    (void)pthread_mutex_lock(&self->mutex);
    self->status.seconds = (double)(now_ns() - self->started_ns) * 1e-9;
    self->status.phase = self->given ? MIGRATION_MOVED : MIGRATION_ABORTED;
    if (error)
        (void)snprintf(self->status.error, sizeof self->status.error, "%s", error_message(error));
    (void)pthread_mutex_unlock(&self->mutex);
    error_free(error);
}
