#include "scheduler/migration/migration_settler.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/duration.h"
#include "base/text.h"
#include "scheduler/migration/node_link.h"
#include "scheduler/migration/target_link.h"
#include "store/jobs/arrivals.h"
#include "store/jobs/departures.h"
#include "store/accounts/nodes.h"

enum {
    AWAY_MAX = 16,      /* nodes that did not answer in this turn */
    QUIET_S = 5,        /* since the source was heard of an arrival: then the source is asked */
    OFFER_LIFE_S = 3600 /* of an offer that came to nothing, by the home's time */
};

struct MigrationSettler {
    MigrationSettlerOptions options;
    uint64_t away[AWAY_MAX]; /* of this turn */
    size_t away_count;
    char last_warning[512];
    bool warned_of_departures, warned_of_arrivals; /* that some cannot be read */
};

Error *migration_settler_create(
    const MigrationSettlerOptions *options, MigrationSettler **out_settler) {
    void *memory;
    TRY(memory_alloc(1, sizeof(MigrationSettler), &memory));
    MigrationSettler *settler = memory;
    settler->options = *options;
    *out_settler = settler;
    return NULL;
}

void migration_settler_release(MigrationSettler *settler) { memory_free(settler); }

static const ControlOptions *node(const MigrationSettler *self) {
    return control_options(self->options.control);
}

/* ---- links ---- */

static bool is_away(const MigrationSettler *self, uint64_t number) {
    for (size_t i = 0; i < self->away_count; i++)
        if (self->away[i] == number) return true;
    return self->away_count == AWAY_MAX;
}

/* Nothing else is asked of a node that does not answer, in this turn. */
static Error *note_away(MigrationSettler *self, uint64_t number, Error *owned_error) {
    if (error_code(owned_error) == ERROR_UNREACHABLE && self->away_count < AWAY_MAX)
        self->away[self->away_count++] = number;
    return owned_error;
}

/* Warns; the same sentence is not repeated. */
static void warn(MigrationSettler *self, JobId job, const Error *error) {
    char text[sizeof self->last_warning], name[JOB_ID_TEXT_SIZE];
    job_id_print(job, name);
    (void)snprintf(
        text, sizeof text, "job %s: its migration is unsettled: %s", name, error_message(error));
    if (!self->options.warn || strcmp(text, self->last_warning) == 0) return;
    memcpy(self->last_warning, text, sizeof text);
    self->options.warn(NULL, text);
}

/* Warns of a row that cannot be read, which a person must settle; the others are settled. */
static void warn_damaged(MigrationSettler *self, size_t count, bool *inout_warned) {
    char text[160];
    (void)snprintf(text, sizeof text,
        "what is written of %zu migrations cannot be read; `layover fsck` names them", count);
    if (count > 0 && !*inout_warned && self->options.warn) self->options.warn(NULL, text);
    *inout_warned = count > 0;
}

/* ---- departures ---- */

static Error *end_departure(Connection *catalog, void *context) {
    const Departure *departure = context;
    return departures_end(catalog, departure->tenant, departure->job, departure->attempt);
}

static Error *abort_departure(Connection *catalog, void *context) {
    const Departure *departure = context;
    return departures_abort(catalog, departure->tenant, departure->job, departure->attempt,
        "it goes on here: the migration came to nothing");
}

/* Ends a departure that has moved: the target is told, and its answer ends the departure. */
static Error *finish(MigrationSettler *self, Departure *departure, HttpClient *link) {
    const MigrationKey key = {departure->job, departure->epoch, departure->attempt};
    TRY(target_link_activate(link, &key));
    return catalog_run(node(self)->catalog, end_departure, departure);
}

static Error *stay(MigrationSettler *self, Departure *departure, HttpClient *link) {
    const MigrationKey key = {departure->job, departure->epoch, departure->attempt};
    Job row;
    TRY(jobs_get(node(self)->store, departure->tenant, departure->job, &row));
    if (row.state == JOB_STATE_HELD)
        TRY(control_migration_revert(self->options.control, departure->tenant, departure->job,
            departure->suspended, "it goes on here: the other node does not own it"));
    else
        TRY(catalog_run(node(self)->catalog, abort_departure, departure));
    return target_link_abort(link, &key);
}

