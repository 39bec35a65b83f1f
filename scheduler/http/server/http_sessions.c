#include "scheduler/http/server/http_sessions.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"
#include "base/digest.h"
#include "base/system_random.h"
#include "base/text.h"

typedef struct HttpSession {
    uint64_t number; /* 0: a free place; sessions that began later have higher numbers */
    int64_t token;
    Digest hash; /* of the secret */
    uint64_t end_ns;
} HttpSession;

struct HttpSessions {
    Clock clock;
    pthread_mutex_t mutex; /* guards the members below */
    uint64_t last_number;
    HttpSession items[HTTP_SESSIONS_MAX];
};

Error *http_sessions_create(Clock clock, HttpSessions **out_sessions) {
    void *memory;
    TRY(memory_alloc(1, sizeof(HttpSessions), &memory));
    HttpSessions *sessions = memory;
    sessions->clock = clock;
    (void)pthread_mutex_init(&sessions->mutex, NULL);
    *out_sessions = sessions;
    return NULL;
}

void http_sessions_release(HttpSessions *sessions) {
    if (!sessions) return;
    (void)pthread_mutex_destroy(&sessions->mutex);
    memory_free(sessions);
}

static bool is_open(const HttpSessions *sessions, const HttpSession *session) {
    return session->number && clock_now_ns(sessions->clock) < session->end_ns;
}

/* The place for a session that begins: the token's oldest place if the token has its share of them,
 * else a free one, else the oldest. */
static HttpSession *choose_place(HttpSessions *sessions, int64_t token) {
    HttpSession *place = &sessions->items[0], *own = NULL;
    uint32_t own_count = 0;
    for (size_t i = 0; i < HTTP_SESSIONS_MAX; i++) {
        HttpSession *session = &sessions->items[i];
        if (!is_open(sessions, session)) session->number = 0;
        if (session->number < place->number) place = session;
        if (!session->number || session->token != token) continue;
        own_count++;
        if (!own || session->number < own->number) own = session;
    }
    return own_count < HTTP_SESSIONS_PER_TOKEN_MAX ? place : own;
}

Error *http_sessions_begin(HttpSessions *sessions, int64_t token,
    char out_text[HTTP_SESSION_TEXT_SIZE], uint64_t *out_number) {
    uint8_t secret[HTTP_SESSION_SECRET_SIZE];
    HttpSession fresh = {.token = token};
    TRY(system_random(secret, sizeof secret));
    TRY(digest_sha256(secret, sizeof secret, &fresh.hash));
    text_hex(secret, sizeof secret, out_text);
    explicit_bzero(secret, sizeof secret);
    (void)pthread_mutex_lock(&sessions->mutex);
    fresh.end_ns = clock_now_ns(sessions->clock) + HTTP_SESSION_LIFE_S * SECOND_NS;
    fresh.number = *out_number = ++sessions->last_number;
    *choose_place(sessions, token) = fresh;
    (void)pthread_mutex_unlock(&sessions->mutex);
    return NULL;
}

Error *http_sessions_find(
    HttpSessions *sessions, const char *text, uint64_t *out_number, int64_t *out_token) {
    uint8_t secret[HTTP_SESSION_SECRET_SIZE];
    Digest hash;
    uint64_t number = 0;
    if (text_parse_hex(text, secret, sizeof secret)) {
        TRY(digest_sha256(secret, sizeof secret, &hash));
        explicit_bzero(secret, sizeof secret);
        (void)pthread_mutex_lock(&sessions->mutex);
        for (size_t i = 0; i < HTTP_SESSIONS_MAX && !number; i++) {
            const HttpSession *session = &sessions->items[i];
            if (!session->number || !digest_equal(&session->hash, &hash)) continue;
            if (!is_open(sessions, session)) break;
            number = session->number;
            *out_token = session->token;
        }
        (void)pthread_mutex_unlock(&sessions->mutex);
    }
    if (!number) FAIL(UNAUTHENTICATED, "the session has ended: sign in again");
    *out_number = number;
    return NULL;
}

static HttpSession *find_number(HttpSessions *sessions, uint64_t number) {
    for (size_t i = 0; i < HTTP_SESSIONS_MAX; i++)
        if (sessions->items[i].number == number) return &sessions->items[i];
    return NULL;
}

Error *http_sessions_check(HttpSessions *sessions, uint64_t number, double *out_left_s) {
    uint64_t left_ns = 0;
    (void)pthread_mutex_lock(&sessions->mutex);
    const HttpSession *session = number ? find_number(sessions, number) : NULL;
    const uint64_t now_ns = clock_now_ns(sessions->clock);
    if (session && now_ns < session->end_ns) left_ns = session->end_ns - now_ns;
    (void)pthread_mutex_unlock(&sessions->mutex);
    if (!left_ns) FAIL(UNAUTHENTICATED, "the session has ended: sign in again");
    *out_left_s = (double)left_ns / 1e9;
    return NULL;
}

void http_sessions_end(HttpSessions *sessions, uint64_t number) {
    (void)pthread_mutex_lock(&sessions->mutex);
    HttpSession *session = number ? find_number(sessions, number) : NULL;
    if (session) *session = (HttpSession){0};
    (void)pthread_mutex_unlock(&sessions->mutex);
}
