#include "scheduler/migration/arrival_sessions.h"

#include "base/allocator.h"
#include "base/clock.h"

static uint64_t now_ns(void) { return clock_now_ns(clock_real()); }

static void session_free(ArrivalSession *session) {
    if (!session) return;
    control_arrival_close(session->run);
    digest_set_deinit(&session->checked);
    chunk_upload_close(session->upload);
    (void)pthread_mutex_destroy(&session->mutex);
    memory_free(session);
}
DEFINE_OWN(ArrivalSession, session_free);

static void free_all(ArrivalSession *first) {
    for (ArrivalSession *session = first, *next; session; session = next) {
        next = session->next;
        session_free(session);
    }
}

void arrival_sessions_init(ArrivalSessions *self) {
    *self = (ArrivalSessions){0};
    (void)pthread_mutex_init(&self->mutex, NULL);
}

void arrival_sessions_deinit(ArrivalSessions *self) {
    free_all(self->first);
    (void)pthread_mutex_destroy(&self->mutex);
}

static bool is_for(const ArrivalSession *session, uint64_t source, const MigrationKey *key) {
    return session->source == source && job_id_equal(session->key.job, key->job) &&
           session->key.epoch == key->epoch && session->key.attempt == key->attempt;
}

/* Takes the session at *link out of the list. A session that no thread uses goes to *inout_unused,
 * which the caller frees. Under the list's mutex. */
static void take_out(ArrivalSessions *self, ArrivalSession **link, ArrivalSession **inout_unused) {
    ArrivalSession *session = *link;
    *link = session->next;
    self->count--;
    session->is_over = true;
    if (session->users > 0) return;
    session->next = *inout_unused;
    *inout_unused = session;
}

void arrival_sessions_let_go(ArrivalSessions *self, ArrivalSession *session) {
    (void)pthread_mutex_lock(&self->mutex);
    session->users--;
    session->heard_ns = now_ns();
    bool unused = session->is_over && session->users == 0;
    (void)pthread_mutex_unlock(&self->mutex);
    if (unused) session_free(session);
}

/* Under the list's mutex. */
static ArrivalSession *look_up(
    const ArrivalSessions *self, uint64_t source, const MigrationKey *key) {
    ArrivalSession *session = self->first;
    while (session && !is_for(session, source, key)) session = session->next;
    return session;
}

/* Under the list's mutex, so that now is never before heard_ns. */
static bool is_silent(const ArrivalSession *session, uint64_t silence_ns) {
    return session->users == 0 && now_ns() - session->heard_ns >= silence_ns;
}

bool arrival_sessions_is_quiet(
    ArrivalSessions *self, uint64_t source, const MigrationKey *key, uint64_t silence_ns) {
    (void)pthread_mutex_lock(&self->mutex);
    const ArrivalSession *session = look_up(self, source, key);
    const bool quiet = !session || is_silent(session, silence_ns);
    (void)pthread_mutex_unlock(&self->mutex);
    return quiet;
}

ArrivalSession *arrival_sessions_find(
    ArrivalSessions *self, uint64_t source, const MigrationKey *key) {
    (void)pthread_mutex_lock(&self->mutex);
    ArrivalSession *session = look_up(self, source, key);
    if (session) session->users++;
    (void)pthread_mutex_unlock(&self->mutex);
    return session;
}

Error *arrival_sessions_need(
    ArrivalSessions *self, uint64_t source, const MigrationKey *key, ArrivalSession **out_session) {
    char name[JOB_ID_TEXT_SIZE];
    *out_session = arrival_sessions_find(self, source, key);
    if (*out_session) return NULL;
    job_id_print(key->job, name);
    FAIL(NOT_FOUND, "attempt %lld at job %s is not expected: offer it first",
        (long long)key->attempt, name);
}

typedef bool Wanted(const ArrivalSession *session, uint64_t source, const MigrationKey *key);

static bool is_of_job(const ArrivalSession *session, uint64_t source, const MigrationKey *key) {
    return session->source == source && job_id_equal(session->key.job, key->job);
}

static bool is_other_attempt(
    const ArrivalSession *session, uint64_t source, const MigrationKey *key) {
    return is_of_job(session, source, key) && !is_for(session, source, key);
}

static void end(ArrivalSessions *self, uint64_t source, const MigrationKey *key, Wanted *wanted) {
    ArrivalSession *unused = NULL;
    (void)pthread_mutex_lock(&self->mutex);
    for (ArrivalSession **link = &self->first; *link;)
        if (wanted(*link, source, key))
            take_out(self, link, &unused);
        else
            link = &(*link)->next;
    (void)pthread_mutex_unlock(&self->mutex);
    free_all(unused);
}

void arrival_sessions_end(ArrivalSessions *self, uint64_t source, const MigrationKey *key) {
    end(self, source, key, is_for);
}

void arrival_sessions_end_others(ArrivalSessions *self, uint64_t source, const MigrationKey *key) {
    end(self, source, key, is_other_attempt);
}

/* Under the list's mutex. */
static bool has_room(const ArrivalSessions *self, uint64_t source, const MigrationKey *key) {
    const ArrivalSession *session = self->first;
    while (session && !is_of_job(session, source, key)) session = session->next;
    return session || self->count < ARRIVAL_SESSIONS_MAX;
}

static Error *fail_full(void) {
    FAIL(EXHAUSTED, "%d jobs arrive at once already", ARRIVAL_SESSIONS_MAX);
}

Error *arrival_sessions_add(ArrivalSessions *self, Store *store, uint64_t source,
    const MigrationKey *key, TenantId tenant) {
    OWN(ArrivalSession, session) = NULL;
    TRY(memory_alloc(1, sizeof *session, (void **)&session));
    (void)pthread_mutex_init(&session->mutex, NULL);
    session->key = *key;
    session->source = source;
    session->tenant = tenant;
    session->heard_ns = now_ns();
    TRY(chunk_upload_open(store, tenant, &session->upload));
    (void)pthread_mutex_lock(&self->mutex);
    bool room = has_room(self, source, key);
    if (room) {
        session->next = self->first;
        self->first = session;
        self->count++;
        session = NULL;
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return room ? NULL : fail_full();
}

void arrival_sessions_expire(ArrivalSessions *self, uint64_t silence_ns) {
    ArrivalSession *unused = NULL;
    (void)pthread_mutex_lock(&self->mutex);
    for (ArrivalSession **link = &self->first; *link;)
        if (is_silent(*link, silence_ns))
            take_out(self, link, &unused);
        else
            link = &(*link)->next;
    (void)pthread_mutex_unlock(&self->mutex);
    free_all(unused);
}

Error *arrival_sessions_check_room(
    ArrivalSessions *self, uint64_t source, const MigrationKey *key) {
    (void)pthread_mutex_lock(&self->mutex);
    bool room = has_room(self, source, key);
    (void)pthread_mutex_unlock(&self->mutex);
    return room ? NULL : fail_full();
}