static Error *settle_departure(MigrationSettler *self, Departure *departure) {
    const MigrationKey key = {departure->job, departure->epoch, departure->attempt};
    OWN(HttpClient, link) = NULL;
    Node target;
    ArrivalAnswer known;
    TRY(node_link_open_number(node(self)->store, departure->target, &target, &link));
    if (departure->progress == DEPARTURE_IS_MOVED) return finish(self, departure, link);
    TRY(target_link_find(link, &key, &known));
    if (known != ARRIVAL_OWNED) return stay(self, departure, link);
    /* the store was set back, or a person declared this node dead */
    TRY(control_migration_commit(self->options.control, departure->tenant, departure->job,
        "the other node owns it already"));
    return finish(self, departure, link);
}

static Error *settle_departures(MigrationSettler *self, size_t *inout_unsettled) {
    OWN(DepartureList, list) = NULL;
    TRY(departures_list(node(self)->store, &list));
    *inout_unsettled += list->count + list->damaged;
    warn_damaged(self, list->damaged, &self->warned_of_departures);
    for (size_t i = 0; i < list->count; i++) {
        Departure *departure = &list->items[i];
        if (is_away(self, departure->target) ||
            self->options.is_worked_on(self->options.context, departure->job))
            continue;
        Error *failed = note_away(self, departure->target, settle_departure(self, departure));
        if (failed) warn(self, departure->job, failed);
        error_free(failed);
    }
    return NULL;
}

/* ---- arrivals ---- */

static Error *forget_arrival(Connection *catalog, void *context) {
    const Arrival *arrival = context;
    return arrivals_forget(catalog, arrival->job);
}

/* Adopted, with an epoch that fences the source off. */
static Error *own_adopted(MigrationSettler *self, const Arrival *arrival) {
    Job row;
    Error *error = jobs_get(node(self)->store, arrival->tenant, arrival->job, &row);
    if (error_code(error) == ERROR_NOT_FOUND) { /* the job has ended, and was removed */
        error_free(error);
        return NULL;
    }
    TRY(error);
    if (row.state != JOB_STATE_IN_DOUBT) return NULL; /* unless the process died in between */
    return control_arrival_own(self->options.control, arrival->tenant, arrival->job,
        arrival->suspended, row.epoch + 1, "adopted: somebody said that its source is dead");
}

static Error *tell_adopted(MigrationSettler *self, Arrival *arrival, HttpClient *link) {
    /* higher than the source's, as the job's own epoch; the job may have ended and been removed */
    TRY(source_link_fence(link, arrival->job, arrival->epoch + 1));
    return catalog_run(node(self)->catalog, forget_arrival, arrival);
}

static Error *settle_arrival(MigrationSettler *self, Arrival *arrival) {
    const MigrationKey key = {arrival->job, arrival->epoch, arrival->attempt};
    OWN(HttpClient, link) = NULL;
    Node source;
    DepartureOutcome outcome;
    if (arrival->progress == ARRIVAL_IS_ADOPTED) TRY(own_adopted(self, arrival));
    TRY(node_link_open_number(node(self)->store, arrival->source, &source, &link));
    if (arrival->progress == ARRIVAL_IS_ADOPTED) return tell_adopted(self, arrival, link);
    TRY(source_link_find_outcome(link, &key, &outcome));
    if (outcome == DEPARTURE_MOVED && arrival->progress == ARRIVAL_IS_PREPARED) {
        TRY(arrival_service_activate(self->options.arrivals, arrival->source, &key));
        /* so that the source need not ask later, when the job may be removed here */
        return source_link_fence(link, arrival->job, arrival->epoch + 1);
    }
    if (outcome == DEPARTURE_ABORTED)
        return arrival_service_abort(self->options.arrivals, arrival->source, &key);
    return NULL;
}

static bool is_quiet(const MigrationSettler *self, const Arrival *arrival) {
    const MigrationKey key = {arrival->job, arrival->epoch, arrival->attempt};
    return arrival_service_is_quiet(
        self->options.arrivals, arrival->source, &key, QUIET_S * SECOND_NS);
}

static Error *expire(Connection *catalog, void *context) {
    (void)context;
    return arrivals_expire(catalog, OFFER_LIFE_S);
}

static Error *settle_arrivals(MigrationSettler *self, size_t *inout_unsettled) {
    OWN(ArrivalList, list) = NULL;
    bool offers = false;
    TRY(arrivals_list(node(self)->store, &list));
    *inout_unsettled += list->count + list->damaged;
    warn_damaged(self, list->damaged, &self->warned_of_arrivals);
    for (size_t i = 0; i < list->count; i++) {
        Arrival *arrival = &list->items[i];
        offers |= arrival->progress == ARRIVAL_IS_OFFERED;
        if (!is_quiet(self, arrival) || is_away(self, arrival->source)) continue;
        Error *failed = note_away(self, arrival->source, settle_arrival(self, arrival));
        /* an offer that came to nothing is no trouble, and expires */
        if (failed && arrival->progress != ARRIVAL_IS_OFFERED) warn(self, arrival->job, failed);
        error_free(failed);
    }
    return offers ? catalog_run(node(self)->catalog, expire, NULL) : NULL;
}

