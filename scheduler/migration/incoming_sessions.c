#include "scheduler/migration/incoming_sessions.h"

#include "base/allocator.h"
#include "base/clock.h"

static uint64_t now_ns(void) { return clock_now_ns(clock_real()); }

static void session_free(IncomingSession *session) {
    if (!session) return;
    control_arrival_close(session->run);
    digest_set_deinit(&session->checked);
    chunk_upload_close(session->upload);
    (void)pthread_mutex_destroy(&session->mutex);
    memory_free(session);
}
DEFINE_OWN(IncomingSession, session_free);

void incoming_sessions_init(IncomingSessions *self) {
    *self = (IncomingSessions){0};
    (void)pthread_mutex_init(&self->mutex, NULL);
}

void incoming_sessions_deinit(IncomingSessions *self) {
    for (IncomingSession *session = self->first, *next; session; session = next) {
        next = session->next;
        session_free(session);
    }
    (void)pthread_mutex_destroy(&self->mutex);
}

static bool is_for(const IncomingSession *session, uint64_t source, const MigrationKey *key) {
    return session->source == source && job_id_equal(session->key.job, key->job) &&
           session->key.epoch == key->epoch && session->key.attempt == key->attempt;
}

/* Under the list's mutex. */
static void take_out(IncomingSessions *self, IncomingSession *session) {
    for (IncomingSession **link = &self->first; *link; link = &(*link)->next)
        if (*link == session) {
            *link = session->next;
            self->count--;
            break;
        }
    session->is_over = true;
}

void incoming_sessions_let_go(IncomingSessions *self, IncomingSession *session) {
    (void)pthread_mutex_lock(&self->mutex);
    session->users--;
    session->heard_ns = now_ns();
    bool unused = session->is_over && session->users == 0;
    (void)pthread_mutex_unlock(&self->mutex);
    if (unused) session_free(session);
}

/* Under the list's mutex. */
static IncomingSession *look_up(
    const IncomingSessions *self, uint64_t source, const MigrationKey *key) {
    IncomingSession *session = self->first;
    while (session && !is_for(session, source, key)) session = session->next;
    return session;
}

/* Under the list's mutex, so that now is never before what was heard. */
static bool is_silent(const IncomingSession *session, uint64_t silence_ns) {
    return session->users == 0 && now_ns() - session->heard_ns >= silence_ns;
}

bool incoming_sessions_is_quiet(
    IncomingSessions *self, uint64_t source, const MigrationKey *key, uint64_t silence_ns) {
    (void)pthread_mutex_lock(&self->mutex);
    const IncomingSession *session = look_up(self, source, key);
    const bool quiet = !session || is_silent(session, silence_ns);
    (void)pthread_mutex_unlock(&self->mutex);
    return quiet;
}

IncomingSession *incoming_sessions_find(
    IncomingSessions *self, uint64_t source, const MigrationKey *key) {
    (void)pthread_mutex_lock(&self->mutex);
    IncomingSession *session = look_up(self, source, key);
    if (session) session->users++;
    (void)pthread_mutex_unlock(&self->mutex);
    return session;
}

Error *incoming_sessions_need(IncomingSessions *self, uint64_t source, const MigrationKey *key,
    IncomingSession **out_session) {
    char name[JOB_ID_TEXT_SIZE];
    *out_session = incoming_sessions_find(self, source, key);
    if (*out_session) return NULL;
    job_id_print(key->job, name);
    FAIL(NOT_FOUND, "attempt %lld at job %s is not expected: offer it first",
        (long long)key->attempt, name);
}

void incoming_sessions_end(
    IncomingSessions *self, uint64_t source, JobId job, const MigrationKey *key) {
    IncomingSession *unused = NULL;
    (void)pthread_mutex_lock(&self->mutex);
    for (IncomingSession *session = self->first, *next; session; session = next) {
        next = session->next;
        if (session->source != source || !job_id_equal(session->key.job, job)) continue;
        if (key && !is_for(session, source, key)) continue;
        take_out(self, session);
        if (session->users > 0) continue;
        session->next = unused;
        unused = session;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    for (IncomingSession *next; unused; unused = next) {
        next = unused->next;
        session_free(unused);
    }
}

static Error *fail_full(void) { FAIL(EXHAUSTED, "%d jobs arrive at once already", INCOMINGS_MAX); }

Error *incoming_sessions_add(IncomingSessions *self, Store *store, uint64_t source,
    const MigrationKey *key, TenantId tenant) {
    OWN(IncomingSession, session) = NULL;
    TRY(memory_alloc(1, sizeof *session, (void **)&session));
    (void)pthread_mutex_init(&session->mutex, NULL);
    session->key = *key;
    session->source = source;
    session->tenant = tenant;
    session->heard_ns = now_ns();
    TRY(chunk_upload_open(store, tenant, &session->upload));
    (void)pthread_mutex_lock(&self->mutex);
    bool room = self->count < INCOMINGS_MAX;
    if (room) {
        session->next = self->first;
        self->first = session;
        self->count++;
        session = NULL;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return room ? NULL : fail_full();
}

void incoming_sessions_expire(IncomingSessions *self, uint64_t silence_ns) {
    IncomingSession *unused = NULL;
    (void)pthread_mutex_lock(&self->mutex);
    for (IncomingSession *session = self->first, *next; session; session = next) {
        next = session->next;
        if (!is_silent(session, silence_ns)) continue;
        take_out(self, session);
        session->next = unused;
        unused = session;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    for (IncomingSession *next; unused; unused = next) {
        next = unused->next;
        session_free(unused);
    }
}

Error *incoming_sessions_check_room(IncomingSessions *self, uint64_t source, JobId job) {
    (void)pthread_mutex_lock(&self->mutex);
    const IncomingSession *session = self->first;
    while (session && (session->source != source || !job_id_equal(session->key.job, job)))
        session = session->next;
    bool room = session || self->count < INCOMINGS_MAX;
    (void)pthread_mutex_unlock(&self->mutex);
    return room ? NULL : fail_full();
}