void migration_settler_turn(MigrationSettler *self) {
    size_t unsettled = 0;
    self->away_count = 0;
    Error *departures = settle_departures(self, &unsettled);
    Error *arrivals = settle_arrivals(self, &unsettled);
    if (!departures && !arrivals && node(self)->metrics)
        metrics_set(node(self)->metrics, METRIC_MIGRATIONS_UNSETTLED, (int64_t)unsettled);
    error_free(departures); /* the next turn tries again */
    error_free(arrivals);
    arrival_service_expire(self->options.arrivals);
}

/* ---- what people decide ---- */

static Error *adopt_arrival(Connection *catalog, void *context) {
    const JobId *job = context;
    return arrivals_adopt(catalog, *job);
}

/* A source that answers is not dead. */
static Error *check_dead(MigrationSettler *self, const Arrival *arrival) {
    const MigrationKey key = {arrival->job, arrival->epoch, arrival->attempt};
    OWN(HttpClient, link) = NULL;
    Node source;
    DepartureOutcome outcome;
    Error *error = node_link_open_number(node(self)->store, arrival->source, &source, &link);
    if (!error) error = source_link_find_outcome(link, &key, &outcome);
    if (error) {
        error_free(error);
        return NULL;
    }
    if (outcome != DEPARTURE_PENDING)
        FAIL(CONFLICT, "node %s answers: it is not dead, and the job is settled in a moment",
            source.name);
    FAIL(CONFLICT, "node %s answers: it is not dead, and still moves the job", source.name);
}

Error *migration_settler_adopt(MigrationSettler *self, TenantId tenant, JobId job) {
    Arrival arrival;
    Job row;
    bool found;
    char name[JOB_ID_TEXT_SIZE];
    TRY(jobs_get(node(self)->store, tenant, job, &row));
    TRY(arrivals_find(node(self)->store, job, &found, &arrival));
    if (!found || row.state != JOB_STATE_IN_DOUBT) {
        job_id_print(job, name);
        FAIL(CONFLICT, "job %s is %s: nothing about it is in doubt", name,
            job_state_info(row.state)->name);
    }
    TRY(check_dead(self, &arrival));
    TRY(catalog_run(node(self)->catalog, adopt_arrival, &job));
    return own_adopted(self, &arrival);
}

typedef struct Fence {
    TenantId tenant;
    JobId job;
    Node node;
} Fence;

static Error *fence(Connection *catalog, void *context) {
    const Fence *wanted = context;
    return departures_fence(
        catalog, wanted->tenant, wanted->job, wanted->node.name, wanted->node.node);
}

/* That node has said that it owns the job: it need not be asked, and may have removed the job
 * since. */
static Error *end_moved(const ControlOptions *options, const Fence *by) {
    Departure departure;
    bool found;
    TRY(departures_find(options->store, by->tenant, by->job, &found, &departure));
    if (!found || departure.target != by->node.node || departure.progress != DEPARTURE_IS_MOVED)
        return NULL;
    return catalog_run(options->catalog, end_departure, &departure);
}

Error *migration_settler_fence(Control *control, uint64_t number, JobId job, int64_t epoch) {
    const ControlOptions *options = control_options(control);
    Fence wanted = {.job = job};
    Job row;
    bool found;
    char why[JOB_WHY_SIZE];
    TRY(nodes_find(options->store, number, &found, &wanted.node));
    if (!found) FAIL(REFUSED, "the node is not known here");
    TRY(jobs_find_tenant(options->store, job, &wanted.tenant));
    TRY(jobs_get(options->store, wanted.tenant, job, &row));
    if (row.epoch >= epoch) return NULL;
    if (job_state_is_unfinished(row.state)) {
        TRY(catalog_run(options->catalog, fence, &wanted));
        (void)snprintf(
            why, sizeof why, "%s took it over with epoch %lld", wanted.node.name, (long long)epoch);
        TRY(control_migration_commit(control, wanted.tenant, job, why));
    }
    return end_moved(options, &wanted);
}
